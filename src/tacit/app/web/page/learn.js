// Learn: the scoreboard of versions, training with its progress, differences by query, curves, rolling back.

import { $, addressOf, agreementInWords, ask, button, chip, confirmed, count, decimal, duration, empty, judgeName, make, place, say, signed, table, withParams } from "./common.js";
import { differenceBar, forest, intervals, tally, waterfall } from "./charts.js";

const MEASURES = ["nDCG@10", "AP", "Judged@10"];
const N_BARS = 24; // maximum number of differences shown together: half of them gains, half losses
const SECONDS_AGAIN = 3; // before a lost connection is tried again
let tellServed = () => {}, clock = null, events = null;

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
    $("judged").replaceChildren(empty("There are no judgments yet. ", make("a", { href: "#judge" }, "Judge some documents"), " first."));
    return;
  }
  $("judged").replaceChildren(
    make("p", {}, `${count(total, "judgment")} of ${count(queries, "query", "queries")}`),
    table(["Judge", "Judgments", "Agreement"], judges.map((j) => [judgeName(j), j.n_judgments, judges.length > 1 ? agreementInWords(j.people) : "the only judge so far"])),
    ...(unsettled ? [make("p", {}, make("a", { href: addressOf("judge", { settle: 1 }) }, `Settle ${count(unsettled, "disagreement")}`))] : []));
  showChoice(judges.filter((j) => j.n_judgments));
}

// Grades to train on: people's, or one judge's by name. A program's grades can be added to people's, or used alone by name.
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
    if (alone) $("train-program").textContent = `${people.length ? "" : "No person has judged yet. "}Training and measuring use only grades of the program ${alone.name}. No person has checked them, so they prove nothing about what people want.`;
  };
  $("train-judge").onchange = tell;
  tell();
}

// The mean, its interval as numbers and as a line on the axis of all versions.
function withInterval(found, all, reason) {
  if (!found) return make("span", { class: "quiet", title: reason }, "not measured");
  const low = Math.min(...all.map((one) => one.interval[0])), high = Math.max(...all.map((one) => one.interval[1]));
  return [make("strong", {}, decimal(found.mean)), all.length > 1 ? forest(found, low, high) : null, make("span", { class: "quiet range" }, ` ${decimal(found.interval[0])} to ${decimal(found.interval[1])}`)];
}

const tallied = (c) => make("div", { class: "tally" }, tally(c), make("span", { class: "quiet" }, `${c.wins} won, ${c.losses} lost, ${c.ties} tied`));
const towards = (gain) => (Math.abs(gain) < 5e-4 ? "" : gain > 0 ? "up" : "down");

async function showVersions() {
  const board = await ask("/versions"), live = board.versions.find((v) => v.version === board.active);
  await showBoard(board);
  if (live.measures[MEASURES[0]]) return;
  const now = await ask(`/versions/${live.version}/measures`); // a score to start from, before any training
  const by = now.program ? `, judged by the program ${now.program}` : "";
  Object.assign(live, { measures: now.measures, queries: now.queries, label: live.label + by, reason: now.reason });
  await showBoard(board);
}

async function showBoard({ active, versions }) {
  const asked = place().params.get("version");
  const shown = versions.find((v) => v.version === asked && v.comparison) ?? versions.findLast((v) => v.comparison);
  const rows = versions.toReversed().map((v) => [
    [make("strong", {}, `Version ${v.version}`), make("span", { class: "quiet block" }, v.label, v.verdict?.time ? [", ", make("span", { class: "day" }, dayOf(v.verdict.time))] : "")],
    chip(v.status),
    ...MEASURES.map((measure) => withInterval(v.measures[measure], versions.map((other) => other.measures[measure]).filter(Boolean), v.reason)),
    v.comparison ? [make("strong", { class: `gain ${towards(v.comparison.gain)}` }, signed(v.comparison.gain)), tallied(v.comparison)] : "",
    v.queries || "",
    actionOf(v, active, shown),
  ]);
  const heads = ["Version", "Status", ...MEASURES, `Against version ${active}`, "Queries", "Action"];
  $("versions").replaceChildren(table(heads, rows, { id: "scoreboard" }));
  if (versions.length > 2 && shown) $("scoreboard").tBodies[0].rows[versions.toReversed().indexOf(shown)].classList.add("chosen");
  $("board-report").hidden = !versions.some((v) => v.comparison);
  showVerdict(shown, active);
  const { verdict } = versions.find((v) => v === shown && v.verdict) ?? versions.findLast((v) => v.verdict) ?? {}, measured = versions.filter((v) => v.measures[MEASURES[0]]);
  $("curve").hidden = (verdict?.curve ?? []).length < 2;
  $("history").hidden = measured.length < 2; // first, because charts are drawn in the width that they get together
  if (!$("curve").hidden) showCurve(verdict);
  if (!$("history").hidden) showHistory(measured, active);
  await showDifferences(shown, active);
}

const dayOf = (time) => new Date(time).toLocaleString("en", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false });

function switchButton(v, active, more) {
  const back = Number(v.version) < Number(active);
  return button(back ? `Roll back to version ${v.version}` : `Make version ${v.version} live`, () => switchTo(v, active), more);
}

function actionOf(v, active, shown) {
  const link = (text, href, more = {}) => make("a", { class: "button small", href, ...more }, text);
  const report = v.verdict ? [link("Report", `/v1/versions/${v.version}/report`, { target: "_blank" })] : [];
  if (v.version === active) return make("span", { class: "actions" }, make("span", { class: "quiet" }, "live now"), report);
  return make("span", { class: "actions" }, switchButton(v, active), v.comparison && v !== shown ? link("By query", addressOf("learn", { version: v.version })) : null, report);
}

// A version without proof of a gain goes live only after a confirmation that says so.
async function switchTo(v, active) {
  const why = { worse: `Version ${v.version} is worse than version ${active}: ${v.comparison?.text ?? ""}`, unproven: v.comparison?.text ?? `Version ${v.version} has not been compared with version ${active} on the same judgments.`,
    "no difference shown": v.comparison?.text, identical: v.comparison?.text }[v.status];
  const back = Number(v.version) < Number(active);
  if (!back && why && !(await confirmed(`Make version ${v.version} live?`, why, `Make version ${v.version} live`))) return;
  try { await ask("/versions", { version: v.version, confirm: true }); await showVersions(); await tellServed(); } catch (error) { say("train-state", error.message, true); }
}

function showVerdict(shown, active) {
  const c = shown?.comparison;
  $("verdict").hidden = !c;
  if (!c) return;
  const [low, high] = c.interval, far = Math.max(Math.abs(low), Math.abs(high), 1e-9), better = c.status === "better"; // the button has the advice then
  $("verdict").dataset.status = c.status;
  $("verdict").replaceChildren(
    make("div", {}, make("span", { class: "quiet" }, `${c.measure}, version ${c.version} against ${active}`), make("div", { class: `amount ${towards(c.gain)}` }, signed(c.gain)),
      forest({ mean: c.gain, interval: c.interval }, -far, far, { zero: true, name: "forest" }), make("span", { class: "quiet block" }, `95% interval ${signed(low)} to ${signed(high)}`), tallied(c)),
    make("div", {}, chip(c.status), make("h3", {}, c.headline), make("p", { class: "quiet" }, [count(c.queries, "judged query", "judged queries"), c.reason].filter(Boolean).join("; ")),
      make("p", {}, better ? c.advice.replace(/^[^.]*\. ?/, "") : c.advice), better ? make("div", { class: "bar" }, switchButton(shown, active, { class: "main" })) : null));
}

function contentWidth(id) {
  const { paddingLeft, paddingRight } = getComputedStyle($(id));
  return Math.max(240, $(id).clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
}

function showCurve(verdict) {
  const points = verdict.curve.map((p) => ({ at: p.queries, name: p.queries, mean: p.mean, interval: p.interval })), [before, last] = points.slice(-2);
  const needed = verdict.more_queries && verdict.status === "no difference shown" ? ` About ${count(verdict.more_queries, "more judged query", "more judged queries")} would show a difference of 0.02 as significant.` : "";
  $("curve").replaceChildren(make("h3", {}, "Would more judgments help?"), intervals([points], { title: "Learning curve", width: contentWidth("curve") }),
    make("figcaption", { class: "quiet" }, `${verdict.measure} of version ${verdict.version} by the number of judged queries it learns from, with 95% intervals`),
    make("p", {}, `From ${before.at} to ${last.at} judged queries: ${signed(last.mean - before.mean)}.${needed}`));
}

function showHistory(measured, active) {
  const times = measured.map((v) => new Date(v.saved)), oneDay = new Set(times.map((time) => time.toDateString())).size < 2;
  const when = (time) => (oneDay ? time.toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false }) : time.toLocaleDateString("en", { day: "numeric", month: "short" }));
  const points = (measure) => measured.map((v, i) => ({ at: times[i].getTime(), name: `version ${v.version}`, note: when(times[i]), strong: v.version === active, ...v.measures[measure] }));
  $("history").replaceChildren(make("h3", {}, "Measures over time"), intervals([points("nDCG@10"), points("AP")], { title: "nDCG@10, then AP, by version", width: contentWidth("history"), from: Math.min(...times), gap: 64 }),
    make("p", { class: "quiet legend" }, make("span", {}, "nDCG@10"), make("span", {}, "AP")), make("figcaption", { class: "quiet" }, "Versions by the time when they were trained, each as it was last measured, with 95% intervals; the large points are live"));
}

async function showDifferences(shown, active) {
  $("differences").hidden = !shown;
  if (!shown) return;
  const { comparison } = await ask(withParams(`/versions/${shown.version}`, { against: active }));
  const rows = comparison.by_query.map((q) => ({ ...q, gain: q.after - q.before })).sort((a, b) => b.gain - a.gain);
  $("verdict").querySelector(".by-query")?.remove();
  $("verdict").append(make("div", { class: "by-query" }, waterfall(rows.map((q) => q.gain)), make("span", { class: "quiet" }, "each bar is a query")));
  const largest = Math.max(...rows.map((q) => Math.abs(q.gain)), 1e-9);
  const row = (q) => make("a", { class: "bar-row", href: addressOf("search", { q: q.text, model: active, vs: shown.version, judged: q.id }) }, make("span", { class: "name", title: q.text }, q.text || q.id), differenceBar(q.gain, largest),
    make("span", { class: "number quiet" }, `${decimal(q.before)} → ${decimal(q.after)}`), make("span", { class: `number ${towards(q.gain)}` }, signed(q.gain)));
  const bars = make("div", { class: "bars" }), all = button(`Show all ${rows.length} queries`, () => show(rows));
  const show = (some) => { bars.replaceChildren(...some.map(row)); all.hidden = some.length === rows.length; };
  show(rows.length > N_BARS ? [...rows.slice(0, N_BARS / 2), ...rows.slice(-N_BARS / 2)] : rows);
  $("differences").replaceChildren(make("h3", {}, `Version ${shown.version} against version ${active}, by query`),
    make("p", { class: "quiet" }, `Difference in ${comparison.measure}; right of the middle version ${shown.version} is better.${rows.length > N_BARS ? " The largest gains and losses come first." : ""} A query opens its results side by side.`), bars, all);
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
  events?.close(); // one stream for all visits of this view: browsers open few connections to one host
  if (!isRunning(state)) return;
  const stream = events = new EventSource("/v1/train/events");
  let judged = Boolean(state.verdict);
  stream.onmessage = (event) => {
    const found = JSON.parse(event.data), ended = !isRunning(found);
    showTraining(found);
    if (ended) stream.close();
    if (ended || Boolean(found.verdict) !== judged) { showVersions(); tellServed(); } // the verdict comes before the learning curve
    judged = Boolean(found.verdict);
  };
  stream.onerror = () => { // the service may have been restarted: the state is asked for until it responds
    stream.close();
    clearInterval(clock);
    if (stream !== events) return;
    $("train-time").textContent = "Connection lost; trying again";
    setTimeout(() => { if (stream === events) followTraining().then(showVersions).catch(() => stream.onerror()); }, 1000 * SECONDS_AGAIN);
  };
}

function showTraining(state) {
  const running = isRunning(state), from = performance.now();
  $("train").disabled = running;
  $("training").hidden = !running;
  clearInterval(clock);
  say("train-state", running ? "" : state.message ?? "", state.state === "failed");
  const now = state.stages.indexOf(state.message);
  $("train-stages").replaceChildren(...(now < 0 ? [make("li", { "aria-current": "step" }, state.message)] : state.stages.map((name, at) =>
    make("li", { class: at < now ? "done" : null, "aria-current": at === now ? "step" : null }, name, at === now && state.total ? ` (${state.done} of ${state.total} fits)` : ""))));
  $("cancel").textContent = state.verdict ? "Stop here" : "Cancel";
  $("train-used").textContent = usedInWords(state.used);
  const assist = state.verdict?.assist;
  $("train-assisted").textContent = assist ? `${assist.text[0].toUpperCase()}${assist.text.slice(1)}.` : "";
  if (!running) return;
  if (state.total) { $("train-bar").max = state.total; $("train-bar").value = state.done; } else $("train-bar").removeAttribute("value");
  const tick = () => {
    const since = (performance.now() - from) / 1000;
    const seconds = state.seconds_left === null ? 0 : Math.round(state.seconds_left - since);
    const left = seconds > 0 ? `, about ${duration(seconds)} left` : "";
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
