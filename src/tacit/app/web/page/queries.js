// Queries: a table with judgments and scores by version; import with a preview; edit, delete, group.

import { $, addressOf, ask, button, count, decimal, empty, go, judgeName, make, place, say, table, withParams } from "./common.js";
import { sparkline } from "./charts.js";

const AT_ONCE = 100; // rows shown at first
const COLUMNS_OF_VERSIONS = 3; // the newest ones; the sparkline has all
const shown = { queries: [], rows: [], versions: [], sort: "text", down: false, most: AT_ONCE }; // rows: filtered rows
let waiting = "", opened = false; // the previewed text; whether the view was shown before

export function setUpQueries() {
  $("queries-form").addEventListener("submit", (event) => { event.preventDefault(); preview($("new-queries").value); });
  $("queries-file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) await preview(await file.text());
    event.target.value = ""; // the same file can be chosen again
  });
  $("import").addEventListener("click", importText);
  $("import-cancel").addEventListener("click", () => { $("preview").hidden = true; });
  $("query-filter").addEventListener("input", show);
  $("query-group").addEventListener("change", show);
  $("group-shown").addEventListener("click", groupShown);
  $("judgments-of").addEventListener("close", () => { if (place().view === "queries") go("queries", {}, true); });
}

export async function openQueries(params) {
  try {
    shown.queries = (await ask("/queries")).queries;
    if (!shown.queries.some((q) => q.scores.length) && shown.queries.some((q) => q.judged)) await scoreNow();
    if (!opened) $("adding").open = !shown.queries.length;
    opened = true;
    const groups = [...new Set(shown.queries.map((q) => q.topic).filter(Boolean))].sort();
    const chosen = $("query-group").value;
    $("query-group").replaceChildren(make("option", { value: "" }, "all groups"), ...groups.map((name) => make("option", { value: name }, name)));
    $("query-group").value = groups.includes(chosen) ? chosen : "";
    $("query-group").hidden = !groups.length;
    shown.versions = [...new Set(shown.queries.flatMap((q) => q.scores.map((s) => s.version)))].sort((a, b) => a - b).slice(-COLUMNS_OF_VERSIONS);
    show();
    await showJudgments(shown.queries.find((q) => q.id === params?.get("judgments")));
  } catch (error) { say("queries-state", error.message, true); }
}

// Before any training, the scores of the live version on the current judgments.
async function scoreNow() {
  const { model } = await ask("/health"), { by_query } = await ask(`/versions/${model}/measures`);
  const values = new Map(by_query.map((q) => [q.id, q.value]));
  for (const q of shown.queries) if (values.has(q.id)) q.scores = [{ version: model, value: values.get(q.id) }];
}

const valueOf = (q, version) => q.scores.find((s) => s.version === version)?.value;
const changeOf = (q) => (q.scores.length > 1 ? q.scores.at(-1).value - q.scores.at(-2).value : 0);

// Columns by name: the head, what rows are sorted by, and the meaning of the head.
function columns() {
  const versions = shown.versions.map((version) => [`v${version}`, [shown.versions.length > 1 ? `v${version}` : "nDCG@10", (q) => valueOf(q, version) ?? -1, `nDCG@10 of version ${version}`]]);
  return { text: ["Query", (q) => q.text.toLowerCase()], topic: ["Group", (q) => q.topic ?? ""], judged: ["Judgments", (q) => q.judged],
    ...Object.fromEntries(versions), change: ["Change", changeOf, "change in nDCG@10"] };
}

function head(name) {
  const [text, , meaning = text] = columns()[name], sign = shown.sort === name ? (shown.down ? " ▼" : " ▲") : "";
  const sort = () => { shown.down = shown.sort === name ? !shown.down : name !== "text"; shown.sort = name; show(); };
  return button(text + sign, sort, { class: "sort", title: meaning, "aria-label": `Sort by ${meaning}` });
}

function show() {
  if (!shown.queries.length) { $("query-tools").hidden = true; $("query-list").replaceChildren(empty("There are no queries yet. Add some above: the Judge view uses them.")); return; }
  $("query-tools").hidden = false;
  const wanted = $("query-filter").value.toLowerCase(), group = $("query-group").value, key = (columns()[shown.sort] ?? columns().text)[1];
  const rows = shown.queries.filter((q) => (!wanted || `${q.text} ${q.id} ${q.topic ?? ""}`.toLowerCase().includes(wanted)) && (!group || q.topic === group));
  shown.rows = rows;
  rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (shown.down ? -1 : 1));
  $("query-count").textContent = rows.length === shown.queries.length ? count(rows.length, "query", "queries") : `${rows.length} of ${count(shown.queries.length, "query", "queries")}`;
  const grouped = shown.queries.some((q) => q.topic), { versions } = shown, changed = versions.length > 1;
  const heads = [head("text"), ...(grouped ? [head("topic")] : []), head("judged"), ...versions.map((v) => head(`v${v}`)), ...(changed ? [head("change")] : []), "Actions"];
  const some = rows.slice(0, shown.most);
  const cells = (q) => [nameOf(q), ...(grouped ? [q.topic ?? ""] : []), judgedOf(q), ...versions.map((v) => { const value = valueOf(q, v); return value === undefined ? "" : make("span", { class: "score" }, decimal(value)); }), ...(changed ? [changedBy(q)] : []), actionsOf(q)];
  $("query-list").replaceChildren(table(heads, some.map(cells)),
    ...(some.length < rows.length ? [button(`Show ${Math.min(AT_ONCE, rows.length - some.length)} more`, () => { shown.most += AT_ONCE; show(); })] : []));
}

const nameOf = (q) => (q.text ? make("a", { class: "plain-link", href: addressOf("search", { q: q.text, judged: q.judged ? q.id : "" }), title: q.id }, q.text) : `(text unknown) ${q.id}`);

const judgedOf = (q) => (q.judged ? make("a", { href: addressOf("queries", { judgments: q.id }), "aria-label": `${count(q.judged, "judgment")} of ${q.text || q.id}` }, String(q.judged)) : "0");

function changedBy(q) {
  if (q.scores.length < 2) return "";
  const change = changeOf(q), same = Math.abs(change) < 0.005;
  return make("span", { class: "score" }, sparkline(q.scores.map((s) => s.value)), make("span", { class: same ? "quiet" : change > 0 ? "up" : "down" }, same ? " =" : ` ${change > 0 ? "▲" : "▼"} ${decimal(Math.abs(change))}`));
}

// All judgments of one query, in a dialog that has an address.
async function showJudgments(query) {
  const dialog = $("judgments-of");
  if (!query) { dialog.close(); return; }
  const { judgments } = await ask(withParams("/judgments", { query: query.id }));
  $("h-judgments-of").textContent = query.text || query.id;
  $("judgments-list").replaceChildren(table(["Document", "Grade", "Judge", "Day"], judgments.toSorted((a, b) => (b.grade ?? -1) - (a.grade ?? -1)).map((j) =>
    [j.document, j.grade ?? "cannot judge", judgeName({ name: j.judge, kind: j.kind }), new Date(j.time).toLocaleDateString("en", { day: "numeric", month: "short" })])));
  $("judge-this").href = addressOf("judge", { query: query.id });
  if (!dialog.open && place().params.get("judgments") === query.id) dialog.showModal(); // unless it was left meanwhile
}

function groupShown() {
  const dialog = $("grouping"), rows = shown.rows;
  $("h-grouping").textContent = `Group ${count(rows.length, "query", "queries")}`;
  $("grouping-name").value = $("query-group").value;
  dialog.returnValue = "";
  dialog.addEventListener("close", async () => {
    if (dialog.returnValue !== "yes") return;
    const topic = $("grouping-name").value.trim();
    try {
      for (const q of rows) await ask("/queries/" + encodeURIComponent(q.id), { topic }, "PATCH");
      say("queries-state", topic ? `${count(rows.length, "query", "queries")} put into ${topic}.` : `${count(rows.length, "query", "queries")} removed from their groups.`);
    } catch (error) { say("queries-state", error.message, true); }
    await openQueries();
  }, { once: true });
  dialog.showModal();
}

const actionsOf = (q) => make("span", { class: "actions" }, make("a", { href: addressOf("judge", { query: q.id }), class: "button small" }, "Judge"), button("Edit", () => edit(q), { class: "small" }),
  q.judged ? null : button("Delete", () => change(q, undefined, "DELETE"), { class: "small" }));

async function change(q, body, method) {
  try { await ask("/queries/" + encodeURIComponent(q.id), body, method); say("queries-state", method === "DELETE" ? "Deleted." : "Changed."); await openQueries(); } catch (error) { say("queries-state", error.message, true); }
}

function edit(q) {
  const dialog = $("edit");
  $("edit-text").value = q.text;
  $("edit-text").disabled = q.judged > 0;
  $("edit-hint").hidden = !q.judged;
  $("edit-topic").value = q.topic ?? "";
  dialog.returnValue = "";
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "yes") return;
    const body = { topic: $("edit-topic").value.trim() };
    if (!q.judged && $("edit-text").value.trim()) body.text = $("edit-text").value.trim();
    change(q, body, "PATCH");
  }, { once: true });
  dialog.showModal();
}

const importBody = (text, preview) => ({ text, preview, topic: $("new-group").value.trim() || null, judge: $("new-judge").value.trim() || "import", kind: $("new-kind").value });

function inWords(found) {
  const q = found.queries, j = found.judgments, parts = [];
  parts.push(`${count(q.new, "query", "queries")} ${found.stored ? "added" : "to add"}`);
  if (q.known) parts.push(`${q.known} already known`);
  if (q.repeated) parts.push(`${q.repeated} repeated`);
  if (j.new || j.known) parts.push(`${count(j.new, "judgment")} ${found.stored ? "added" : "to add"}`);
  if (j.known) parts.push(`${count(j.known, "judgment")} already known`);
  if (j.unknown_documents) parts.push(`${count(j.unknown_documents, "judgment")} left out, because the model has no such document`);
  return parts.join(", ");
}

async function preview(text) {
  if (!text.trim()) { say("queries-state", "There is no query to add: write one query per line.", true); return; }
  try {
    const found = await ask("/import", importBody(text, true));
    waiting = text;
    const columns = ["id", "text", "topic", "document", "grade", "judge"].filter((name) => found.rows.some((row) => row[name] !== null && row[name] !== ""));
    $("preview-text").textContent = `Read as: ${found.form}. ${inWords(found)}.`;
    $("preview-problems").replaceChildren(...found.problems.map((problem) => make("li", {}, problem)));
    $("preview-rows").replaceChildren(table(columns, found.rows.map((row) => columns.map((name) => row[name]))));
    $("preview").hidden = false;
    $("import").disabled = !(found.queries.new || found.queries.known || found.judgments.new);
    $("import").focus();
    say("queries-state", "");
  } catch (error) { say("queries-state", error.message, true); }
}

async function importText() {
  try {
    const found = await ask("/import", importBody(waiting, false));
    say("queries-state", inWords(found));
    $("preview").hidden = true;
    $("new-queries").value = "";
    await openQueries();
  } catch (error) { say("queries-state", error.message, true); }
}
