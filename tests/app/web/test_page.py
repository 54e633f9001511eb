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

import pytest
import uvicorn

from tacit.app.web.server import Connection, host_names
from tacit.app.web.service import create_app
from tacit.app.web.workspace import Workspace
from tacit.judge import JudgmentStore
from tacit.search import Searcher

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium was found; install one to test the page")

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
        app = create_app(Workspace(model, Searcher.load(model), store), hosts=host_names("127.0.0.1", port, ()))
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
    page.wait_for_selector("#search-state:has-text('answers')")


def test_searching_explaining_and_marking(page):
    search(page, "inverse matrix")
    titles = page.locator(".hit h3").all_inner_texts()
    assert titles[0].startswith("1")
    assert page.locator("mark").count() > 0
    page.locator(".hit").first.get_by_text("Why", exact=True).click()
    page.wait_for_selector(".why table")
    assert "inverse" in page.locator(".why").first.inner_text()
    page.locator(".hit").first.get_by_text("Why above the next").click()
    page.wait_for_selector(".why:has-text('Above')")
    page.locator(".hit").nth(4).get_by_text("Like", exact=True).click()
    liked = titles[4].lstrip("0123456789 ")
    page.wait_for_function("title => document.querySelector('.hit h3').textContent.includes(title)", arg=liked)


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


def test_views_without_anything_say_what_to_do(page):
    assert "Type a query" in page.inner_text("#view-search")
    assert page.locator("#compare").is_hidden()
    page.click("nav a[data-view=judge]")
    assert "One document at a time" in page.inner_text("#view-judge")
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged:has-text('Nothing is judged yet')")
    assert page.locator("#train").is_hidden()
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list:has-text('There are no queries yet')")
    page.click("#queries-form button[type=submit]")
    page.wait_for_selector("#queries-state.error:has-text('no query to add')")


def test_a_hostile_document_is_only_text(page):
    search(page, "quotes right to left matrix")
    first = page.locator(".hit", has_text="<script>alert(1)</script>").first
    assert first.is_visible()
    assert page.locator("#results script").count() == 0


def add_queries(page, *queries):
    page.click("nav a[data-view=queries]")
    page.fill("#new-queries", "\n".join(queries))
    page.click("#queries-form button[type=submit]")
    page.wait_for_selector("#queries-state:has-text('added')")


def start_judging(page, name="ann"):
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", name)
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#card:not([hidden])")


def test_judging_by_keys_with_undo_skip_and_cannot_judge(page, model):
    add_queries(page, "maths: inverse matrix", "onion soup")
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
    page.route("**/next?*after=*", lambda route: route.abort())
    start_judging(page)
    for n_judged in (1, 2):
        page.keyboard.press("2")
        page.wait_for_selector(f"#judge-state:has-text('{n_judged} judged by you')")


def test_training_and_switching(page, service):
    topics = {"cats": "kitten fur", "maths": "inverse rank", "soup": "onion salt"}
    for number, asked in enumerate(list(topics) * 4):
        for document in [f"{topic}-{n}" for topic in topics for n in (0, 1)]:
            grade = int(document.startswith(asked))
            body = {"query": f"{topics[asked]} {number}", "document": document, "grade": grade, "judge": "ann"}
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(f"{service.address}/judgments", json.dumps(body).encode(), headers)
            urllib.request.urlopen(request).read()
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged:has-text('12 queries')")
    page.click("#train")
    page.wait_for_selector("#verdict:not([hidden])", timeout=120_000)
    assert "judged queries" in page.inner_text("#verdict")
    page.get_by_role("button", name="Let it answer").click()
    page.wait_for_selector("#served:has-text('version 2')")
    page.get_by_role("button", name="Roll back to it").click()
    page.wait_for_selector("#served:has-text('version 1')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_serious_for_accessibility(browser, service, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(service.address)
    search(page, "inverse matrix")
    page.locator(".hit").first.get_by_text("Why", exact=True).click()
    page.wait_for_selector(".why table")
    add_queries(page, "inverse matrix")
    for view in ("search", "judge", "learn", "queries"):
        page.click(f"nav a[data-view={view}]")
        if view == "judge":
            start_judging(page)
        found = axe.Axe().run(page).response["violations"]
        serious = [
            (violation["id"], [node["html"] for node in violation["nodes"]][:2])
            for violation in found
            if violation["impact"] in ("serious", "critical")
        ]
        assert serious == [], f"{view}, {scheme}, {width}"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
            f"{view} is too wide at {width}"
        )
    page.close()
