"""The page in a real browser: search, judge by keys, undo, train, switch, hostile documents, restarts."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import numpy as np
import pytest
import uvicorn

from tacit.app.web.server import Connection, host_names
from tacit.app.web.service import create_app
from tacit.app.web.training.verdicts import MEASURES, make_verdict
from tacit.app.web.workspace import Workspace
from tacit.judge import JudgmentStore
from tacit.search import Searcher

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium was found; install one to test the page")

HEADERS = {"content-type": "application/json"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class Process:
    """`tacit serve` as a process, which can be killed."""

    def __init__(self, model, port=0):
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", str(port)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "serving" in line, line + self.process.stderr.read()
        self.address = line.split(" at ")[1].split("/ ")[0]
        self.port = int(self.address.rsplit(":", 1)[1])

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()


class Service:
    """The same service in a thread of this process, which starts at once."""

    def __init__(self, model, store):
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        self.workspace = Workspace(model, Searcher.load(model), store)
        app = create_app(self.workspace, hosts=host_names("127.0.0.1", port, ()))
        self.server = uvicorn.Server(uvicorn.Config(app, http=Connection, ws="none", log_level="error"))
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()
        self.address = f"http://127.0.0.1:{port}"

    def stop(self):
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()


@pytest.fixture
def service(model):
    with JudgmentStore(model.with_name("my.model.judgments")) as store:
        service = Service(model, store)
        yield service
        service.stop()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser, service):
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("dialog", lambda dialog: (page.problems.append(dialog.message), dialog.dismiss()))
    page.goto(service.address)
    yield page
    assert page.problems == []
    page.close()


def search(page, query):
    page.fill("#q", query)
    page.press("#q", "Enter")
    page.wait_for_selector("#search-state:has-text('results')")


def test_searching_explaining_and_marking(page):
    search(page, "inverse matrix")
    titles = page.locator(".hit h3").all_inner_texts()
    assert titles[0].startswith("1")
    assert page.locator("mark").count() > 0
    page.locator(".hit").first.get_by_text("Why", exact=True).click()
    page.wait_for_selector(".why table")
    assert "inverse" in page.locator(".why").first.inner_text()
    page.locator(".hit").first.get_by_text("Why above next").click()
    page.wait_for_selector(".why:has-text('Above')")
    page.wait_for_selector("[data-action=above][aria-expanded=true]")
    assert page.locator("[aria-expanded=true]").count() == 1
    page.locator(".hit").nth(4).get_by_text("Like", exact=True).click()
    liked = titles[4].lstrip("0123456789 \n")
    page.wait_for_function("title => document.querySelector('.hit h3').textContent.includes(title)", arg=liked)
    page.wait_for_selector(".why:not([hidden]) table")  # an open panel stays open


def test_feedback_is_a_term_of_its_own_and_explanations_agree_with_the_list(page):
    search(page, "inverse matrix")
    page.locator(".hit").nth(5).get_by_text("Like", exact=True).click()
    page.wait_for_selector(".hit:first-child [data-action=like][aria-pressed=true]")
    for place in range(3):
        hit = page.locator(".hit").nth(place)
        hit.locator("[data-action=above]").click()
        hit.locator(".why table").wait_for()
        assert hit.locator(".why").inner_text().startswith("Above")
        assert "Your likes and dislikes" in hit.locator(".why").inner_text()


def test_the_address_has_the_state_of_a_search(browser, service, page):
    search(page, "inverse matrix")
    first = page.locator(".hit").first.get_attribute("data-id")
    page.locator(".hit").first.locator("[data-action=why]").click()
    page.wait_for_selector(".why table")
    assert page.title() == "inverse matrix · tacit"
    page.click("#more")
    page.wait_for_function("() => document.querySelectorAll('.hit').length > 10")
    address = page.url
    other = browser.new_page()
    other.goto(address)  # a link that somebody else opens
    other.wait_for_selector(f'.hit[data-id="{first}"] .why table')
    assert other.locator(".hit").count() == page.locator(".hit").count()
    assert other.input_value("#q") == "inverse matrix"
    other.close()
    search(page, "onion soup")
    page.go_back()
    page.wait_for_function("() => document.querySelector('#q').value === 'inverse matrix'")
    page.wait_for_function("id => document.querySelector('.hit')?.dataset.id === id", arg=first)


def test_searching_by_keys(page):
    search(page, "inverse matrix")
    page.locator("h1").click()  # out of the search box
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".hit").nth(1)
    assert second.evaluate("node => node === document.activeElement")
    page.keyboard.press("w")
    page.wait_for_selector(".hit:nth-child(2) .why table")
    page.keyboard.press("o")
    page.wait_for_selector(".hit:nth-child(2) .whole:not([hidden])")
    page.keyboard.press("l")
    page.wait_for_selector(".hit:first-child [data-action=like][aria-pressed=true]")
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.locator("#q").evaluate("node => node === document.activeElement")


def test_views_open_by_keys_and_queries_are_completed(page):
    add_queries(page, "inverse matrix")
    page.locator("h1").click()
    for view, focused in {"search": "q", "judge": "judge-name", "learn": "", "queries": ""}.items():
        page.keyboard.press("g")
        page.keyboard.press(view[0])
        page.wait_for_selector(f"#view-{view}:not([hidden])")
        if focused:
            page.wait_for_function("id => document.activeElement.id === id", arg=focused)
            page.evaluate("() => document.activeElement.blur()")  # keys that are typed there are text
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement.id === 'q'")
    page.keyboard.type("inv")
    page.wait_for_function("() => document.querySelector('#suggestions option')?.value === 'inverse matrix'")


def test_a_search_is_stored_as_a_query_and_its_results_are_judged(page, model):
    search(page, "onion soup")
    first = page.locator(".hit").first.get_attribute("data-id")
    page.click("#judge-these")
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#judge-state:has-text('0 of')")
    assert page.locator("#judge-query option").all_inner_texts() == ["onion soup (0)"]
    titles = page.locator("#query-cards h4").all_inner_texts()
    page.locator("#query-cards [data-grade='3']").nth(titles.index(first.title())).click()
    page.wait_for_selector("#judge-state:has-text('1 of')")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        (record,) = store.current()
        assert (record.text, record.document, record.grade) == ("onion soup", first, 3)


def test_views_without_anything_say_what_to_do(page):
    page.wait_for_selector(".steps .next:has-text('Add queries')")
    assert page.locator("#compare").is_hidden()
    page.click("nav a[data-view=judge]")
    assert "one document at a time" in page.inner_text("#view-judge")
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged:has-text('There are no judgments yet')")
    assert page.locator("#train").is_hidden()
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list:has-text('There are no queries yet')")
    page.click("#queries-form button[type=submit]")
    page.wait_for_selector("#queries-state.error:has-text('no query to add')")


def test_the_first_page_names_the_next_step_and_the_score_to_start_from(page, service):
    store, workspace = service.workspace.store, service.workspace
    add_queries(page, "inverse matrix")
    page.click("nav a[data-view=search]")
    page.wait_for_selector(".steps .next[data-step=judge]:has-text('Start judging')")
    for number in range(10):
        query = f"inverse matrix {number}"
        store.record(query, workspace.active.searcher.search(query)[0].id, 3, "ann")
    workspace.about = "A tour"
    page.reload()
    page.wait_for_selector(".steps .next[data-step=learn]:has-text('Train a version on 10 judgments')")
    page.wait_for_selector("#home-score:has-text('nDCG@10 1.000')")
    assert page.inner_text("#about") == "A tour."
    assert "tacit fit" in page.inner_text("#own")
    page.click(".steps .next")
    page.wait_for_selector("#scoreboard td[data-head=Queries]:has-text('10')")
    assert page.locator("#scoreboard td[data-head='nDCG@10']").inner_text().startswith("1.000")
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list td[data-head='nDCG@10']:has-text('1.000')")


def test_a_hostile_document_is_only_text(page):
    search(page, "quotes right to left matrix")
    first = page.locator(".hit", has_text="<script>alert(1)</script>").first
    assert first.is_visible()
    assert page.locator("#results script").count() == 0


def add_queries(page, *queries, group=""):
    page.click("nav a[data-view=queries]")
    page.fill("#new-queries", "\n".join(queries))
    page.fill("#new-group", group)
    page.click("#queries-form button[type=submit]")
    page.click("#import")
    page.wait_for_selector("#queries-state:has-text('added')")


def test_queries_are_previewed_imported_once_edited_and_deleted(page):
    page.click("nav a[data-view=queries]")
    page.fill("#new-queries", "query,topic\nwhat is: a colon,signs\nonion soup,food\nonion soup,food")
    page.click("#queries-form button[type=submit]")
    page.wait_for_selector("#preview:not([hidden])")
    assert "CSV with a header. 2 queries to add, 1 repeated" in page.inner_text("#preview-text")
    page.click("#import")
    page.wait_for_selector("#queries-state:has-text('2 queries added')")
    row = page.locator("#query-list tr", has_text="what is: a colon")
    assert "signs" in row.inner_text()
    add_queries(page, "onion soup", "kitten")
    assert page.inner_text("#queries-state") == "1 query added, 1 already known"
    page.fill("#query-filter", "colon")
    page.wait_for_selector("#query-count:has-text('1 of 3')")
    row.get_by_role("button", name="Edit").click()
    page.fill("#edit-text", "what is a colon")
    page.click("#edit button[value=yes]")
    page.wait_for_selector("#query-list a:has-text('what is a colon')")
    page.locator("#query-list").get_by_role("button", name="Delete").click()
    page.wait_for_selector("#queries-state:has-text('Deleted')")
    page.fill("#query-filter", "")
    page.wait_for_function("() => document.querySelectorAll('#query-list tbody tr').length === 2")


def test_judging_one_query_with_guidelines_and_a_list_of_my_judgments(page, model):
    add_queries(page, "inverse matrix", "onion soup")
    page.locator("#query-list tr", has_text="onion soup").get_by_text("Judge").click()
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#query-cards article")
    assert page.locator("#judge-query option:checked").inner_text() == "onion soup (0)"
    page.locator("#query-cards article").first.locator("[data-grade='2']").click()
    page.wait_for_selector("#judge-state:has-text('1 of')")
    page.fill("#guidelines", "A recipe is needed.")
    page.locator("h1").click()
    page.wait_for_selector("#guidelines-state:has-text('Saved')")
    page.fill("#judge-name", "bob")  # without Start nothing is credited to bob
    page.locator("#query-cards article").nth(1).locator("[data-grade='0']").click()
    page.wait_for_selector("#judge-state:has-text('2 of')")
    page.reload()
    page.wait_for_function("() => document.querySelector('#guidelines').value === 'A recipe is needed.'")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#judge-state:has-text('2 of')")
    page.click("#mine summary")
    page.locator("#mine-list select").first.select_option("withdraw")
    page.wait_for_function("() => document.querySelectorAll('#mine-list li').length === 1")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        assert [(record.judge, record.grade) for record in store.current()] == [("ann", 2)]


def start_judging(page, name="ann"):
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", name)
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#card:not([hidden])")


def test_judging_by_keys_with_undo_skip_and_cannot_judge(page, model):
    add_queries(page, "inverse matrix", "onion soup", group="maths")
    start_judging(page)
    first = page.inner_text("#card-title")
    page.keyboard.press("2")
    page.wait_for_selector("#judge-state:has-text('1 judged')")
    page.keyboard.press("u")
    page.wait_for_function("title => document.querySelector('#card-title').textContent === title", arg=first)
    page.keyboard.press("3")
    page.wait_for_selector("#judge-state:has-text('1 judged')")
    second = page.inner_text("#card")
    page.keyboard.press("s")
    page.wait_for_function("was => document.querySelector('#card').innerText !== was", arg=second)
    page.keyboard.press("c")
    page.wait_for_selector("#judge-state:has-text('2 judged')")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        records = store.history()
        assert [record.action for record in records] == ["judged", "withdrawn", "judged", "judged"]
        assert [record.grade for record in records] == [2, None, 3, None]
        assert all(record.rank for record in records if record.action == "judged")


def test_the_next_document_is_there_at_once(page):
    add_queries(page, "inverse matrix", "onion soup", "kitten fur")
    start_judging(page)
    waits = []
    for _ in range(4):
        before = page.inner_text("#judge-state")
        start = time.perf_counter()
        page.keyboard.press("1")
        page.wait_for_function("was => document.querySelector('#judge-state').textContent !== was", arg=before)
        waits.append(time.perf_counter() - start)
    assert len(waits) == 4  # how long they take is measured in benchmarks


def test_two_tabs_judge_at_once(browser, service, page, model):
    add_queries(page, "inverse matrix", "onion soup")
    other = browser.new_page()
    other.goto(service.address)
    start_judging(page, "ann")
    start_judging(other, "bob")
    for _ in range(3):
        for tab in (page, other):
            before = tab.inner_text("#judge-state")
            tab.keyboard.press("1")
            tab.wait_for_function("was => document.querySelector('#judge-state').textContent !== was", arg=before)
    other.close()
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        assert {judge.name: judge.n_judgments for judge in store.judges()} == {"ann": 3, "bob": 3}


def test_a_killed_service_loses_nothing_and_judging_goes_on(browser, model):
    service = Process(model)
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.goto(service.address)
    add_queries(page, "inverse matrix", "onion soup")
    start_judging(page)
    page.keyboard.press("2")
    page.wait_for_selector("#judge-state:has-text('1 judged')")
    service.kill()
    page.keyboard.press("2")
    page.wait_for_selector("#judge-state.error")
    again = Process(model, service.port)
    page.keyboard.press("2")
    page.wait_for_selector("#judge-state:has-text('2 judged')")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        assert len(store.current()) == 2
    page.close()
    again.kill()


def test_a_document_that_could_not_be_asked_for_ahead_is_asked_for_again(page):
    add_queries(page, "inverse matrix", "onion soup")
    page.route("**/v1/next?*after=*", lambda route: route.abort())
    start_judging(page)
    for n_judged in (1, 2):
        page.keyboard.press("2")
        page.wait_for_selector(f"#judge-state:has-text('{n_judged} judged by you')")


def test_training_and_switching(page, service, monkeypatch):
    monkeypatch.setattr("tacit.app.web.training.trainer.LEARNS", "tfidf")  # fast to train
    topics = {"cats": "kitten fur", "maths": "inverse rank", "soup": "onion salt"}
    for number, asked in enumerate(list(topics) * 4):
        for document in [f"{topic}-{n}" for topic in topics for n in (0, 1)]:
            grade = int(document.startswith(asked))
            body = {"query": f"{topics[asked]} {number}", "document": document, "grade": grade, "judge": "ann"}
            post(service, "/judgments", body)
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged:has-text('12 queries')")
    page.click("#train")
    page.wait_for_selector("#training:not([hidden])")
    page.wait_for_selector("#train-time:has-text('elapsed')")
    page.wait_for_selector("#train-stages li[aria-current]")
    page.click("#cancel")
    page.wait_for_selector("#train-state:has-text('cancelled')")
    page.click("#train")
    page.wait_for_selector("#train-used:has-text('Uses 12 queries of 12 judged')")
    page.wait_for_selector("#verdict:not([hidden])", timeout=300_000)
    assert "version 2" in page.inner_text("#verdict").lower()
    assert "Starting model" in page.inner_text("#scoreboard")
    page.wait_for_selector(".bar-row")
    assert page.locator(".bar-row").count() == 12
    look_at(page, "learn", 1200)
    page.get_by_role("button", name="Make version 2 live").click()
    page.wait_for_selector("#served:has-text('version 2'), #confirm[open]")
    if page.locator("#confirm").is_visible():  # it is not shown to be better
        assert "version 1" in page.inner_text("#confirm-text")
        page.click("#confirm-yes")
    page.wait_for_selector("#served:has-text('version 2')")
    page.get_by_role("button", name="Roll back to version 1").click()
    page.wait_for_selector("#served:has-text('version 1')")
    page.locator(".bar-row").first.click()
    page.wait_for_function("() => document.querySelectorAll('#results > div').length === 2")
    page.locator(".hit").nth(2).locator("[data-action=like]").click()  # ranks both sides again
    page.wait_for_function("() => document.querySelectorAll('.hit:first-child [aria-pressed=true]').length === 2")
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list .spark")
    look_at(page, "queries", 1200)


def look_at(page, view, width, schemes=("dark", "light")):
    """Raise where axe finds something in a colour scheme, or the page is wider than the window."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        found = axe.Axe().run(page).response["violations"]
        named = [(violation["id"], [node["html"] for node in violation["nodes"]][:2]) for violation in found]
        assert named == [], f"{view} at {width}, {scheme}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{view} is too wide at {width}"


@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing(browser, service, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_default_timeout(120_000)
    page.goto(service.address)
    search(page, "inverse matrix")
    page.locator(".hit").first.get_by_text("Why", exact=True).click()
    page.wait_for_selector(".why table")
    look_at(page, "search", width)
    add_queries(page, "inverse matrix", group="maths")
    look_at(page, "queries", width)
    start_judging(page)
    look_at(page, "judge", width)
    if width < 500:  # the grades stay in reach
        box = page.locator("#grades button").first.bounding_box()
        assert box["y"] + box["height"] <= 800
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#scoreboard")
    look_at(page, "learn", width)
    page.close()


@pytest.fixture
def compared(service):
    """Version 2, which is better than version 1, and version 3, which is worse; 30 queries, one of them judged."""
    store, texts = service.workspace.store, [f"inverse matrix {n}" for n in range(30)]
    queries = {store.query_id(text): text for text in texts}
    rng = np.random.default_rng(0)
    first = np.round(rng.uniform(0.3, 0.6, 30), 3)
    used = {"judgments": 300, "judged": 30, "queries": 30, "left_out": {}, "program": None}
    curve = [{"queries": n, "mean": 0.4 + n / 200, "interval": [0.3, 0.6]} for n in (0, 5, 24)]
    for version, change in (("2", 0.2), ("3", -0.2)):
        values = [dict.fromkeys(MEASURES, each) for each in (first, first + change * np.linspace(0.1, 1, 30))]
        verdict = make_verdict(version, "1", queries, *values, fingerprint="f", has_zeros=False, identical=False)
        _, folder = service.workspace.new_version()
        service.workspace.active.searcher.save(folder)
        told = {"used": used, "curve": curve, "method": "blend", "time": "2026-11-18T10:00:00+00:00"}
        service.workspace.keep_verdict(version, verdict | told)
    store.record(texts[-1], service.workspace.active.searcher.search(texts[-1])[1].id, 3, "ann")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_scoreboard_shows_what_is_better_and_a_query_opens_side_by_side(browser, service, compared, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_default_timeout(60_000)
    page.goto(service.address + "/#learn")
    page.wait_for_selector(".bar-row")
    assert page.locator("#scoreboard .chip").all_inner_texts() == ["▼ worse", "▲ better", "● live"]
    assert page.get_attribute("#verdict", "data-status") == "worse"  # the newest one
    assert page.inner_text("#verdict h3") == "Version 3 is worse than version 1"
    assert "Keep version 1." in page.inner_text("#verdict")
    assert page.inner_text("#verdict .amount").startswith("−0.1")
    assert page.locator("#verdict button").count() == 0  # nobody is invited to make it live
    page.get_by_role("link", name="By query").click()
    page.wait_for_selector("#verdict[data-status=better]")
    page.wait_for_selector("#differences h3:has-text('Version 2 against version 1')")
    assert page.url.endswith("#learn?version=2")
    assert page.inner_text("#verdict .amount").startswith("+0.1")
    assert "30 won, 0 lost, 0 tied" in page.inner_text("#verdict .tally")
    page.wait_for_function("() => document.querySelectorAll('#verdict .waterfall .plus').length === 30")
    assert "From 5 to 24 judged queries: +0.095" in page.inner_text("#curve")
    assert page.locator("#history circle").count() == 6  # two measures of three versions
    assert page.locator(".bar-row").count() == 24
    page.get_by_role("button", name="Show all 30 queries").click()
    gains = page.locator(".bar-row .number:last-child").all_inner_texts()
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 30
    look_at(page, "scoreboard", width)
    page.get_by_role("button", name="Make version 3 live").click()
    assert "worse than version 1" in page.inner_text("#confirm-text")
    page.click("#confirm button[value=no]")
    assert "version 1 live" in page.inner_text("#served")
    page.locator(".bar-row").first.click()
    page.wait_for_function("() => document.querySelectorAll('#results > div').length === 2")
    assert "both lists are the same" in page.inner_text("#search-state")
    page.wait_for_function("() => document.querySelectorAll('.hit:nth-child(2) .chip.grade').length === 2")
    heads = page.locator("#results > div > h3").all_inner_texts()
    assert [head.split("nDCG")[0].strip() for head in heads] == ["Version 1 (live)", "Version 2"]
    assert all("nDCG@10 ." in head for head in heads)
    look_at(page, "side by side", width)
    page.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_counts_of_values_narrow_the_results_and_filters_are_taken_out(browser, service, width):
    kinds = ["tool", "tool", "book", "book", "book"]
    fields = [{"kind": kind, "code": f"c{n}", "price": n, "notes": f"long {n} " * 40} for n, kind in enumerate(kinds)]
    post(service, "/documents", [{"id": f"x{n}", "text": "inverse drill", "fields": f} for n, f in enumerate(fields)])
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_default_timeout(60_000)
    page.goto(service.address + "/#search?q=drill")
    page.wait_for_selector("#facets:not([hidden])")
    assert page.locator("#facets h3").all_inner_texts() == ["kind"]  # all codes differ, and notes are no keywords
    page.get_by_role("link", name="book 3").click()
    page.wait_for_selector("#filters:has-text('kind = \"book\"')")
    page.wait_for_selector("#search-state:has-text('3 results')")
    look_at(page, "filtered", width)
    page.get_by_role("link", name="Remove the filter").click()
    page.wait_for_selector("#search-state:has-text('5 results')")
    page.go_back()
    page.wait_for_selector("#search-state:has-text('3 results')")
    if width < 500:
        page.click("#options-toggle")
    page.select_option("#sort", "-price")
    page.wait_for_function("() => document.querySelector('.hit')?.dataset.id === 'x4'")
    assert page.locator(".hit").evaluate_all("hits => hits.map(hit => hit.dataset.id)") == ["x4", "x3", "x2"]
    look_at(page, "sorted", width)
    page.close()


def post(service, path, body):
    request = urllib.request.Request(service.address + path, json.dumps(body).encode(), HEADERS)
    return json.load(urllib.request.urlopen(request))


@pytest.fixture
def disagreeing(service):
    """A program and a person who grade a document differently, and one alike."""
    for judge, kind, grades in (("overlap", "program", (0, 2)), ("bob", "person", (3, 2))):
        for document, grade in zip(("soup-0", "soup-1"), grades, strict=True):
            body = {"query": "onion soup", "document": document, "grade": grade, "judge": judge, "kind": kind}
            post(service, "/judgments", body)


@pytest.mark.parametrize("width", [1200, 390])
def test_a_program_judge_is_marked_and_a_person_settles(browser, service, disagreeing, model, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(service.address + "/#judge")
    program = page.locator("#judges li", has_text="overlap")
    program.locator(".chip[data-status=program]").wait_for()
    assert "kappa 0.00 with people, same grade for 50% of 2 shared documents" in program.inner_text()
    assert page.locator("#judges li", has_text="bob").locator(".chip").count() == 0
    page.click("#agreement summary")
    assert "overlap" in page.inner_text("#agreement-list table")
    page.get_by_text("Settle 1 disagreement").click()
    card = page.locator("#settle-cards article")
    card.locator(".judges").wait_for()
    assert "0 overlap" in card.locator(".judges").inner_text()
    assert "3 bob" in card.locator(".judges").inner_text()
    card.locator("[data-grade='1']").click()  # nobody in particular cannot decide
    page.wait_for_selector("#judge-state.error:has-text('Enter your name')")
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#judge-state:has-text('1 of 1 disagreement to settle')")
    card.locator("[data-grade='1']").click()
    page.wait_for_selector("#judge-state:has-text('0 of 1 disagreement to settle')")
    assert "Decided by ann" in card.inner_text()
    card.get_by_text("Whole document").click()
    page.wait_for_function("() => document.querySelector('#settle-cards .whole').textContent.includes('onion')")
    look_at(page, "settle", width)
    page.reload()
    page.wait_for_selector("#settle-cards:has-text('There is nothing to settle')")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        grades = {record.judge: record.grade for record in store.current() if record.document == "soup-0"}
        assert grades == {"overlap": 0, "bob": 3, "ann": 1}
    page.close()


def test_a_program_cannot_be_judged_as(page, disagreeing):
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", "overlap")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#judge-state.error:has-text('is a program in this store')")


@pytest.mark.parametrize("width", [1200, 390])
def test_training_names_whose_grades_it_learns_from(browser, service, disagreeing, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    sent = []
    page.route("**/v1/train", lambda route: (sent.append(route.request.post_data_json), route.fallback()))
    page.goto(service.address + "/#learn")
    page.wait_for_selector("#train-choice:not([hidden])")
    judges = page.locator("#train-judge option").all_inner_texts()
    assert judges == ["bob", "overlap (program)"]
    assert page.locator("#train-program").is_hidden()
    page.select_option("#train-assist", "overlap")
    assert "kappa" in page.locator("#judged tr", has_text="overlap").inner_text()
    look_at(page, "learn", width)
    page.click("#train")
    page.wait_for_selector("#train-state:not(:empty)")
    page.select_option("#train-judge", "overlap")
    assert "No person has checked them" in page.inner_text("#train-program")
    assert page.locator("#train-assist").is_hidden()
    assert {"judge": None, "assist": "overlap"} in sent
    page.close()


def test_a_training_on_a_program_alone_says_so_until_the_end(page, service, monkeypatch):
    monkeypatch.setattr("tacit.app.web.training.trainer.LEARNS", "tfidf")  # fast to train
    for number in range(3):
        for document, grade in (("soup-0", 2), ("cats-0", 0)):
            body = {"query": f"onion {number}", "document": document, "grade": grade, "judge": "sample"}
            post(service, "/judgments", body | {"kind": "program"})
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#train-program:has-text('No person has judged yet')")
    page.click("#train")
    page.wait_for_selector("#verdict:has-text(\"by the program 'sample'\")", timeout=300_000)
    assert "judged by the program sample" in page.inner_text("#scoreboard")
    with page.context.expect_page() as opened:
        page.click("#board-report")
    opened.value.wait_for_selector("h1:has-text('All versions against version 1')")
    opened.value.close()


def test_the_same_search_without_the_likes_stands_beside(page):
    search(page, "inverse matrix")
    page.locator(".hit").nth(5).locator("[data-action=like]").click()
    page.wait_for_selector(".hit:first-child [data-action=like][aria-pressed=true]")
    page.select_option("#compare", "unmarked")
    page.wait_for_function("() => document.querySelectorAll('#results > div').length === 2")
    assert page.locator("#results h3").first.inner_text() == "Version 1 (live)"
    assert page.locator("#results > div").nth(1).locator("h3").first.inner_text().endswith("without likes and dislikes")
    assert page.locator(".moved.up").first.is_visible()
    assert "vs=unmarked" in page.url


def test_a_slow_search_says_that_it_runs(page):
    held = []
    page.route("**/v1/search?*", lambda route: held.append(route))
    page.fill("#q", "inverse matrix")
    page.press("#q", "Enter")
    page.wait_for_selector("#search-state:has-text('Searching')")
    held[0].continue_()
    page.wait_for_selector("#search-state:has-text('results')")


def test_queries_that_pass_the_filter_are_grouped(page):
    add_queries(page, "onion soup", "onion salt", "kitten")
    page.fill("#query-filter", "onion")
    page.wait_for_selector("#query-count:has-text('2 of 3')")
    page.click("#group-shown")
    page.fill("#grouping-name", "food")
    page.click("#grouping button[value=yes]")
    page.wait_for_selector("#queries-state:has-text('2 queries put into food')")
    page.fill("#query-filter", "")
    page.select_option("#query-group", "food")
    page.wait_for_selector("#query-count:has-text('2 of 3')")


def test_progress_is_toward_a_goal_and_undo_survives_a_reload(page, model):
    add_queries(page, "inverse matrix", "onion soup")
    start_judging(page)
    page.fill("#goal", "2")
    page.locator("h1").click()
    for number in (1, 2):
        page.keyboard.press("2")
        page.wait_for_selector(f"#judge-state:has-text('{number} judged by you, goal 2')")
    page.wait_for_selector("#judge-state:has-text('(reached)')")
    page.reload()
    assert page.input_value("#goal") == "2"
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#judge-state:has-text('2 judged by you')")
    page.click("#undo")
    page.wait_for_selector("#judge-state:has-text('1 judged by you')")
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        assert [record.action for record in store.history()] == ["judged", "judged", "withdrawn"]


def test_a_read_only_service_shows_no_controls_for_changes(browser, service, compared):
    service.workspace.read_only = "it was started with --read-only"
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(service.address + "/#learn")
    page.wait_for_selector("#served:has-text('read-only')")
    page.wait_for_selector(".bar-row")
    for control in ("#train", "#scoreboard button", "nav a[data-view=judge]", "#judge-these"):
        assert page.locator(control).first.is_hidden(), control
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list table")
    assert page.locator("#adding").is_hidden()
    assert page.locator("#query-list .actions").first.is_hidden()
    page.close()


def test_print_shows_results_without_controls_and_forced_colours_keep_borders(browser, service):
    page = browser.new_page(forced_colors="active")
    page.goto(service.address)
    search(page, "inverse matrix")
    page.locator(".hit").first.locator("[data-action=why]").click()
    page.wait_for_selector(".why table")
    bar = page.locator(".plus").first.evaluate("bar => getComputedStyle(bar).fill")
    text, ground = page.evaluate("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
    assert bar == text != ground, "bars have the colour of text that the system sets"
    look_at(page, "forced colours", 1280, schemes=["light"])
    page.emulate_media(media="print", forced_colors="none")
    assert page.locator(".hit h3").first.is_visible()
    assert page.locator(".why table").first.is_visible()
    for control in ("nav", "#search-form", ".hit .actions", "#keys"):
        assert page.locator(control).first.is_hidden(), control
    page.close()


def test_likes_are_in_the_address(page):
    search(page, "inverse matrix")
    page.locator(".hit").nth(5).locator("[data-action=like]").click()
    page.wait_for_selector(".hit:first-child [data-action=like][aria-pressed=true]")
    page.reload()
    page.wait_for_selector(".hit:first-child [data-action=like][aria-pressed=true]")
    page.go_back()
    page.wait_for_selector(".hit")
    page.wait_for_function("() => !document.querySelector('.hit [aria-pressed=true]')")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_comparison_names_the_judged_documents_that_moved(browser, service, width):
    store = service.workspace.store
    moved = service.workspace.active.searcher.search("inverse matrix")[5].id
    store.record("inverse matrix", moved, 3, "ann")
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(
        f"{service.address}/#search?q=inverse+matrix&judged={store.query_id('inverse matrix')}&like={moved}&vs=unmarked"
    )
    page.wait_for_selector("#moves li")
    assert page.locator("#moves li").all_inner_texts()[0].split("\n")[0] == "grade 3"
    assert "▼ 1 → 6" in page.inner_text("#moves")
    first, second = (page.locator("#results > div").nth(place) for place in (0, 1))
    assert "▼ to 6" in first.locator(f'.hit[data-id="{moved}"] h3').inner_text()
    assert "▼ from 1" in second.locator(f'.hit[data-id="{moved}"] h3').inner_text()
    assert abs(first.bounding_box()["y"] - second.bounding_box()["y"]) < 2  # beside each other, on a phone too
    page.locator("#moves a").first.click()
    page.wait_for_function("() => document.querySelectorAll('#results .why table').length === 2")
    look_at(page, "moved", width)
    page.close()


def test_a_phone_shows_options_on_demand_and_results_first(browser, service, compared):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(service.address)
    search(page, "inverse matrix")
    assert page.locator("#version").is_hidden()
    assert abs(page.locator("#q").bounding_box()["y"] - page.locator("#search-form .main").bounding_box()["y"]) < 12
    assert page.locator(".hit").nth(1).bounding_box()["y"] < 844
    page.click("#options-toggle")
    page.select_option("#version", "2")
    page.wait_for_function("() => location.hash.includes('model=2')")
    page.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_queries_have_a_column_for_each_version_and_list_their_judgments(browser, service, compared, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(service.address + "/#queries")
    page.wait_for_selector("#query-list .spark")
    row = page.locator("#query-list tbody tr", has=page.locator("a", has_text="inverse matrix 29"))
    values = [row.locator(f"td[data-head=v{version}]").inner_text() for version in (1, 2, 3)]
    scores = service.workspace.verdicts()
    by_query = scores["3"]["by_query"]
    place = by_query["texts"].index("inverse matrix 29")
    wanted = [by_query["values"][version]["nDCG@10"][place] for version in ("1", "3")]
    assert [float(values[0]), float(values[2])] == pytest.approx(wanted, abs=6e-4)
    if width > 500:  # the narrow table has no heads to press
        page.get_by_role("button", name="Sort by change").click()
        page.get_by_role("button", name="Sort by change").click()
        assert (
            page.locator("#query-list tbody tr").first.inner_text().startswith("inverse matrix 29")
        )  # the largest loss
    row.get_by_role("link", name="1 judgment of").click()
    page.wait_for_selector("#judgments-of[open] td:has-text('ann')")
    assert "judgments=" in page.url
    look_at(page, "judgments of a query", width)
    page.reload()
    page.wait_for_selector("#judgments-of[open] td:has-text('ann')")
    page.keyboard.press("Escape")
    page.wait_for_function("() => location.hash === '#queries'")
    row.get_by_role("link", name="1 judgment of").click()
    page.click("#judge-this")
    page.wait_for_selector("#view-judge:not([hidden])")
    assert page.locator("dialog[open]").count() == 0
    page.close()


def test_cards_of_one_query_are_judged_by_keys_and_nothing_else_is(page, model):
    add_queries(page, "inverse matrix", "onion soup")
    start_judging(page)  # a card that is hidden below
    page.goto(page.url.split("#")[0] + "#judge?query=onion-soup")
    page.wait_for_selector("#query-cards article")
    page.locator("h1").click()
    page.keyboard.press("2")  # no card is focused
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator("#query-cards article").nth(1)
    title = second.locator("h4").inner_text()
    page.keyboard.press("3")
    page.wait_for_selector("#judge-state:has-text('1 of')")
    assert second.evaluate("card => card === document.activeElement")
    page.keyboard.press("o")
    page.wait_for_function(
        "() => document.querySelector('#query-cards article:nth-child(2) .whole').textContent.length > 9"
    )
    with JudgmentStore(model.with_name("my.model.judgments"), read_only=True) as store:
        assert [(record.document, record.grade) for record in store.current()] == [(title.lower(), 3)]
    page.keyboard.press("u")
    page.wait_for_selector("#judge-state:has-text('0 of')")
    first = page.input_value("#judge-query")
    page.keyboard.press("n")
    page.wait_for_function("first => document.querySelector('#judge-query').value !== first", arg=first)
    assert "#judge?query=" in page.url


def test_older_judgments_of_mine_are_listed_too(page, service):
    for number in range(52):
        service.workspace.store.record(f"query {number}", "cats-0", 1, "ann")
    page.goto(service.address + "/#judge")
    page.fill("#judge-name", "ann")
    page.click("#mine summary")
    page.get_by_role("button", name="Show 2 older").click()
    page.wait_for_function("() => document.querySelectorAll('#mine-list li').length === 52")


def test_learn_has_one_stream_of_events_and_survives_a_lost_connection(browser, service):
    page = browser.new_page()
    page.add_init_script("""window.streams = 0;
        window.EventSource = class extends EventSource {
          constructor(...args) { super(...args); window.streams += 1; }
          close() { if (this.readyState !== 2) window.streams -= 1; super.close(); }
        };""")
    running = {"state": "running", "message": "Training", "version": "2", "verdict": None, "used": None,
               "stages": ["Training"], "done": 0, "total": 3, "elapsed": 1.0, "seconds_left": None}  # fmt: skip
    page.route("**/v1/train", lambda route: route.fulfill(json=running))
    page.route("**/v1/train/events", lambda route: None)  # open, without an event
    page.goto(service.address + "/#learn")
    for _ in range(3):
        page.click("nav a[data-view=queries]")
        page.click("nav a[data-view=learn]")
        page.wait_for_selector("#training:not([hidden])")
    page.wait_for_function("() => window.streams === 1")
    page.unroute("**/v1/train/events")
    page.route("**/v1/train/events", lambda route: route.abort())
    page.click("nav a[data-view=queries]")
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#train-time:has-text('Connection lost')")
    running["state"], running["message"] = "failed", "it was stopped"
    page.wait_for_selector("#train-state:has-text('it was stopped')")
    page.close()


def test_a_tab_shows_what_another_one_made_live(browser, service, compared):
    page = browser.new_page()
    page.goto(service.address + "/#learn")
    page.wait_for_selector("#served:has-text('version 1 live')")
    post(service, "/versions", {"version": "2", "confirm": True})
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the tab is looked at again
    page.wait_for_selector("#served:has-text('version 2 live')")
    page.wait_for_selector("#scoreboard tr:has-text('Version 2') .chip[data-status=live]")
    page.close()


@pytest.mark.parametrize("view", ["learn", "queries"])
def test_tables_fit_on_printed_pages(browser, service, compared, view):
    page = browser.new_page(viewport={"width": 760, "height": 1000})
    page.goto(f"{service.address}/#{view}")
    page.wait_for_selector("#scoreboard, #query-list .spark")
    page.wait_for_selector(".bar-row, #query-list .spark")
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    heads = page.locator(f"{'#scoreboard' if view == 'learn' else '#query-list'} th:visible").all_inner_texts()
    assert heads[0].startswith(("Version", "Query"))
    assert not {"Action", "Actions"} & set(heads)
    assert page.locator("button:not(.sort):visible").count() == 0
    page.close()
