// Queries: add, import, group.

import { $, ask, count, empty, say, table } from "./common.js";

export async function openQueries() {
  try {
    const { queries } = await ask("/queries");
    const grouped = queries.some((q) => q.topic);
    const heads = ["Query", ...(grouped ? ["Group"] : []), "Judgments", "Id"];
    const row = (q) => [q.text || "(text unknown)", ...(grouped ? [q.topic ?? ""] : []), q.judged, q.id];
    $("query-list").replaceChildren(queries.length ? table(heads, queries.map(row)) : empty("There are no queries yet. Add some above: they are what the Judge view asks about."));
  } catch (error) { say("queries-state", error.message, true); }
}

function parseQueries(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  return lines.map((line, number) => {
    if (line.startsWith("{")) {
      let found;
      try { found = JSON.parse(line); } catch { throw new Error(`Line ${number + 1} is not JSON: ${line.slice(0, 60)}`); }
      const id = found.id ?? found._id;
      return { id: id === undefined ? null : String(id), text: found.text ?? found.title };
    }
    if (line.includes("\t")) { const [id, ...rest] = line.split("\t"); return { id, text: rest.join(" ") }; }
    const grouped = line.match(/^([^:]{1,60}): (.+)$/);
    return grouped ? { topic: grouped[1], text: grouped[2] } : { text: line };
  });
}

export async function addQueries(text) {
  try {
    const queries = parseQueries(text);
    if (!queries.length) { say("queries-state", "There is no query to add: write one on each line.", true); return; }
    const found = await ask("/queries", queries);
    say("queries-state", `${count(found.added, "query", "queries")} added`);
    $("new-queries").value = "";
    await openQueries();
  } catch (error) { say("queries-state", error.message, true); }
}
