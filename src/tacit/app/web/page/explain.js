// Why a document has its score: terms grouped by their headings, as bars from a middle axis.

import { ask, make, say, signed, withParams } from "./common.js";
import { differenceBar } from "./charts.js";

const N_SHOWN = 4; // terms of one group

// The words of a term; one about the document as a whole, or about the query as a whole, has none.
function nameOf(term) {
  const word = term.query_word;
  if (term.kind === "pair" && term.document_word !== word) return `${word} ~ ${term.document_word}`;
  return word || "as a whole";
}

// Terms of one name as one: a word can count by itself and by its document.
function byName(terms) {
  const found = new Map();
  for (const term of terms) found.set(nameOf(term), { ...term, value: term.value + (found.get(nameOf(term))?.value ?? 0) });
  return [...found.values()].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

export function explanation(why, other) {
  const groups = new Map();
  for (const term of why.terms) groups.set(term.heading, [...(groups.get(term.heading) ?? []), term]);
  for (const [name, terms] of groups) groups.set(name, byName(terms));
  const total = (terms) => terms.reduce((sum, term) => sum + term.value, 0);
  const sums = [...groups].map(([name, terms]) => ({ name, terms, sum: total(terms) })).sort((a, b) => Math.abs(b.sum) - Math.abs(a.sum));
  const rest = why.total - total(why.terms);
  const largest = Math.max(1e-12, ...sums.flatMap((group) => [Math.abs(group.sum), ...group.terms.map((term) => Math.abs(term.value))]));
  const row = (name, value, kind) => make("tr", { class: kind }, make("th", { scope: "row" }, name), make("td", { class: "size" }, differenceBar(value, largest)), make("td", { class: "number" }, signed(value)));
  const rows = sums.flatMap(({ name, terms, sum }) => {
    const shown = terms.slice(0, N_SHOWN), more = sum - total(shown);
    return [row(name, sum, "group"),
      ...(terms.length > 1 || terms[0].query_word ? shown.map((term) => row(nameOf(term), term.value, "term")) : []),
      ...(terms.length > N_SHOWN ? [row(`${terms.length - N_SHOWN} more`, more, "term")] : [])];
  });
  if (Math.abs(rest) > 1e-6) rows.push(row("All other terms", rest, "group"));
  const title = other ? `${why.total < 0 ? "Below" : "Above"} “${other.title || other.id}” by ${signed(why.total)}` : `Score ${why.total.toFixed(3)}`;
  return [make("p", { class: "quiet" }, title), make("table", {}, make("tbody", {}, rows))];
}

export async function explainInto(box, asked, other) {
  try {
    const why = await ask(withParams("/explain", { ...asked, other: other?.id }));
    box.replaceChildren(...explanation(why, other));
    box.hidden = false;
  } catch (error) { say("search-state", error.message, true); }
}
