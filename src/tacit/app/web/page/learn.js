// Learn: the scoreboard of versions, training with its progress, differences by query, curves, rolling back.

import { $, addressOf, agreementInWords, ask, button, chip, confirmed, count, decimal, duration, empty, judgeName, make, say, signed, table, withParams } from "./common.js";
import { differenceBar, intervals } from "./charts.js";

let tellServed = () => {}, clock = null;

export function setUpLearn(tell) {
  tellServed = tell;
  $("train").addEventListener("click", startTraining);
  $("cancel").addEventListener("click", () => ask("/train", undefined, "DELETE").catch((error) => say("train-state", error.message, true)));
}

export async function openLearn() {
  await Promise.all([showJudged(), showVersions(), followTraining()]).catch((error) => say("train-state", error.message, true));
}

async function showJudged() {
  const [{ total, queries }, { judges, unsettled }] = await Promise.all([ask("/judgments?limit=1"), ask("/agreement?limit=0")]);
  $("train").hidden = !total;
  $("train-hint").hidden = Boolean(total);
  if (!total) {
    $("judged").replaceChildren(empty("Nothing is judged yet. ", make("a", { href: "#judge" }, "Judge some documents"), " first."));
    return;
  }
  $("judged").replaceChildren(
    make("p", {}, `${count(total, "judgment")} of ${count(queries, "query", "queries")}`),
    table(["Judge", "Judgments", "Agreement"], judges.map((j) => [judgeName(j), j.n_judgments, agreementInWords(j.people)])),
    ...(unsettled ? [make("p", {}, make("a", { href: addressOf("judge", { settle: 1 }) }, `Settle ${count(unsettled, "disagreement")}`))] : []));
  showChoice(judges.filter((j) => j.n_judgments));
}

// Whose grades to learn from: people's, or one judge's by name. A program can help people, or stand alone if it is named.
function showChoice(judges) {
  const people = judges.filter((j) => j.kind === "person"), programs = judges.filter((j) => j.kind === "program");
  const option = (value, text) => make("option", { value }, text);
  const refill = (id, options) => { const was = $(id).value; $(id).replaceChildren(...options); if (options.some((o) => o.value === was)) $(id).value = was; };
  refill("train-judge", [...(people.length ? [option("", people.length > 1 ? "all people" : people[0].name)] : []),
    ...(people.length > 1 ? people : []).map((j) => option(j.name, j.name)), ...programs.map((j) => option(j.name, `${j.name} (program)`))]);
  refill("train-assist", [option("", "no program"), ...programs.map((j) => option(j.name, j.name))]);
  $("train-choice").hidden = judges.length < 2 && !programs.length;
  const tell = () => {
    const alone = programs.find((j) => j.name === $("train-judge").value);
    $("train-assist").hidden = document.querySelector("label[for=train-assist]").hidden = Boolean(alone) || !programs.length;
    $("train-program").hidden = !alone;
    if (alone) $("train-program").textContent = `${people.length ? "" : "No person has judged yet. "}This learns from the program ${alone.name}, and measures by its grades. No person has checked them, so they prove nothing about what people want.`;
  };
  $("train-judge").onchange = tell;
  tell();
}

const withInterval = (found) => (found ? [make("strong", {}, decimal(found.mean)), make("span", { class: "quiet range" }, ` ${decimal(found.interval[0])} to ${decimal(found.interval[1])}`)] : "not measured");

async function showVersions() {
  const { active, versions } = await ask("/versions");
  const rows = versions.toReversed().map((v) => [
    [make("strong", {}, `Version ${v.version}`), make("span", { class: "quiet block" }, v.label)],
    chip(v.status),
    withInterval(v.measures["nDCG@10"]), withInterval(v.measures.AP), withInterval(v.measures["Judged@10"]),
    v.comparison ? [make("strong", { class: "gain" }, signed(v.comparison.gain)), make("span", { class: "quiet block" }, `${v.comparison.wins} won, ${v.comparison.losses} lost, ${v.comparison.ties} tied`)] : "",
    v.queries || "",
    actionOf(v, active),
  ]);
  const heads = ["Version", "Status", "nDCG@10", "AP", "Judged@10", `Against version ${active}`, "Queries", "Action"];
  $("versions").replaceChildren(table(heads, rows, { id: "scoreboard" }));
  $("board-report").hidden = !versions.some((v) => v.comparison);
  showHistory(versions, active);
  const latest = versions.findLast((v) => v.comparison);
  await showDifferences(latest, active);
  showVerdict(latest?.comparison, versions.findLast((v) => v.verdict)?.verdict);
}

function actionOf(v, active) {
  const report = v.verdict ? [make("a", { href: `/v1/versions/${v.version}/report`, target: "_blank" }, "Report")] : [];
  if (v.version === active) return [make("span", { class: "quiet" }, "live now "), ...report];
  const back = Number(v.version) < Number(active);
  return [button(back ? `Roll back to version ${v.version}` : `Make version ${v.version} live`, () => switchTo(v, active), { class: v.status === "better" ? "main" : null }), " ", ...report];
}

// A version that is not shown to be better goes live only after a question that says so.
async function switchTo(v, active) {
  const why = { worse: `Version ${v.version} is worse than version ${active}: ${v.comparison?.text ?? ""}`, unproven: v.comparison?.text ?? `Version ${v.version} has not been compared with version ${active} on the same judgments.`,
    "no difference shown": v.comparison?.text, identical: v.comparison?.text }[v.status];
  const back = Number(v.version) < Number(active);
  if (!back && why && !(await confirmed(`Make version ${v.version} live?`, why, `Make version ${v.version} live`))) return;
  try { await ask("/versions", { version: v.version, confirm: true }); await showVersions(); await tellServed(); } catch (error) { say("train-state", error.message, true); }
}

function showVerdict(comparison, verdict) {
  $("verdict").hidden = !comparison;
  if (comparison) $("verdict").replaceChildren(chip(comparison.status), make("p", {}, comparison.text));
  const curve = verdict?.curve ?? [];
  $("curve").hidden = curve.length < 2;
  if (curve.length >= 2) {
    const points = curve.map((p) => ({ at: p.queries, name: p.queries, mean: p.mean, interval: p.interval }));
    $("curve").replaceChildren(intervals(points, { title: "Learning curve", scaled: true }), make("figcaption", { class: "quiet" }, `${verdict.measure} of version ${verdict.version} by the number of judged queries, with 95 % intervals`));
  }
}

function showHistory(versions, active) {
  const points = versions.filter((v) => v.measures["nDCG@10"]).map((v) => ({ at: Number(v.version), name: `version ${v.version}`, strong: v.version === active, ...v.measures["nDCG@10"] }));
  $("history").hidden = points.length < 2;
  if (points.length >= 2) $("history").replaceChildren(intervals(points, { title: "nDCG@10 by version" }), make("figcaption", { class: "quiet" }, "nDCG@10 of each version when it was last measured, with 95 % intervals; the large point is live"));
}

async function showDifferences(latest, active) {
  $("differences").hidden = !latest;
  if (!latest) return;
  const { comparison } = await ask(withParams(`/versions/${latest.version}`, { against: active }));
  const rows = comparison.by_query.map((q) => ({ ...q, gain: q.after - q.before })).sort((a, b) => b.gain - a.gain);
  const largest = Math.max(...rows.map((q) => Math.abs(q.gain)), 1e-9);
  const row = (q) => make("a", { class: "bar-row", href: addressOf("search", { q: q.text, model: active, vs: latest.version }) }, make("span", { class: "name" }, q.text || q.id), differenceBar(q.gain, largest),
    make("span", { class: "number" }, signed(q.gain)));
  $("differences").replaceChildren(make("h3", {}, `Version ${latest.version} against version ${active}, by query`),
    make("p", { class: "quiet" }, `Difference in ${comparison.measure}; right of the middle version ${latest.version} is better. A query opens its results side by side.`), make("div", { class: "bars" }, rows.map(row)));
}

async function startTraining() {
  const alone = $("train-assist").hidden;
  const body = { judge: $("train-judge").value || null, assist: (!alone && $("train-assist").value) || null };
  try { await ask("/train", body); await followTraining(); } catch (error) { say("train-state", error.message, true); }
}

const isRunning = (state) => state.state === "running" || state.state === "cancelling";

async function followTraining() {
  const state = await ask("/train");
  showTraining(state);
  if (!isRunning(state)) return;
  const events = new EventSource("/v1/train/events");
  events.onmessage = (event) => {
    const found = JSON.parse(event.data);
    showTraining(found);
    if (!isRunning(found)) { events.close(); showVersions(); tellServed(); }
  };
  events.onerror = () => { events.close(); };
}

function showTraining(state) {
  const running = isRunning(state), from = performance.now();
  $("train").disabled = running;
  $("training").hidden = !running;
  clearInterval(clock);
  say("train-state", state.message ?? "", state.state === "failed");
  $("train-used").textContent = usedInWords(state.used);
  const assist = state.verdict?.assist;
  $("train-assisted").textContent = assist ? `${assist.text[0].toUpperCase()}${assist.text.slice(1)}.` : "";
  if (!running) return;
  if (state.total) { $("train-bar").max = state.total; $("train-bar").value = state.done; } else $("train-bar").removeAttribute("value");
  const tick = () => {
    const since = (performance.now() - from) / 1000;
    const left = state.seconds_left === null ? "" : `, about ${duration(state.seconds_left - since)} left`;
    $("train-time").textContent = `${duration(state.elapsed + since)} elapsed${left}`;
  };
  tick();
  clock = setInterval(tick, 1000);
}

function usedInWords(used) {
  if (!used) return "";
  const reasons = Object.entries(used.left_out).map(([reason, n]) => `${n} ${reason}`);
  return `Uses ${count(used.queries, "query", "queries")} of ${used.judged} judged${reasons.length ? `: ${reasons.join(", ")}` : ""}${used.program ? `, with the grades of the program ${used.program}` : ""}.`;
}
