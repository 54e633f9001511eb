// Search: answers, why they have their scores, like and dislike, two versions side by side.

import { $, ask, count, make, marked, say } from "./common.js";

const marks = { query: "", liked: new Set(), disliked: new Set() };
const KEYS = { l: "like", d: "dislike", w: "why", n: "above", o: "open" };

export function openSearch() { $("q").focus(); }

export async function search(event) {
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
    const focused = document.activeElement?.closest?.(".hit")?.dataset.id;
    $("search-intro").hidden = true;
    say("search-state", found.hits.length ? `${count(found.hits.length, "answer")} in ${took} ms` : "No document matches the query.");
    $("results").replaceChildren(...lists.map((list, place) => resultList(list, lists[1 - place])));
    if (focused !== undefined) hits().find((hit) => hit.dataset.id === focused)?.focus();
  } catch (error) { say("search-state", error.message, true); }
}

const hits = () => [...document.querySelectorAll("#results > :first-child .hit")];

// j and k go through the answers; the other keys press a button of the one that has the focus.
export function searchKey(event) {
  const current = document.activeElement?.closest?.(".hit");
  if (event.key === "j" || event.key === "k") {
    const all = hits(), place = all.indexOf(current) + (event.key === "j" ? 1 : -1);
    all[Math.min(Math.max(place, 0), all.length - 1)]?.focus();
    return true;
  }
  const button = current?.querySelector(`[data-action=${KEYS[event.key]}]`);
  button?.click();
  return Boolean(button);
}

function resultList(found, other) {
  const rankOf = other && new Map(other.hits.map((hit) => [hit.id, hit.rank]));
  const items = found.hits.map((hit, place) => resultItem(hit, found, found.hits[place + 1], rankOf));
  return make("div", {}, other ? make("h3", {}, "Version " + found.model) : null, make("ol", { class: "hits" }, items));
}

function resultItem(hit, found, next, rankOf) {
  const why = make("div", { class: "why", hidden: true }), whole = make("p", { class: "whole", hidden: true });
  const choose = (set, otherSet) => () => {
    if (set.has(hit.id)) set.delete(hit.id); else { set.add(hit.id); otherSet.delete(hit.id); }
    search();
  };
  const button = (action, text, on, pressed) => make("button", { type: "button", onclick: on, "data-action": action,
    class: pressed ? "chosen" : null, "aria-pressed": pressed === undefined ? null : String(pressed) }, text);
  return make("li", { class: "hit", tabindex: -1, "data-id": hit.id },
    make("h3", {}, make("span", { class: "rank" }, String(hit.rank)), hit.title || hit.id, moved(hit, rankOf)),
    hit.title && hit.title !== hit.id ? make("p", { class: "quiet" }, hit.id) : null,
    make("p", { class: "snippet" }, marked(hit.snippet, hit.matches)),
    make("div", { class: "actions" },
      button("like", "Like", choose(marks.liked, marks.disliked), marks.liked.has(hit.id)),
      button("dislike", "Dislike", choose(marks.disliked, marks.liked), marks.disliked.has(hit.id)),
      button("why", "Why", () => explain(why, found, hit)),
      next ? button("above", "Why above the next", () => explain(why, found, hit, next)) : null,
      button("open", "Whole document", () => openDocument(whole, hit))),
    why, whole);
}

function moved(hit, rankOf) {
  if (!rankOf) return null;
  const rank = rankOf.get(hit.id);
  if (rank === undefined) return make("span", { class: "moved new" }, "only here");
  if (rank === hit.rank) return null;
  return make("span", { class: "moved " + (rank > hit.rank ? "up" : "down") }, `${rank} on the other side`);
}

async function openDocument(box, hit) {
  try {
    if (box.hidden) box.textContent = (await ask("/documents/" + encodeURIComponent(hit.id))).text || "This document has no text.";
    box.hidden = !box.hidden;
  } catch (error) { say("search-state", error.message, true); }
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
  const names = { word: term.query_word, pair: `${term.query_word} ~ ${term.document_word}`, item: `${term.query_word} ~ this document`, vector: "vectors of query and document", clicks: "clicks on this document", stage: "second stage" };
  return make("tr", {}, make("td", {}, member + (names[term.kind] ?? term.kind)), make("td", { class: "size" }, length), make("td", {}, signed(term.value)));
}

const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
