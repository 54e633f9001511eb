// Judge: one document at a time by keys, all documents of one query together, or disagreements of judges; own judgments,
// guidelines, agreement.

import { $, addressOf, agreementInWords, ask, button, count, empty, go, judgeName, keep, kept, make, marked, place, say, table, withParams } from "./common.js";

const GRADES = ["Not relevant", "On the topic", "Answers in part", "Answers fully"];
const DEPTH = 10; // documents of one query
const MINE = 50; // own judgments shown at once
const judging = { judge: "", current: null, ahead: null, done: [], count: 0, whole: false }; // whole: show full documents, until one is closed

export function setUpJudge() {
  const name = (text, key, on) => button([make("kbd", {}, key), " " + text], on);
  $("grades").replaceChildren(...GRADES.map((text, grade) => gradeButton(text, grade, () => judge(grade))), name("Cannot judge", "c", () => judge(null)), name("Skip", "s", skip));
  $("judge-form").addEventListener("submit", startJudging);
  $("undo").addEventListener("click", undo);
  $("card-whole").addEventListener("toggle", () => { judging.whole = $("card-whole").open; });
  $("judge-name").addEventListener("input", () => { if (judging.judge && $("judge-name").value !== judging.judge) say("judge-state", `Still judging as ${judging.judge}. Press Start to judge as someone else.`); });
  $("judge-query").addEventListener("change", () => go("judge", { query: $("judge-query").value }));
  $("next-query").addEventListener("click", () => {
    const select = $("judge-query");
    if (select.length) go("judge", { query: select.options[(select.selectedIndex + 1) % select.length].value });
  });
  $("mine").addEventListener("toggle", () => { if ($("mine").open) showMine(); });
  $("goal").value = kept("goal", "100");
  $("goal").addEventListener("change", () => { keep("goal", String(goal())); showProgress(); });
  $("guidelines").addEventListener("change", async () => {
    try { await ask("/guidelines", { text: $("guidelines").value }, "PUT"); say("guidelines-state", "Saved for all judges."); } catch (error) { say("guidelines-state", error.message, true); }
  });
}

const gradeButton = (text, grade, on, more) => button([make("kbd", {}, String(grade)), " " + text], on, { "data-grade": grade, ...more });

export async function openJudge(params) {
  $("judge-name").value ||= judging.judge || kept("judge", "");
  const query = params.get("query");
  const settling = params.has("settle");
  $("judge-mode").value = settling ? "settle" : query === null ? "mixed" : "query";
  showAgreement();
  try {
    const { text } = await ask("/guidelines");
    if (document.activeElement !== $("guidelines")) $("guidelines").value = text;
  } catch (error) { say("guidelines-state", error.message, true); }
  $("settling").hidden = !settling;
  if (settling) { $("card").hidden = $("judge-intro").hidden = $("by-query").hidden = true; await showUnsettled(); return; }
  const asked = query !== null && judging.judge;
  $("by-query").hidden = !asked;
  if (asked) { $("card").hidden = $("judge-intro").hidden = true; await showQuery(query); return; }
  $("card").hidden = !judging.current;
  $("judge-intro").hidden = Boolean(judging.current);
  if (!judging.judge) $("judge-name").focus();
}

const nextPath = (more) => withParams("/next", { judge: judging.judge, purpose: $("purpose").value, ...more });

async function startJudging(event) {
  event.preventDefault();
  const name = $("judge-name").value.trim();
  if (judging.judge !== name) judging.done = []; // another judge can undo only their own judgments
  judging.judge = name; // judgments are credited to this name until Start is pressed again
  keep("judge", name);
  judging.ahead = null;
  $("mine").open = false;
  $("judge-as").textContent = `Judging as ${name}`;
  if (matchMedia("(max-width: 46rem)").matches) $("judge-setup").open = false;
  $("main").focus();
  if ($("judge-mode").value === "settle") {
    if (!go("judge", { settle: 1 })) openJudge(place().params);
    return;
  }
  if ($("judge-mode").value === "query") {
    const query = place().params.get("query") ?? $("judge-query").value;
    if (!go("judge", { query: query || "first" })) openJudge(place().params);
    return;
  }
  go("judge", {}, true);
  $("by-query").hidden = $("settling").hidden = true;
  await nextDocument();
}

async function nextDocument() {
  const ahead = judging.ahead;
  judging.ahead = null;
  try {
    let found = await ahead?.catch(() => null); // the service may have been unavailable when it was prefetched
    if (!found) {
      found = await ask(nextPath());
      judging.count = found.progress.judged; // a prefetched count would be one behind
    }
    showDocument(found);
    // The next document is fetched while this one is read, so that it appears immediately.
    if (!found.finished) {
      judging.ahead = ask(nextPath({ after: found.ticket }));
      judging.ahead.catch(() => {});
    }
  } catch (error) { say("judge-state", error.message, true); }
}

const goal = () => Math.max(1, Math.round(Number($("goal").value)) || 1);

function showProgress() {
  $("judge-progress").max = goal();
  $("judge-progress").value = Math.min(judging.count, goal());
  $("judge-progress").hidden = !judging.judge;
}

const countInWords = () => `${judging.count} judged by you, goal ${goal()}${judging.count >= goal() ? " (reached)" : ""}`;

function showDocument(found) {
  judging.current = found.finished ? null : found;
  $("card").hidden = found.finished;
  $("judge-intro").hidden = !found.finished;
  $("undo").disabled = !judging.count;
  if (found.finished) { showProgress(); say("judge-state", `${countInWords()}. ${found.reason}`); return; }
  const { query, document: doc } = found;
  $("card-query").textContent = query.text || query.id;
  $("card-title").textContent = doc.title || doc.id;
  $("card-excerpt").replaceChildren(...marked(doc.snippet, doc.matches));
  $("card-text").textContent = doc.text;
  $("card-whole").open = judging.whole;
  const rank = $("hide-rank").checked || found.rank === null ? "" : `, found at rank ${found.rank}`;
  showProgress();
  say("judge-state", `${countInWords()}${rank}`);
  $("card").scrollIntoView({ block: "nearest" });
}

async function judge(grade) {
  const { current } = judging;
  if (!current) return;
  judging.current = null; // a second key press must not judge twice
  const body = { query: current.query.id, document: current.document.id, grade, judge: judging.judge, ticket: current.ticket };
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

// After a reload the last judgment is looked up, so that it can be undone too.
async function undo() {
  const last = isMixed() ? judging.done.pop() : undefined;
  try {
    if (last) {
      await ask("/judgments/withdraw", { query: last.query.id, document: last.document.id, judge: judging.judge });
      judging.ahead = null;
      judging.count -= 1;
      showDocument(last);
      return;
    }
    const { judgments: [newest] } = await ask(withParams("/judgments", { judge: judging.judge, newest: true, limit: 1 }));
    if (!newest) return;
    await ask("/judgments/withdraw", { query: newest.query, document: newest.document, judge: judging.judge });
    judging.ahead = null;
    judging.done = judging.done.filter((pair) => pair.query.id !== newest.query || pair.document.id !== newest.document);
    if (isMixed()) await nextDocument(); else await openJudge(place().params);
  } catch (error) { if (last) judging.done.push(last); say("judge-state", error.message, true); }
}

const isMixed = () => $("by-query").hidden && $("settling").hidden; // one document at a time

async function showQuery(id) {
  try {
    $("undo").disabled = false;
    const { queries } = await ask("/queries");
    $("judge-query").replaceChildren(...queries.filter((q) => q.text).map((q) => make("option", { value: q.id }, `${q.text} (${q.judged})`)));
    const query = queries.find((q) => q.id === id) ?? queries.find((q) => q.text);
    if (!query) { $("query-cards").replaceChildren(empty("There are no queries yet. ", make("a", { href: "#queries" }, "Add some"), " first.")); return; }
    $("judge-query").value = query.id;
    const [{ hits }, { judgments }] = await Promise.all([ask(withParams("/search", { q: query.text, k: DEPTH })), ask(withParams("/judgments", { judge: judging.judge, query: query.id }))]);
    const graded = new Map(judgments.map((j) => [j.document, j.grade]));
    const order = $("hide-rank").checked ? hits.toSorted((a, b) => (a.id < b.id ? -1 : 1)) : hits; // the order does not reveal ranks
    const tell = () => {
      const done = hits.filter((hit) => graded.has(hit.id)).length;
      $("judge-progress").max = hits.length || 1; $("judge-progress").value = done; $("judge-progress").hidden = false;
      say("judge-state", `${done} of ${count(hits.length, "document")} judged for this query`);
    };
    $("query-cards").replaceChildren(...order.map((hit) => queryCard(query, hit, graded, tell)));
    tell();
  } catch (error) { say("judge-state", error.message, true); }
}

function wholeOf(id) {
  const text = make("p", { class: "whole" });
  const open = async (event) => { if (event.target.open && !text.textContent) text.textContent = (await ask("/documents/" + encodeURIComponent(id)).catch((error) => ({ text: error.message }))).text || "This document has no text."; };
  return make("details", { ontoggle: open }, make("summary", {}, "Whole document"), text);
}

// Buttons of the grades of one pair; the chosen one withdraws the grade. `graded` has the grades by document.
function gradesOf(pair, title, graded, after, more = {}) {
  const grades = make("div", { class: "grades", role: "group", "aria-label": `Grade of ${title}` });
  const chosen = (grade) => ({ class: graded.get(pair.document) === grade ? "chosen" : null, "aria-pressed": String(graded.get(pair.document) === grade) });
  const show = () => grades.replaceChildren(...GRADES.map((text, grade) => gradeButton(text, grade, () => set(grade), chosen(grade))), button([make("kbd", {}, "c"), " Cannot judge"], () => set(null), { "data-grade": "c", ...chosen(null) }));
  const set = async (grade) => {
    if (!judging.judge) { say("judge-state", "Enter your name and press Start first: every judgment has a judge.", true); $("judge-name").focus(); return; }
    try {
      const body = { ...pair, judge: judging.judge };
      if (graded.has(pair.document) && graded.get(pair.document) === grade) { await ask("/judgments/withdraw", body); graded.delete(pair.document); }
      else { await ask("/judgments", { ...body, ...more, grade }); graded.set(pair.document, grade); }
      show(); after();
      grades.closest("article").focus(); // the pressed button was replaced
    } catch (error) { say("judge-state", error.message, true); }
  };
  show();
  return grades;
}

function queryCard(query, hit, graded, tell) {
  return make("article", { class: "card", tabindex: -1 }, make("h4", {}, hit.title || hit.id), make("p", { class: "excerpt" }, marked(hit.snippet, hit.matches)), wholeOf(hit.id),
    gradesOf({ query: query.id, document: hit.id }, hit.title || hit.id, graded, tell));
}

async function showUnsettled() {
  try {
    const found = await ask("/agreement");
    const kinds = new Map(found.judges.map((judge) => [judge.name, judge]));
    const decided = new Set();
    const tell = (key, is) => {
      if (is) decided.add(key); else decided.delete(key);
      say("judge-state", found.unsettled ? `${found.unsettled - decided.size} of ${count(found.unsettled, "disagreement")} to settle` : "Judges agree on all documents that a person judged too.");
    };
    $("settle-cards").replaceChildren(...found.disagreements.map((entry) => unsettledCard(entry, kinds, tell)),
      ...(found.disagreements.length ? [] : [empty("There is nothing to settle.")]));
    tell();
  } catch (error) { say("judge-state", error.message, true); }
}

function unsettledCard(entry, kinds, tell) {
  const key = JSON.stringify([entry.query, entry.document]), graded = new Map(), title = entry.title || entry.document;
  const state = make("p", { class: "quiet", role: "status" });
  const grades = entry.grades.map(({ judge, grade }) => make("li", {}, make("strong", {}, String(grade)), " ", judgeName(kinds.get(judge)),
    make("span", { class: "quiet" }, ` ${GRADES[grade] ?? ""}${kinds.get(judge).kind === "program" ? `; ${agreementInWords(kinds.get(judge).people)}` : ""}`)));
  const after = () => {
    const is = graded.has(entry.document);
    state.textContent = is ? `Decided by ${judging.judge}. Press the chosen grade again to withdraw the decision.` : "";
    tell(key, is);
  };
  return make("article", { class: "card", tabindex: -1, "data-document": entry.document }, make("p", { class: "quiet" }, "Query"), make("h3", {}, entry.text || entry.query), make("h4", {}, title),
    make("p", { class: "excerpt" }, marked(entry.snippet, entry.matches)), wholeOf(entry.document), make("ul", { class: "judges" }, grades),
    gradesOf({ query: entry.query, document: entry.document }, title, graded, after, { decision: true }), state);
}

async function showMine(limit = MINE) {
  try {
    const { judgments, total } = await ask(withParams("/judgments", { judge: judging.judge || $("judge-name").value, newest: true, limit }));
    const change = (record) => make("select", { "aria-label": `Grade of ${record.document} for ${record.text}`, onchange: async (event) => {
      const value = event.target.value;
      try {
        const pair = { query: record.query, document: record.document, judge: record.judge };
        if (value === "withdraw") await ask("/judgments/withdraw", pair); else await ask("/judgments", { ...pair, grade: value === "" ? null : Number(value) });
        showMine(limit);
      } catch (error) { say("judge-state", error.message, true); }
    } }, GRADES.map((text, grade) => make("option", { value: grade, selected: record.grade === grade }, `${grade} ${text}`)), make("option", { value: "", selected: record.grade === null }, "Cannot judge"), make("option", { value: "withdraw" }, "Withdraw"));
    $("mine-list").replaceChildren(judgments.length ? make("ul", { class: "mine" }, judgments.map((record) => make("li", {}, make("a", { class: "plain-link", href: addressOf("search", { q: record.text }) }, record.text || record.query), make("span", { class: "quiet block" }, record.document), change(record)))) : empty("You have not judged anything yet."),
      ...(judgments.length < total ? [button(`Show ${Math.min(MINE, total - judgments.length)} older`, () => showMine(limit + MINE), { class: "small" })] : []));
  } catch (error) { say("judge-state", error.message, true); }
}

async function showAgreement() {
  try {
    const found = await ask("/agreement?limit=0"), kinds = new Map(found.judges.map((judge) => [judge.name, judge]));
    const kappa = (value) => (value === null ? "not defined" : value.toFixed(2));
    $("judges").replaceChildren(found.judges.length ? make("ul", { class: "judges" }, found.judges.map((judge) => make("li", {}, judgeName(judge),
      make("span", { class: "quiet block" }, `${count(judge.n_judgments, "judgment")}${found.judges.length > 1 ? `; ${agreementInWords(judge.people)}` : ""}`)))) : empty("No one has judged yet."),
      ...(found.unsettled ? [make("p", {}, make("a", { href: addressOf("judge", { settle: 1 }) }, `Settle ${count(found.unsettled, "disagreement")}`))] : []));
    $("agreement-list").replaceChildren(found.pairs.length ? table(["Judges", "Both", "Same", "Kappa"],
      found.pairs.map((p) => [[judgeName(kinds.get(p.first)), ", ", judgeName(kinds.get(p.second))], p.both, `${Math.round(100 * p.same)} %`, kappa(p.kappa)])) : empty("No two judges have judged the same document yet."));
  } catch (error) { say("judge-state", error.message, true); }
}

// Where cards are shown together, j and k move through them, and the other keys press a button of the focused card.
function cardKey(key) {
  const cards = [...document.querySelectorAll(".judging article.card")].filter((card) => card.checkVisibility()), current = document.activeElement?.closest?.("article.card");
  if (key === "j" || key === "k") {
    cards[Math.min(Math.max(cards.indexOf(current) + (key === "j" ? 1 : -1), 0), cards.length - 1)]?.focus();
    return true;
  }
  const pressed = key === "u" ? $("undo") : key === "n" && $("settling").hidden ? $("next-query") : key === "o" ? current?.querySelector("summary") : current?.querySelector(`[data-grade="${CSS.escape(key)}"]`);
  pressed?.click();
  return Boolean(pressed);
}

export function judgeKey(event) {
  if (!isMixed()) return cardKey(event.key);
  const actions = { c: () => judge(null), s: skip, u: undo, o: () => { $("card-whole").open = !$("card-whole").open; } };
  const action = event.key.trim() && GRADES[event.key] ? () => judge(Number(event.key)) : actions[event.key];
  action?.();
  return Boolean(action);
}
