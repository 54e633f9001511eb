// Shared by all views: requests, nodes, texts, the address. Document text is always inserted as text, never as HTML.

export const $ = (id) => document.getElementById(id);
export const kept = (name, otherwise) => localStorage.getItem("tacit." + name) ?? otherwise;
export const keep = (name, value) => localStorage.setItem("tacit." + name, value);

export async function ask(path, body, method) {
  const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers: {} };
  if (body !== undefined) { options.body = JSON.stringify(body); options.headers["content-type"] = "application/json"; }
  let answer;
  try { answer = await fetch("/v1" + path, options); } catch { throw new Error("The service does not respond. Is it running?"); }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error ?? `status ${answer.status}`);
  return found;
}

// Paths of the interface begin with /v1.
export const withParams = (path, params) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  return String(query) ? `${path}?${query}` : path;
};

// The address: #view?name=value. Changing it shows the view, so that links and the back button work.
export function place() {
  const [view, query] = location.hash.slice(1).split(/\?(.*)/s);
  return { view, params: new URLSearchParams(query ?? "") };
}

export const addressOf = (view, params = {}) => withParams("#" + view, params);

export function go(view, params = {}, replace = false) {
  const address = addressOf(view, params);
  if (address === location.hash) return false;
  if (replace) history.replaceState(null, "", address); else location.hash = address;
  return true;
}

export function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const button = (text, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, text);

export function say(id, text, bad = false) { $(id).textContent = text; $(id).classList.toggle("error", bad); }

export const count = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;
export const ordinal = (n) => `${n}${n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th"}`;
export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
export const decimal = (value) => value.toFixed(3).replace(/^0(?=\.)/, "");

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds)), minutes = Math.floor(whole / 60);
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

export function marked(text, matches) {
  const parts = []; let at = 0;
  for (const [start, end] of matches ?? []) {
    parts.push(text.slice(at, start), make("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

// States in words, with a sign, so that colour is not needed to read them.
const STATES = { live: ["●", "live"], better: ["▲", "better"], worse: ["▼", "worse"], identical: ["≡", "identical"],
  "no difference shown": ["=", "no difference shown"], unproven: ["?", "unproven"],
  program: ["⚙", "program"] };

export function chip(status) {
  const [sign, text] = STATES[status] ?? ["", status];
  return make("span", { class: "chip", "data-status": status }, make("span", { "aria-hidden": "true" }, sign + " "), text);
}

// A judge by name; a program is marked as one.
export const judgeName = (judge) => make("span", { class: "judge" }, judge.name ?? judge.judge, judge.kind === "program" ? [" ", chip("program")] : null);

// Agreement of a judge with people: {both, same, kappa}, or null without a shared document.
export function agreementInWords(people) {
  if (!people) return "no shared document yet";
  const kappa = people.kappa === null ? "kappa undefined" : `kappa ${people.kappa.toFixed(2)}`;
  return `${kappa} with people, same grade for ${Math.round(100 * people.same)}% of ${count(people.both, "shared document")}`;
}

// Rows of cells under heads; on a narrow screen each row becomes a block, whose cells have their heads.
export function table(heads, rows, attributes = {}) {
  const cell = (content, column) => {
    const nodes = [content].flat().filter((part) => part !== null).map((part) => (part instanceof Node ? part : String(part ?? "")));
    return make("td", { "data-head": typeof heads[column] === "string" ? heads[column] : heads[column].textContent }, ...nodes);
  };
  return make("table", { class: "plain", ...attributes },
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

export const empty = (...children) => make("p", { class: "empty" }, ...children);

// A confirmation dialog; resolves to whether it was confirmed.
export function confirmed(title, text, action) {
  const dialog = $("confirm");
  $("h-confirm").textContent = title;
  $("confirm-text").textContent = text;
  $("confirm-yes").textContent = action;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
