// Judge: one document at a time, by keys.

import { $, ask, keep, kept, make, marked, say } from "./common.js";

const GRADES = ["Not relevant", "On the topic", "Answers in part", "Answers fully"];
const judging = { current: null, ahead: null, done: [], count: 0 };

export function openJudge() {
  $("judge-name").value ||= kept("judge", "");
  $("guidelines").value ||= kept("guidelines", "");
  if (!judging.current) $("judge-name").focus();
}

const nextPath = (more) => "/next?" + new URLSearchParams({ judge: $("judge-name").value, purpose: $("purpose").value, ...more });

export async function startJudging(event) {
  event.preventDefault();
  if (kept("judge", "") !== $("judge-name").value) judging.done = []; // another judge takes back only what is his
  keep("judge", $("judge-name").value);
  judging.ahead = null;
  $("main").focus();
  await nextDocument();
}

async function nextDocument() {
  const ahead = judging.ahead;
  judging.ahead = null;
  try {
    let found = await ahead?.catch(() => null); // the service may have been away when it was asked for
    if (!found) {
      found = await ask(nextPath());
      judging.count = found.progress.judged; // that of one asked for ahead would be one behind
    }
    showDocument(found);
    // The next document is asked for while this one is read, so that it is there at once.
    if (!found.finished) {
      judging.ahead = ask(nextPath({ after: found.ticket }));
      judging.ahead.catch(() => {});
    }
  } catch (error) { say("judge-state", error.message, true); }
}

function showDocument(found) {
  judging.current = found.finished ? null : found;
  $("card").hidden = found.finished;
  $("judge-intro").hidden = !found.finished;
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

export function showGrades() {
  const button = (text, key, on) => make("button", { type: "button", onclick: on }, make("kbd", {}, key), " " + text);
  $("grades").replaceChildren(
    ...GRADES.map((text, grade) => button(text, String(grade), () => judge(grade))),
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

export async function undo() {
  const last = judging.done.pop();
  if (!last) return;
  try {
    await ask("/judgments/withdraw", { query: last.query.id, document: last.document.id, judge: $("judge-name").value });
    judging.ahead = null;
    judging.count -= 1;
    showDocument(last);
  } catch (error) { judging.done.push(last); say("judge-state", error.message, true); }
}

export function judgeKey(event) {
  const actions = { c: () => judge(null), s: skip, u: undo, o: () => { $("card-whole").open = !$("card-whole").open; } };
  const action = event.key.trim() && GRADES[event.key] ? () => judge(Number(event.key)) : actions[event.key];
  action?.();
  return Boolean(action);
}
