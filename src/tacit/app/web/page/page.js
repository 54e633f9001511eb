// The page of `tacit serve`: four views over the HTTP interface, the address, and the keys.

import { $, ask, count, place, say } from "./common.js";
import { judgeKey, openJudge, setUpJudge } from "./judge.js";
import { openLearn, setUpLearn } from "./learn.js";
import { openQueries, setUpQueries } from "./queries.js";
import { openSearch, searchKey, setUpSearch, setVersions } from "./search.js";

const OPEN = { search: openSearch, judge: openJudge, learn: openLearn, queries: openQueries };
const NAMES = { search: "Search", judge: "Judge", learn: "Learn", queries: "Queries" };
const current = () => (place().view in OPEN ? place().view : "search");

function show() {
  const view = current(), { params } = place();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  for (const name of Object.keys(OPEN)) $("view-" + name).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = view === "search" && params.get("q") ? `${params.get("q")} · tacit` : `${NAMES[view]} · tacit`;
  OPEN[view](params);
}

async function tellServed() {
  try {
    const health = await ask("/health");
    const writable = health.read_only ? ", read-only" : "";
    $("served").textContent = `${count(health.documents, "document")} · ${health.method} · version ${health.model} live${writable}`;
    document.body.classList.toggle("read-only", Boolean(health.read_only));
    const { versions, active } = await ask("/versions");
    setVersions(versions.map((v) => v.version), active);
  } catch (error) { say("served", error.message, true); }
}

let going = false; // after "g", the next key names a view

function pressKey(event) {
  const view = going && Object.keys(OPEN).find((name) => name[0] === event.key);
  going = false;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (view) location.hash = "#" + view;
  else if (event.key === "g") going = true;
  else if (event.key === "?") $("help").showModal();
  else if (event.key === "/") { location.hash = "#search"; $("q").focus(); }
  else if (!(current() === "judge" && judgeKey(event)) && !(current() === "search" && searchKey(event))) return;
  event.preventDefault();
}

window.addEventListener("hashchange", show);
window.addEventListener("keydown", pressKey);
// Another tab or judge may have changed something meanwhile.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  tellServed();
  if (["learn", "queries"].includes(current())) OPEN[current()](place().params);
});
$("keys").addEventListener("click", () => $("help").showModal());
setUpSearch();
setUpJudge();
setUpLearn(tellServed);
setUpQueries();
tellServed();
show();
