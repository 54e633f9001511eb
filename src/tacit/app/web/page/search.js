// Search: results, filters, why they have their scores, like and dislike, two versions or settings side by side. Its state
// is in the address.

import { $, addressOf, ask, button, count, decimal, go, make, marked, ordinal, place, say, signed, withParams } from "./common.js";
import { explainInto } from "./explain.js";

const marks = { liked: new Set(), disliked: new Set() }; // as in the address
const opened = { query: "", why: new Map(), whole: new Set() }; // by version and document: panels stay open when the list is reranked
const KEYS = { l: "like", d: "dislike", w: "why", n: "above", o: "open" };
const PAGE = 10;
const COUNTED = ["keyword", "keywords", "boolean"]; // kinds of fields whose values are counted
const SORTED = ["number", "date", "keyword"]; // kinds of fields that results can be sorted by
const known = { versions: [], active: "", fields: null }; // fields: kinds by name
const SETTINGS = { plain: "without the filter", unmarked: "without likes and dislikes" }; // of the list that is compared
const FEWEST = 10; // judged queries that a verdict needs
const N_VALUES = 8, LEAST_COVERED = 0.1; // values of a field whose counts are shown, and the share of results that they cover
const SECONDS_QUIET = 0.3; // before the message that a search is running
const SECONDS_TYPING = 0.15, N_COMPLETIONS = 8; // the pause before completions of the query, and how many there are
let turn = 0, typing = null;

export function setUpSearch() {
  $("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const q = $("q").value.trim();
    const marked = q === place().params.get("q") ? {} : { like: [], dislike: [] };
    if (q && !go("search", { ...wanted(), q, ...marked, k: "", why: "", judged: "", filter: $("filter").value.trim() })) show(place().params);
  });
  $("q").addEventListener("input", complete);
  $("judge-these").addEventListener("click", judgeThese);
  $("sort").addEventListener("change", () => go("search", { ...wanted(), sort: $("sort").value }));
  $("options-toggle").addEventListener("click", () => $("options-toggle").setAttribute("aria-expanded", String($("options").classList.toggle("open"))));
  $("compare").addEventListener("change", () => go("search", { ...wanted(), vs: $("compare").value }));
  $("version").addEventListener("change", () => go("search", { ...wanted(), model: $("version").value, vs: "" }));
}

// Completions of the typed text, after a pause.
function complete() {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    const q = $("q").value.trim(), { suggestions } = q ? await ask(withParams("/suggest", { q, k: N_COMPLETIONS })).catch(() => ({ suggestions: [] })) : { suggestions: [] };
    if (q === $("q").value.trim()) $("suggestions").replaceChildren(...suggestions.filter((text) => text !== q).map((text) => make("option", { value: text })));
  }, 1000 * SECONDS_TYPING);
}

// The query is stored, if it is new, and its results are opened to be judged.
async function judgeThese() {
  try {
    const { ids: [query] } = await ask("/queries", [{ text: place().params.get("q") }]);
    go("judge", { query });
  } catch (error) { say("search-state", error.message, true); }
}

export function setVersions(versions, active) {
  Object.assign(known, { versions, active });
  showChoices(place().params);
}

// Choices: the version used for ranking, and the list to compare with.
function showChoices(params) {
  const model = params.get("model") ?? "", vs = params.get("vs") ?? "", option = (value, text) => make("option", { value }, text);
  const others = known.versions.filter((name) => name !== (model || known.active));
  const settings = [...(params.get("filter") || vs === "plain" ? ["plain"] : []), ...(hasMarks() || vs === "unmarked" ? ["unmarked"] : [])];
  $("version-label").hidden = known.versions.length < 2;
  $("version").replaceChildren(option("", `${known.active} (live)`), ...known.versions.filter((name) => name !== known.active).map((name) => option(name, name)));
  $("version").value = model === known.active ? "" : model;
  $("compare-label").hidden = !others.length && !settings.length;
  $("compare").replaceChildren(option("", "nothing"), ...others.map((name) => option(name, `version ${name}`)), ...settings.map((name) => option(name, `the same ${SETTINGS[name]}`)));
  $("compare").value = vs;
}

// The displayed lists: version, filter, and whether likes and dislikes count.
function sidesOf(params) {
  const side = { model: params.get("model") ?? "", filter: params.get("filter") ?? "", sort: params.get("sort") ?? "", marked: true, note: "" }, vs = params.get("vs");
  const other = vs === "plain" ? { ...side, filter: "" } : vs === "unmarked" ? { ...side, marked: false } : { ...side, model: vs };
  return vs ? [side, { ...other, second: true, note: SETTINGS[vs] ?? "" }] : [side];
}

function wanted() {
  const { params } = place();
  return { ...Object.fromEntries(params), like: params.getAll("like"), dislike: params.getAll("dislike") };
}

export function openSearch(params) {
  $("q").value = params.get("q") ?? "";
  $("filter").value = params.get("filter") ?? "";
  $("filter-label").hidden = !params.get("filter") && !Object.keys(known.fields ?? {}).length;
  Object.assign(marks, { liked: new Set(params.getAll("like")), disliked: new Set(params.getAll("dislike")) });
  showChoices(params);
  if (params.get("q")) show(params); else { clear(); $("q").focus(); }
}

async function clear() {
  turn += 1; // a search in progress shows nothing
  $("results").removeAttribute("aria-busy");
  $("search-intro").hidden = false;
  $("judge-these").hidden = $("more").hidden = $("facets").hidden = $("did-you-mean").hidden = $("filters").hidden = $("moves").hidden = true;
  $("results").replaceChildren();
  say("search-state", "");
  const [{ queries, total }, judged, { versions, active }, { about, read_only: readOnly }] = await Promise.all([ask("/queries?limit=4").catch(() => ({ queries: [] })),
    ask("/judgments?limit=1").catch(() => ({})), ask("/versions").catch(() => ({ versions: [] })), ask("/health").catch(() => ({}))]);
  if (about) $("about").textContent = `${about}.`;
  $("own").hidden = !about;
  $("home-queries").textContent = total ? count(total, "query", "queries") : "";
  $("home-judgments").textContent = judged.total ? count(judged.total, "judgment") : "";
  if (!readOnly) showNext(total, judged, versions);
  const asked = queries.filter((q) => q.text);
  $("try").hidden = !asked.length;
  $("try").replaceChildren("Try: ", ...asked.map((q) => make("a", { class: "button small", href: withParams("#search", { q: q.text }), title: q.text }, q.text)));
  const live = versions.find((v) => v.version === active), found = live?.measures["nDCG@10"] ?? (judged.total ? (await ask(`/versions/${active}/measures`).catch(() => ({}))).measures?.["nDCG@10"] : null);
  $("home-score").textContent = found ? `nDCG@10 ${decimal(found.mean)}` : "";
  $("home-version").textContent = found ? `version ${active} live` : "";
}

// The step to take next: its card is marked, and says why.
function showNext(total, judged, versions) {
  const better = versions.findLast((v) => v.status === "better"), missing = FEWEST - (judged.queries ?? 0);
  const [step, why, what] = !total ? ["queries", "Add the queries that matter to you.", "Add queries"]
    : missing > 0 ? ["judge", `Grade results of ${judged.total ? `${missing} more` : missing} queries, so that versions can be compared.`, "Start judging"]
      : better ? ["learn", `Version ${better.version} is better than the live one: nDCG@10 ${signed(better.comparison.gain)}.`, "See the verdict"]
        : versions.length < 2 ? ["learn", `Train a version on ${count(judged.total, "judgment")}, and see what it changes.`, "Train"]
          : ["judge", "Grade more results, then train again.", "Judge more"];
  for (const card of document.querySelectorAll(".steps [data-step]")) {
    const next = card.dataset.step === step, text = card.querySelector(".what");
    card.classList.toggle("next", next);
    text.textContent = next ? why : text.dataset.text;
    card.querySelector(".go").textContent = next ? `${what} →` : "";
  }
}

async function show(params) {
  const query = params.get("q"), k = Math.min(Number(params.get("k")) || PAGE, 1000), filter = params.get("filter") ?? "";
  if (query !== opened.query) { opened.query = query; opened.why.clear(); opened.whole.clear(); }
  if (params.get("why")) opened.why.set(params.get("why"), "");
  const mine = turn += 1, started = performance.now();
  $("results").setAttribute("aria-busy", "true");
  $("search-intro").hidden = true;
  const waiting = setTimeout(() => { if (mine === turn) say("search-state", "Searching…"); }, 1000 * SECONDS_QUIET);
  showChoices(params);
  try {
    const sides = sidesOf(params), [grades, scores, ...lists] = await Promise.all([gradesOf(params.get("judged")), scoresOf(params.get("judged"), sides), ...sides.map((side) => listOf(query, k, side))]), [found] = lists;
    if (mine !== turn) return; // another search has begun
    const took = Math.round(performance.now() - started), focused = document.activeElement?.closest?.(".hit")?.dataset.id;
    const tell = (total) => say("search-state", found.hits.length ? `${found.hits.length}${total > found.hits.length ? ` of ${total.toLocaleString("en")}` : ""} ${found.hits.length === 1 ? "result" : "results"} in ${took} ms${movedInWords(lists)}` : "No document matches the query.");
    tell(found.total);
    $("results").classList.toggle("two", lists.length > 1);
    showMoves(lists, sides, grades);
    $("results").replaceChildren(...lists.map((list, at) => resultList(list, sides[at], lists[1 - at], sides[1 - at], grades, scores[at])));
    $("judge-these").hidden = !found.hits.length;
    $("more").hidden = found.hits.length < k || k >= 1000;
    $("more").onclick = () => go("search", { ...wanted(), k: k + PAGE });
    suggest(found);
    showFacets(query, filter).then((total) => { if (mine === turn && !found.total) tell(total); });
    if (focused !== undefined) hits().find((hit) => hit.dataset.id === focused)?.focus();
  } catch (error) { if (mine === turn) say("search-state", error.message, true); }
  clearTimeout(waiting);
  if (mine === turn) $("results").removeAttribute("aria-busy");
}

const hasMarks = () => marks.liked.size || marks.disliked.size;

// Likes rerank a full list, so they do not count in a filtered or sorted one.
const countsMarks = (side) => side.marked && !side.filter && !side.sort && hasMarks();

function listOf(query, k, side) {
  if (countsMarks(side)) return ask("/feedback", { query, liked: [...marks.liked], disliked: [...marks.disliked], k, model: side.model || null });
  return ask(withParams("/search", { q: query, k, filter: side.filter, sort: side.sort, model: side.model }));
}

function suggest(found) {
  const better = found.did_you_mean;
  $("did-you-mean").hidden = !better;
  if (better) $("did-you-mean").replaceChildren("Did you mean ", make("a", { href: withParams("#search", { ...wanted(), q: better, like: [], dislike: [] }) }, better), "?");
}

// Counts of the values of fields; a click narrows the filter. Returns the number of matching documents, if it is counted.
async function showFacets(query, filter) {
  known.fields ??= (await ask("/health").catch(() => ({}))).fields ?? null;
  const all = Object.entries(known.fields ?? {}), names = all.filter(([, kind]) => COUNTED.includes(kind)).map(([name]) => name).slice(0, 6);
  $("filter-label").hidden = !filter && !all.length;
  showOrders(all.filter(([, kind]) => SORTED.includes(kind)).map(([name]) => name));
  showFilters(filter);
  if (!names.length) { $("facets").hidden = true; $("found").classList.remove("faceted"); return 0; }
  let counted = 0;
  try {
    const { facets, total } = await ask(withParams("/search", { q: query, k: 1, filter, facet: names, snippets: false }));
    const link = (name, { value, count: n }) => make("li", {}, make("a", { href: withParams("#search", { ...wanted(), k: "", filter: [filter, `${name} = ${JSON.stringify(value)}`].filter(Boolean).join(" and ") }) }, make("span", {}, shortened(value)), make("span", { class: "quiet" }, n.toLocaleString("en"))));
    counted = total;
    const first = Object.entries(facets ?? {}).map(([name, values]) => [name, values.filter(({ value }) => value !== "").slice(0, N_VALUES)]);
    // A field narrows something if its first values repeat, and cover some of the results.
    const covered = ([, values]) => values.reduce((sum, { count: n }) => sum + n, 0);
    const telling = first.filter((one) => one[1].length > 1 && 2 * one[1].filter(({ count: n }) => n > 1).length > one[1].length && covered(one) > LEAST_COVERED * total).sort((a, b) => covered(b) - covered(a));
    $("facets").replaceChildren(...telling.map(([name, values]) => make("div", {}, make("h3", {}, name), make("ul", {}, values.map((one) => link(name, one))))));
    $("facets").hidden = !telling.length || place().params.has("vs"); // two lists need the space
    $("filter").placeholder = telling.length ? `${telling[0][0]} = ${JSON.stringify(telling[0][1][0].value)}` : "field = value";
  } catch { $("facets").hidden = true; }
  $("found").classList.toggle("faceted", !$("facets").hidden);
  return counted;
}

function showOrders(names) {
  const sort = place().params.get("sort") ?? "", option = (value, text) => make("option", { value }, text);
  $("sort-label").hidden = !names.length && !sort;
  $("sort").replaceChildren(option("", "relevance"), ...names.flatMap((name) => [option(name, `${name}, ascending`), option(`-${name}`, `${name}, descending`)]));
  $("sort").value = sort;
}

// The parts of the filter that "and" joins, each with a link that removes it.
function showFilters(filter) {
  const parts = /\(|"[^"]* and |\bor\b|\bnot\b/i.test(filter) ? [filter] : filter.split(/ and /i);
  const without = (at) => parts.filter((_, place) => place !== at).join(" and ");
  $("filters").hidden = !filter;
  $("filters").replaceChildren(make("span", { class: "quiet" }, "Filtered by"), ...parts.map((part, at) => make("a", { class: "button small", href: withParams("#search", { ...wanted(), k: "", filter: without(at) }), "aria-label": `Remove the filter ${part}` }, `${part} ✕`)));
}

const hits = () => [...document.querySelectorAll("#results > :first-child .hit")];

// j and k move through the results; the other keys press a button of the focused result.
export function searchKey(event) {
  const current = document.activeElement?.closest?.(".hit");
  if (event.key === "j" || event.key === "k") {
    const all = hits(), at = all.indexOf(current) + (event.key === "j" ? 1 : -1);
    all[Math.min(Math.max(at, 0), all.length - 1)]?.focus();
    return true;
  }
  const pressed = current?.querySelector(`[data-action=${KEYS[event.key]}]`);
  pressed?.click();
  return Boolean(pressed);
}

const nameOf = (found, side) => `version ${found.model}${side.note ? " " + side.note : ""}`;

// Grades that people gave the documents of one judged query, by document; a program's only if no person judged.
async function gradesOf(id) {
  const { judgments } = id ? await ask(withParams("/judgments", { query: id })) : { judgments: [] };
  const graded = judgments.filter((j) => j.grade !== null).sort((a, b) => (b.kind === "program") - (a.kind === "program"));
  return new Map(graded.map((j) => [j.document, j.grade]));
}

function movedInWords([one, other]) {
  if (!other) return "";
  const rankOf = new Map(one.hits.map((hit) => [hit.id, hit.rank])), added = other.hits.filter((hit) => !rankOf.has(hit.id)).length;
  const moved = other.hits.filter((hit) => rankOf.has(hit.id) && rankOf.get(hit.id) !== hit.rank).length;
  return moved || added ? `; on the right ${moved} moved and ${added} are new` : "; both lists are the same";
}

// nDCG@10 of one judged query under the two compared versions, as last measured on the same judgments.
async function scoresOf(id, [first, second]) {
  if (!id || !second || first.model === second.model) return [];
  const against = first.model || (known.active ||= (await ask("/health")).model);
  const { comparison } = await ask(withParams(`/versions/${second.model}`, { against })), found = comparison?.by_query.find((q) => q.id === id);
  return found ? [found.before, found.after] : [];
}

function resultList(found, side, other, otherSide, grades, score) {
  const name = nameOf(found, side), isFirst = !side.second;
  const items = found.hits.map((hit, at) => resultItem(hit, found, side, found.hits[at + 1], other && moved(hit, other, nameOf(other, otherSide), isFirst), grades.get(hit.id)));
  const head = `${name[0].toUpperCase()}${name.slice(1)}${found.model === known.active && !side.note ? " (live)" : ""}`;
  return make("div", {}, other ? make("h3", {}, head, score === undefined ? null : make("span", { class: "quiet score" }, `nDCG@10 ${decimal(score)}`)) : null, make("ol", { class: "hits" }, items));
}

function resultItem(hit, found, side, next, move, grade) {
  const why = make("div", { class: "why", hidden: true }), whole = make("div", { class: "whole", hidden: true });
  const key = `${nameOf(found, side)} ${hit.id}`;
  const choose = (set, otherSet) => () => {
    if (set.has(hit.id)) set.delete(hit.id); else { set.add(hit.id); otherSet.delete(hit.id); }
    go("search", { ...wanted(), like: [...marks.liked], dislike: [...marks.disliked] });
  };
  const asked = { q: found.query, id: hit.id, model: found.model, ...(countsMarks(side) ? { liked: [...marks.liked], disliked: [...marks.disliked] } : {}) };
  const explain = async (against) => {
    const name = against ? "next" : "";
    if (!why.hidden && opened.why.get(key) === name) {
      why.hidden = true;
      opened.why.delete(key);
      opened.why.delete(hit.id);
      go("search", { ...wanted(), why: "" }, true);
    } else {
      opened.why.set(key, name);
      go("search", { ...wanted(), why: hit.id }, true);
      await explainInto(why, asked, against);
    }
    tell();
  };
  const openWhole = async () => {
    if (whole.hidden) await openDocument(whole, hit, key); else { whole.hidden = true; opened.whole.delete(key); }
    tell();
  };
  const action = (name, text, on, more) => button(text, on, { "data-action": name, ...more });
  const mark = (set) => ({ class: set.has(hit.id) ? "chosen" : null, "aria-pressed": String(set.has(hit.id)) });
  const item = make("li", { class: "hit", tabindex: -1, "data-id": hit.id },
    make("h3", {}, make("span", { class: "rank" }, String(hit.rank)), ...titled(hit), grade === undefined ? null : gradeChip(grade), move),
    make("p", { class: "snippet" }, marked(hit.snippet, hit.matches)),
    fieldsOf(hit),
    make("div", { class: "actions" },
      ...(side.filter || side.sort ? [] : [action("like", "Like", choose(marks.liked, marks.disliked), mark(marks.liked)),
        action("dislike", "Dislike", choose(marks.disliked, marks.liked), mark(marks.disliked))]),
      action("why", "Why", () => explain()), next ? action("above", "Why above next", () => explain(next)) : null, action("open", "Full text", openWhole)),
    why, whole);
  const tell = () => {
    const shown = why.hidden ? null : opened.why.get(key) ?? "";
    for (const [name, is] of [["why", shown === ""], ["above", shown === "next"], ["open", !whole.hidden]]) item.querySelector(`[data-action=${name}]`)?.setAttribute("aria-expanded", String(is));
  };
  if (opened.why.has(key) || opened.why.has(hit.id)) explainInto(why, asked, opened.why.get(key) === "next" ? next : undefined).then(tell);
  if (opened.whole.has(key)) openDocument(whole, hit, key).then(tell);
  tell();
  return item;
}

const titled = (hit) => marked(hit.title || hit.id, hit.title ? hit.title_matches : []);

const shortened = (value) => String(value).replace(/^(\d{4}-\d\d-\d\d)T00:00:00(\.0+)?Z?$/, "$1"); // midnight is a day

function fieldsOf(hit) {
  const fields = Object.entries(hit.fields ?? {}).filter(([, value]) => value !== null && !(hit.title ?? "").includes(String(value))).slice(0, 8); // the title is shown already
  if (hit.title && hit.title !== hit.id) fields.unshift(["id", hit.id]);
  return fields.length ? make("dl", { class: "fields" }, fields.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, shortened(value).slice(0, 80))))) : null;
}

// How a result moved from the first list to the second: "to" its rank there, or "from" its rank here.
function moved(hit, other, otherName, isFirst) {
  const rank = other.hits.find((one) => one.id === hit.id)?.rank, title = rank ? `${ordinal(rank)} in ${otherName}` : `not in the first ${other.hits.length} of ${otherName}`;
  const says = (name, text) => make("span", { class: `moved ${name}`, title }, text);
  if (rank === undefined) return isFirst ? says("down", "✕ dropped") : says("new", "✚ new");
  if (rank === hit.rank) return null;
  const up = isFirst === (rank < hit.rank);
  return says(up ? "up" : "down", `${up ? "▲" : "▼"} ${isFirst ? "to" : "from"} ${rank}`);
}

const gradeChip = (grade) => make("span", { class: "chip grade", "data-grade": Math.round(grade) }, `grade ${grade}`);

// Judged documents whose rank differs between the two lists: they are why the measure differs.
function showMoves(lists, sides, grades) {
  const [before, after] = lists.map((list) => new Map(list.hits.map((hit) => [hit.id, hit])));
  const found = after ? [...grades].filter(([id]) => before.get(id)?.rank !== after.get(id)?.rank) : [];
  $("moves").hidden = !found.length;
  if (!found.length) return;
  const rank = (list, id) => list.get(id)?.rank ?? Infinity, best = ([id]) => Math.min(rank(before, id), rank(after, id));
  const shown = (value, list) => (value === Infinity ? `>${list.size}` : value);
  const row = ([id, grade]) => {
    const from = rank(before, id), to = rank(after, id), hit = before.get(id) ?? after.get(id);
    return make("li", {}, gradeChip(grade), make("a", { href: addressOf("search", { ...wanted(), why: id }) }, hit.title || id),
      make("span", { class: `number ${to < from ? "up" : "down"}` }, `${to < from ? "▲" : "▼"} ${shown(from, before)} → ${shown(to, after)}`));
  };
  $("moves").replaceChildren(make("h3", {}, `Judged documents that moved from ${nameOf(lists[0], sides[0])} to ${nameOf(lists[1], sides[1])}`), make("ul", {}, found.sort((a, b) => best(a) - best(b)).map(row)));
}

async function openDocument(box, hit, key) {
  try {
    box.textContent = (await ask("/documents/" + encodeURIComponent(hit.id))).text || "This document has no text.";
    box.hidden = false;
    opened.whole.add(key);
  } catch (error) { say("search-state", error.message, true); }
}
