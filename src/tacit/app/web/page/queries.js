// Queries: a table with judgments and scores by version; import with a preview; edit, delete, group.

import { $, addressOf, ask, button, count, empty, make, say, table } from "./common.js";
import { sparkline } from "./charts.js";

const AT_ONCE = 100; // rows shown at first
const shown = { queries: [], rows: [], sort: "text", down: false, most: AT_ONCE }; // rows: filtered rows
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
}

export async function openQueries() {
  try {
    shown.queries = (await ask("/queries")).queries;
    if (!opened) $("adding").open = !shown.queries.length;
    opened = true;
    const groups = [...new Set(shown.queries.map((q) => q.topic).filter(Boolean))].sort();
    const chosen = $("query-group").value;
    $("query-group").replaceChildren(make("option", { value: "" }, "all groups"), ...groups.map((name) => make("option", { value: name }, name)));
    $("query-group").value = groups.includes(chosen) ? chosen : "";
    $("query-group").hidden = !groups.length;
    show();
  } catch (error) { say("queries-state", error.message, true); }
}

const COLUMNS = { text: ["Query", (q) => q.text.toLowerCase()], topic: ["Group", (q) => q.topic ?? ""], judged: ["Judgments", (q) => q.judged], score: ["nDCG@10", (q) => q.scores?.at(-1)?.value ?? -1] };

function head(name) {
  const [text] = COLUMNS[name], sign = shown.sort === name ? (shown.down ? " ▼" : " ▲") : "";
  return button(text + sign, () => { shown.down = shown.sort === name ? !shown.down : name !== "text"; shown.sort = name; show(); }, { class: "sort", "aria-label": `Sort by ${text}` });
}

function show() {
  if (!shown.queries.length) { $("query-tools").hidden = true; $("query-list").replaceChildren(empty("There are no queries yet. Add some above: the Judge view uses them.")); return; }
  $("query-tools").hidden = false;
  const wanted = $("query-filter").value.toLowerCase(), group = $("query-group").value, key = COLUMNS[shown.sort][1];
  const rows = shown.queries.filter((q) => (!wanted || `${q.text} ${q.id} ${q.topic ?? ""}`.toLowerCase().includes(wanted)) && (!group || q.topic === group));
  shown.rows = rows;
  rows.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (shown.down ? -1 : 1));
  $("query-count").textContent = rows.length === shown.queries.length ? count(rows.length, "query", "queries") : `${rows.length} of ${count(shown.queries.length, "query", "queries")}`;
  const grouped = shown.queries.some((q) => q.topic), scored = shown.queries.some((q) => q.scores?.length);
  const heads = [head("text"), ...(grouped ? [head("topic")] : []), head("judged"), ...(scored ? [head("score")] : []), "Actions"];
  const some = rows.slice(0, shown.most);
  $("query-list").replaceChildren(table(heads, some.map((q) => [nameOf(q), ...(grouped ? [q.topic ?? ""] : []), judgedOf(q), ...(scored ? [scoreOf(q)] : []), actionsOf(q)])),
    ...(some.length < rows.length ? [button(`Show ${Math.min(AT_ONCE, rows.length - some.length)} more`, () => { shown.most += AT_ONCE; show(); })] : []));
}

const nameOf = (q) => (q.text ? make("a", { href: addressOf("search", { q: q.text }), title: q.id }, q.text) : `(text unknown) ${q.id}`);

const judgedOf = (q) => make("a", { href: addressOf("judge", { query: q.id }), "aria-label": `${count(q.judged, "judgment")} of ${q.text || q.id}` }, String(q.judged));

function scoreOf(q) {
  const scores = q.scores ?? [], [before, last] = scores.slice(-2), change = scores.length > 1 ? last.value - before.value : 0;
  return scores.length ? make("span", { class: "score" }, sparkline(scores.map((s) => s.value)), ` ${scores.at(-1).value.toFixed(2)} `,
    scores.length > 1 ? make("span", { class: Math.abs(change) < 0.005 ? "quiet" : change > 0 ? "up" : "down" }, Math.abs(change) < 0.005 ? "=" : `${change > 0 ? "▲" : "▼"} ${Math.abs(change).toFixed(2)}`) : null,
    scores.length > 1 ? make("span", { class: "quiet block" }, scores.slice(-4).map((s) => `v${s.version} ${s.value.toFixed(2)}`).join(", ")) : null) : "";
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
