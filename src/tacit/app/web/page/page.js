// The page of `tacit serve`: four views over the HTTP interface, and the keys.

import { $, ask, count, keep, make, say } from "./common.js";
import { judgeKey, openJudge, showGrades, startJudging, undo } from "./judge.js";
import { openLearn, setUpLearn, startTraining } from "./learn.js";
import { addQueries, openQueries } from "./queries.js";
import { openSearch, search, searchKey } from "./search.js";

const OPEN = { search: openSearch, judge: openJudge, learn: openLearn, queries: openQueries };
const current = () => (location.hash.slice(1) in OPEN ? location.hash.slice(1) : "search");

function show() {
  for (const name of Object.keys(OPEN)) $("view-" + name).hidden = name !== current();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === current()) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  OPEN[current()]();
}

async function tellServed() {
  try {
    const health = await ask("/health");
    $("served").textContent = `${count(health.documents, "document")}, ${health.method}, version ${health.model}`;
    const { versions, active } = await ask("/versions");
    const others = versions.filter((v) => v.version !== active);
    $("compare-label").hidden = !others.length;
    $("compare").replaceChildren(make("option", { value: "" }, "nothing"),
      ...others.map((v) => make("option", { value: v.version }, "version " + v.version)));
  } catch (error) { say("served", error.message, true); }
}

function pressKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === "?") $("help").showModal();
  else if (event.key === "/") { location.hash = "#search"; $("q").focus(); }
  else if (!(current() === "judge" && judgeKey(event)) && !(current() === "search" && searchKey(event))) return;
  event.preventDefault();
}

window.addEventListener("hashchange", show);
window.addEventListener("keydown", pressKey);
$("keys").addEventListener("click", () => $("help").showModal());
$("search-form").addEventListener("submit", search);
$("compare").addEventListener("change", () => search());
$("judge-form").addEventListener("submit", startJudging);
$("undo").addEventListener("click", undo);
$("guidelines").addEventListener("input", () => keep("guidelines", $("guidelines").value));
$("train").addEventListener("click", startTraining);
$("queries-form").addEventListener("submit", (event) => { event.preventDefault(); addQueries($("new-queries").value); });
$("queries-file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) await addQueries(await file.text());
  event.target.value = ""; // the same file can be chosen again
});
showGrades();
setUpLearn(tellServed);
tellServed();
show();
