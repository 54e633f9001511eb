"use strict";
// The page of `tacit serve`: four views over the HTTP interface. Texts of documents are only ever set as text.

const $ = (id) => document.getElementById(id);
const GRADES = [0, 1, 2, 3];
const VIEWS = ["search", "judge", "learn", "queries"];
const kept = (name, otherwise) => localStorage.getItem("tacit." + name) ?? otherwise;
const keep = (name, value) => localStorage.setItem("tacit." + name, value);

async function ask(path, body, method) {
  const options = { method: method ?? (body === undefined ? "GET" : "POST"), headers: {} };
  if (body !== undefined) { options.body = JSON.stringify(body); options.headers["content-type"] = "application/json"; }
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Error("the service does not answer; is it running?"); }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.error ?? `status ${answer.status}`);
  return found;
}

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function say(id, text, bad = false) { $(id).textContent = text; $(id).classList.toggle("error", bad); }

function marked(text, matches) {
  const parts = []; let at = 0;
  for (const [start, end] of matches ?? []) {
    parts.push(text.slice(at, start), make("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

// ---- views ----

function show() {
  const view = VIEWS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "search";
  for (const name of VIEWS) $("view-" + name).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  ({ search: () => $("q").focus(), judge: openJudge, learn: openLearn, queries: openQueries })[view]();
}

async function tellServed() {
  try {
    const health = await ask("/health");
    $("served").textContent = `${health.documents.toLocaleString()} documents, ${health.method}, version ${health.model}`;
    const { versions, active } = await ask("/versions");
    const others = versions.filter((v) => v.version !== active);
    $("compare").replaceChildren(make("option", { value: "" }, "nothing"),
      ...others.map((v) => make("option", { value: v.version }, "version " + v.version)));
  } catch (error) { say("served", error.message, true); }
}

// ---- search ----

const marks = { query: "", liked: new Set(), disliked: new Set() };

async function search(event) {
  event?.preventDefault();
  const query = $("q").value.trim();
  if (!query) return;
  if (query !== marks.query) { marks.query = query; marks.liked.clear(); marks.disliked.clear(); }
  history.replaceState(null, "", "#search");
  const started = performance.now();
  try {
    const other = $("compare").value;
    const found = marks.liked.size || marks.disliked.size
      ? await ask("/feedback", { query, liked: [...marks.liked], disliked: [...marks.disliked] })
      : await ask("/search?" + new URLSearchParams({ q: query, k: 10 }));
    const lists = [found];
    if (other) lists.push(await ask("/search?" + new URLSearchParams({ q: query, k: 10, model: other })));
    const took = Math.round(performance.now() - started);
    say("search-state", found.hits.length ? `${found.hits.length} answers in ${took} ms` : "No document matches the query.");
    $("results").replaceChildren(...lists.map((list, place) => resultList(list, lists[1 - place])));
  } catch (error) { say("search-state", error.message, true); }
}

function resultList(found, other) {
  const rankOf = other && new Map(other.hits.map((hit) => [hit.id, hit.rank]));
  const hits = found.hits.map((hit, place) => resultItem(hit, found, found.hits[place + 1], rankOf));
  return make("div", {}, other ? make("h3", {}, "Version " + found.model) : null, make("ol", { class: "hits" }, hits));
}

function resultItem(hit, found, next, rankOf) {
  const why = make("div", { class: "why", hidden: true });
  const choose = (set, otherSet) => () => {
    if (set.has(hit.id)) set.delete(hit.id); else { set.add(hit.id); otherSet.delete(hit.id); }
    search();
  };
  const button = (text, on, pressed) => make("button", { type: "button", onclick: on, class: pressed ? "chosen" : null,
    "aria-pressed": pressed === undefined ? null : String(pressed) }, text);
  return make("li", { class: "hit" },
    make("h3", {}, make("span", { class: "rank" }, String(hit.rank)), hit.title || hit.id, moved(hit, rankOf)),
    hit.title && hit.title !== hit.id ? make("p", { class: "quiet" }, hit.id) : null,
    make("p", { class: "snippet" }, marked(hit.snippet, hit.matches)),
    make("div", { class: "actions" },
      button("Like", choose(marks.liked, marks.disliked), marks.liked.has(hit.id)),
      button("Dislike", choose(marks.disliked, marks.liked), marks.disliked.has(hit.id)),
      button("Why", () => explain(why, found, hit)),
      next ? button("Why above the next", () => explain(why, found, hit, next)) : null),
    why);
}

function moved(hit, rankOf) {
  if (!rankOf) return null;
  const rank = rankOf.get(hit.id);
  if (rank === undefined) return make("span", { class: "moved new" }, "only here");
  if (rank === hit.rank) return null;
  return make("span", { class: "moved " + (rank > hit.rank ? "up" : "down") }, `${rank} on the other side`);
}

async function explain(box, found, hit, other) {
  const wanted = other ? other.id : "";
  if (!box.hidden && box.dataset.other === wanted) { box.hidden = true; return; }
  box.dataset.other = wanted;
  try {
    const asked = { q: found.query, id: hit.id, model: found.model };
    if (other) asked.other = other.id;
    const why = await ask("/explain?" + new URLSearchParams(asked));
    const terms = why.terms.slice(0, 8);
    const largest = Math.max(1e-12, ...terms.map((term) => Math.abs(term.value)));
    const rest = why.total - terms.reduce((sum, term) => sum + term.value, 0);
    const rows = terms.map((term) => bar(term, largest));
    if (Math.abs(rest) > 1e-6) rows.push(make("tr", {}, make("td", {}, "all other terms"), make("td", { class: "size" }), make("td", {}, signed(rest))));
    const title = other ? `Above “${other.title || other.id}” by ${signed(why.total)}` : `Score ${why.total.toFixed(3)}`;
    box.replaceChildren(make("p", { class: "quiet" }, title), make("table", {}, make("tbody", {}, rows)));
    box.hidden = false;
  } catch (error) { say("search-state", error.message, true); }
}

function bar(term, largest) {
  const length = make("span", { class: "length" + (term.value < 0 ? " minus" : "") });
  length.style.width = (100 * Math.abs(term.value) / largest).toFixed(1) + "%";
  const member = term.member ? `${term.member}: ` : "";
  const names = { word: term.query_word, pair: `${term.query_word} ~ ${term.document_word}`, item: `${term.query_word} ~ this document` };
  return make("tr", {}, make("td", {}, member + (names[term.kind] ?? term.kind)), make("td", { class: "size" }, length), make("td", {}, signed(term.value)));
}

const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);

// ---- judge ----

const judging = { current: null, ahead: null, done: [], count: 0 };

function openJudge() {
  $("judge-name").value ||= kept("judge", "");
  $("guidelines").value ||= kept("guidelines", "");
  if (!$("judge-name").value) $("judge-name").focus();
}

const nextPath = (more) => "/next?" + new URLSearchParams({ judge: $("judge-name").value, purpose: $("purpose").value, ...more });

async function startJudging(event) {
  event.preventDefault();
  keep("judge", $("judge-name").value);
  judging.ahead = null;
  $("main").focus();
  await nextDocument();
}

async function nextDocument() {
  try {
    const early = judging.ahead !== null; // asked for before the last judgment, so its count is one behind
    const found = await (judging.ahead ?? ask(nextPath()));
    judging.ahead = null;
    if (!early) judging.count = found.progress.judged;
    showDocument(found);
    // The next document is asked for while this one is read, so that it is there at once.
    if (!found.finished) {
      judging.ahead = ask(nextPath({ after: found.ticket }));
      judging.ahead.catch(() => {});
    }
  } catch (error) { judging.ahead = null; say("judge-state", error.message, true); }
}

function showDocument(found) {
  judging.current = found.finished ? null : found;
  $("card").hidden = found.finished;
  $("undo").disabled = !judging.done.length;
  if (found.finished) { say("judge-state", `${judging.count} judged by you. ${found.reason}`); return; }
  const { query, document: doc, progress } = found;
  $("card-query").textContent = query.text || query.id;
  $("card-title").textContent = doc.title || doc.id;
  $("card-excerpt").replaceChildren(...marked(doc.snippet, doc.matches));
  $("card-text").textContent = doc.text;
  $("card-whole").open = false;
  const rank = $("hide-rank").checked || found.rank === null ? "" : `, found at rank ${found.rank}`;
  say("judge-state", `${judging.count} judged by you, ${progress.left} left to judge${rank}`);
  $("card").scrollIntoView({ block: "nearest" });
}

function showGrades() {
  const button = (text, key, on) => make("button", { type: "button", onclick: on }, text + " ", make("kbd", {}, key));
  $("grades").replaceChildren(
    ...GRADES.map((grade) => button(String(grade), String(grade), () => judge(grade))),
    button("Cannot judge", "c", () => judge(null)), button("Skip", "s", skip));
}

async function judge(grade) {
  const { current } = judging;
  if (!current) return;
  judging.current = null; // a second key press must not judge twice
  const body = { query: current.query.id, document: current.document.id, grade, judge: $("judge-name").value, ticket: current.ticket };
  try {
    await ask("/judgments", body);
    judging.done.push(current);
    judging.count += 1;
    await nextDocument();
  } catch (error) { judging.current = current; say("judge-state", error.message, true); }
}

async function skip() {
  if (!judging.current) return;
  judging.ahead = ask(nextPath({ after: judging.current.ticket, skipped: true }));
  await nextDocument();
}

async function undo() {
  const last = judging.done.pop();
  if (!last) return;
  try {
    await ask("/judgments/withdraw", { query: last.query.id, document: last.document.id, judge: $("judge-name").value });
    judging.ahead = null;
    judging.count -= 1;
    showDocument(last);
  } catch (error) { judging.done.push(last); say("judge-state", error.message, true); }
}

function judgeKey(event) {
  if ($("view-judge").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const actions = { c: () => judge(null), s: skip, u: undo, o: () => { $("card-whole").open = !$("card-whole").open; } };
  const action = GRADES.includes(Number(event.key)) && event.key.trim() ? () => judge(Number(event.key)) : actions[event.key];
  if (action) { event.preventDefault(); action(); }
}

// ---- learn ----

async function openLearn() {
  await Promise.all([showJudged(), showVersions(), followTraining()]).catch((error) => say("train-state", error.message, true));
}

async function showJudged() {
  const { judgments, judges } = await ask("/judgments");
  const queries = new Set(judgments.map((record) => record.query));
  $("judged").replaceChildren(
    make("p", {}, `${judgments.length} judgments of ${queries.size} queries`),
    table(["Judge", "Kind", "Judgments"], judges.map((j) => [j.name, j.kind, j.n_judgments])));
}

function table(heads, rows) {
  return make("table", { class: "plain" }, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell instanceof Node ? cell : String(cell ?? "")))))));
}

async function showVersions() {
  const { active, versions } = await ask("/versions");
  $("versions").replaceChildren(table(["Version", "Verdict", ""], versions.map((v) => [
    v.version + (v.version === active ? " (answers now)" : ""), v.verdict?.text ?? "",
    v.version === active ? "" : make("button", { type: "button", onclick: () => switchTo(v.version) }, Number(v.version) < Number(active) ? "Roll back to it" : "Let it answer"),
  ])));
}

async function switchTo(version) {
  try { await ask("/versions", { version }); await showVersions(); await tellServed(); } catch (error) { say("train-state", error.message, true); }
}

async function startTraining() {
  try { await ask("/train", {}); await followTraining(); } catch (error) { say("train-state", error.message, true); }
}

async function followTraining() {
  const state = await ask("/train");
  showTraining(state);
  if (state.state !== "running") return;
  const events = new EventSource("/train/events");
  events.onmessage = (event) => {
    const found = JSON.parse(event.data);
    showTraining(found);
    if (found.state !== "running") { events.close(); showVersions(); tellServed(); }
  };
  events.onerror = () => { events.close(); };
}

function showTraining(state) {
  $("train").disabled = state.state === "running";
  say("train-state", state.message ?? "", state.state === "failed");
  $("verdict").hidden = !state.verdict;
  if (state.verdict) $("verdict").textContent = state.verdict.text;
  const curve = state.verdict?.curve ?? [];
  $("curve").hidden = curve.length < 2;
  if (curve.length >= 2) $("curve").replaceChildren(plotCurve(curve), make("figcaption", { class: "quiet" }, `${state.verdict.measure} by the number of judged queries, with 95 % intervals`));
}

function plotCurve(points) {
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const low = Math.min(...points.map((p) => p.interval[0])), high = Math.max(...points.map((p) => p.interval[1]));
  const most = Math.max(...points.map((p) => p.queries), 1), span = high - low || 1;
  const x = (queries) => 50 + 410 * queries / most, y = (value) => 190 - 170 * (value - low) / span;
  const picture = svg("svg", { viewBox: "0 0 480 225", role: "img", "aria-label": "Learning curve" });
  picture.append(svg("path", { d: "M50 10V190H470", fill: "none", stroke: "currentColor" }));
  for (const value of [low, high]) picture.append(svg("text", { x: 44, y: y(value) + 4, "text-anchor": "end", "font-size": 12, fill: "currentColor" }, value.toFixed(3)));
  for (const point of points) {
    picture.append(svg("line", { x1: x(point.queries), x2: x(point.queries), y1: y(point.interval[0]), y2: y(point.interval[1]), stroke: "currentColor" }));
    picture.append(svg("circle", { cx: x(point.queries), cy: y(point.mean), r: 4, fill: "currentColor" }));
    picture.append(svg("text", { x: x(point.queries), y: 207, "text-anchor": "middle", "font-size": 12, fill: "currentColor" }, point.queries));
  }
  const line = points.map((point, place) => `${place ? "L" : "M"}${x(point.queries)} ${y(point.mean)}`).join("");
  picture.append(svg("path", { d: line, fill: "none", stroke: "currentColor", "stroke-dasharray": "4 3" }));
  return picture;
}

// ---- queries ----

async function openQueries() {
  try {
    const { queries } = await ask("/queries");
    $("query-list").replaceChildren(queries.length
      ? table(["Query", "Group", "Judgments", "Id"], queries.map((q) => [q.text, q.topic ?? "", q.judged, q.id]))
      : make("p", { class: "quiet" }, "No queries yet. Add some above, or judge answers of a search."));
  } catch (error) { say("queries-state", error.message, true); }
}

function parseQueries(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  return lines.map((line) => {
    if (line.startsWith("{")) { const found = JSON.parse(line); return { id: String(found.id ?? found._id), text: found.text ?? found.title }; }
    if (line.includes("\t")) { const [id, ...rest] = line.split("\t"); return { id, text: rest.join(" ") }; }
    const grouped = line.match(/^([^:]{1,60}): (.+)$/);
    return grouped ? { topic: grouped[1], text: grouped[2] } : { text: line };
  });
}

async function addQueries(text) {
  try {
    const found = await ask("/queries", parseQueries(text));
    say("queries-state", `${found.added} queries added`);
    $("new-queries").value = "";
    await openQueries();
  } catch (error) { say("queries-state", error.message, true); }
}

// ---- start ----

window.addEventListener("hashchange", show);
window.addEventListener("keydown", judgeKey);
$("search-form").addEventListener("submit", search);
$("compare").addEventListener("change", () => search());
$("judge-form").addEventListener("submit", startJudging);
$("undo").addEventListener("click", undo);
$("guidelines").addEventListener("input", () => keep("guidelines", $("guidelines").value));
$("train").addEventListener("click", startTraining);
$("queries-form").addEventListener("submit", (event) => { event.preventDefault(); addQueries($("new-queries").value); });
$("queries-file").addEventListener("change", async (event) => { const [file] = event.target.files; if (file) await addQueries(await file.text()); });
showGrades();
tellServed();
show();
