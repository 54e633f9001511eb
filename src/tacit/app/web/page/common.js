// What all views share: requests, nodes, texts. Texts of documents are only ever set as text.

export const $ = (id) => document.getElementById(id);
export const kept = (name, otherwise) => localStorage.getItem("tacit." + name) ?? otherwise;
export const keep = (name, value) => localStorage.setItem("tacit." + name, value);

export async function ask(path, body, method) {
  const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers: {} };
  if (body !== undefined) { options.body = JSON.stringify(body); options.headers["content-type"] = "application/json"; }
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Error("The service does not answer. Is it running?"); }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error ?? `status ${answer.status}`);
  return found;
}

export function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export function say(id, text, bad = false) { $(id).textContent = text; $(id).classList.toggle("error", bad); }

export const count = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

export function marked(text, matches) {
  const parts = []; let at = 0;
  for (const [start, end] of matches ?? []) {
    parts.push(text.slice(at, start), make("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

// Rows of cells under heads; on a narrow screen each row becomes a block, whose cells carry their heads.
export function table(heads, rows) {
  const cell = (content, column) => make("td", { "data-head": heads[column] }, content instanceof Node ? content : String(content ?? ""));
  return make("table", { class: "plain" },
    make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))));
}

export const empty = (...children) => make("p", { class: "empty" }, ...children);
