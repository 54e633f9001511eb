// Learn: what is judged, training, the verdict, versions.

import { $, ask, count, empty, make, say, table } from "./common.js";

let tellServed = () => {};

export function setUpLearn(tell) { tellServed = tell; }

export async function openLearn() {
  await Promise.all([showJudged(), showVersions(), followTraining()]).catch((error) => say("train-state", error.message, true));
}

async function showJudged() {
  const { judgments, judges } = await ask("/judgments");
  const queries = new Set(judgments.map((record) => record.query));
  $("train").hidden = !judgments.length;
  $("train-hint").hidden = Boolean(judgments.length);
  if (!judgments.length) {
    $("judged").replaceChildren(empty("Nothing is judged yet. ", make("a", { href: "#judge" }, "Judge some documents"), " first."));
    return;
  }
  $("judged").replaceChildren(
    make("p", {}, `${count(judgments.length, "judgment")} of ${count(queries.size, "query", "queries")}`),
    table(["Judge", "Kind", "Judgments"], judges.map((j) => [j.name, j.kind, j.n_judgments])));
}

async function showVersions() {
  const { active, versions } = await ask("/versions");
  const switching = (name) => make("button", { type: "button", onclick: () => switchTo(name) }, Number(name) < Number(active) ? "Roll back to it" : "Let it answer");
  $("versions").replaceChildren(table(["Version", "Verdict", "Action"], versions.map((v) => [
    v.version, v.verdict?.text ?? "The model that was served first.", v.version === active ? make("strong", {}, "answers now") : switching(v.version),
  ])));
}

async function switchTo(version) {
  try { await ask("/versions", { version }); await showVersions(); await tellServed(); } catch (error) { say("train-state", error.message, true); }
}

export async function startTraining() {
  try { await ask("/train", {}); await followTraining(); } catch (error) { say("train-state", error.message, true); }
}

async function followTraining() {
  const state = await ask("/train");
  showTraining(state);
  if (state.state !== "running") return;
  const events = new EventSource("/train/events");
  events.onmessage = (event) => {
    const found = JSON.parse(event.data);
    showTraining(found);
    if (found.state !== "running") { events.close(); showVersions(); tellServed(); }
  };
  events.onerror = () => { events.close(); };
}

function showTraining(state) {
  $("train").disabled = state.state === "running";
  say("train-state", (state.state === "running" ? "Training: " : "") + (state.message ?? ""), state.state === "failed");
  $("verdict").hidden = !state.verdict;
  if (state.verdict) $("verdict").textContent = state.verdict.text;
  const curve = state.verdict?.curve ?? [];
  $("curve").hidden = curve.length < 2;
  if (curve.length >= 2) $("curve").replaceChildren(plotCurve(curve), make("figcaption", { class: "quiet" }, `${state.verdict.measure} by the number of judged queries, with 95 % intervals`));
}

function plotCurve(points) {
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const low = Math.max(0, Math.min(...points.map((p) => p.interval[0]))), high = Math.min(1, Math.max(...points.map((p) => p.interval[1])));
  const most = Math.max(...points.map((p) => p.queries), 1), span = high - low || 1;
  const x = (queries) => 75 + 375 * queries / most, y = (value) => 185 - 170 * (Math.min(Math.max(value, low), high) - low) / span;
  const label = (text, attributes) => svg("text", { "font-size": 12, fill: "currentColor", ...attributes }, text);
  const picture = svg("svg", { viewBox: "0 0 480 225", role: "img", "aria-label": "Learning curve" });
  picture.append(svg("path", { d: "M50 10V195H470", fill: "none", stroke: "currentColor" }));
  for (const value of [low, (low + high) / 2, high]) {
    picture.append(svg("path", { d: `M50 ${y(value)}H470`, class: "grid" }), label(value.toFixed(2), { x: 44, y: y(value) + 4, "text-anchor": "end" }));
  }
  const line = points.map((point, place) => `${place ? "L" : "M"}${x(point.queries)} ${y(point.mean)}`).join("");
  picture.append(svg("path", { d: line, class: "curve" }));
  for (const point of points) {
    const at = x(point.queries), [from, to] = point.interval.map(y);
    picture.append(svg("path", { d: `M${at - 4} ${from}H${at + 4}M${at} ${from}V${to}M${at - 4} ${to}H${at + 4}`, class: "interval" }));
    picture.append(svg("circle", { cx: at, cy: y(point.mean), r: 4, class: "point" }), label(point.queries, { x: at, y: 212, "text-anchor": "middle" }));
  }
  return picture;
}
