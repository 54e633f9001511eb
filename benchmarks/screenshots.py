"""Pictures of the web app for the README and the documentation: search, judge, learn and queries, light and dark.

`cycle-light.png` and `cycle-dark.png` show the three steps in one picture: judge, train, decide.

    python benchmarks/screenshots.py [--out docs/pictures] [--model cran.model] [--data DATA]

Fits `blend` on the 1,400 abstracts of Cranfield (`text/cranfield` of DATA, default $TACIT_DATA), stores the judgments
of its first 80 queries, serves the model on this machine and trains a version on them. An existing MODEL is served as
it is, with its judgments and versions. The pages are photographed by the system's Chromium through Playwright, and
reduced to 256 colours. `tacit fit` and the training use seed 0.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, sync_playwright

from tacit.data import read_collection
from tacit.judge import JudgmentStore
from tacit.search import Searcher

N_COLOURS = 256
N_QUERIES = 80
QUERY = "heat transfer in a laminar boundary layer"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WIDTH, HEIGHT = 1280, 900
GAP = 24
TITLE = 44  # height of the line above a step
COLOURS = {"light": ("#f3f5f8", "#16181d"), "dark": ("#0f1215", "#eceef2")}  # background and text of `cycle`


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TACIT_DATA", "../shared/data")))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        model = args.model or Path(folder) / "cran.model"
        if not model.exists():
            make_model(args.data / "text" / "cranfield", model)
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            try:
                address = service.stderr.readline().split(" at ")[1].split("/ ")[0]
                chromium = tools.chromium.launch(executable_path=browser, args=FLAGS)
                for scheme in ("light", "dark"):
                    page = chromium.new_page(color_scheme=scheme, viewport={"width": WIDTH, "height": HEIGHT})
                    page.set_default_timeout(300_000)
                    page.goto(address)
                    for picture in take_pictures(page, args.out, scheme):
                        reduce_colours(picture)
                chromium.close()
            finally:
                service.terminate()


def make_model(source: Path, model: Path) -> None:
    """Fit `blend` without labels, and store the judgments of the first queries; grades are limited to 3."""
    Searcher().fit(read_collection(source / "docs.jsonl.gz")).save(model)
    queries = [json.loads(line) for line in (source / "queries.jsonl").read_text().splitlines()][:N_QUERIES]
    texts = {query["id"]: query["text"] for query in queries}
    with JudgmentStore(f"{model}.judgments") as store:
        for line in (source / "qrels.txt").read_text().splitlines():
            query, _, document, grade = line.split()
            if query in texts and int(grade) >= 0:
                store.record(texts[query], document, min(3, int(grade)), "assessor")


def take_pictures(page: Page, out: Path, scheme: str) -> list[Path]:
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged table")
    if page.locator("#scoreboard tbody tr").count() == 1:
        page.click("#train")
        page.wait_for_selector("#train-state:has-text('is trained')", timeout=7_200_000)
    page.wait_for_selector("#curve svg")
    page.wait_for_selector(".bar-row")
    steps = {"2  Train": element(page, "#train-panel"), "3  Decide": element(page, "#verdict")}
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(
        path=out / f"learn-{scheme}.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 1120}, full_page=True
    )
    gained = page.locator(".bar-row").first.get_attribute("href")
    page.click("nav a[data-view=queries]")
    page.wait_for_selector("#query-list .spark")
    page.screenshot(path=out / f"queries-{scheme}.png")
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#card:not([hidden])")
    compose({"1  Judge": element(page, "#card"), **steps}, scheme).save(out / f"cycle-{scheme}.png")
    page.screenshot(path=out / f"judge-{scheme}.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 700})
    page.goto(page.url.split("#")[0] + gained)
    page.wait_for_function("() => document.querySelectorAll('#results > div').length === 2")
    page.screenshot(path=out / f"compare-{scheme}.png")
    page.goto(page.url.split("#")[0] + "#search?model=2&q=" + QUERY.replace(" ", "+"))
    page.locator(".hit").first.locator("[data-action=why]").click()
    page.wait_for_selector(".why table")
    page.screenshot(path=out / f"search-{scheme}.png")
    return [out / f"{view}-{scheme}.png" for view in ("search", "judge", "learn", "queries", "compare", "cycle")]


def element(page: Page, selector: str) -> Image.Image:
    page.evaluate("scrollTo(0, 0)")  # else the navigation, which stays at the top, may cover the element
    return Image.open(io.BytesIO(page.locator(selector).screenshot()))


def compose(steps: dict[str, Image.Image], scheme: str) -> Image.Image:
    """Two steps next to each other, and the last one below, each under its name."""
    background, text = COLOURS[scheme]
    *upper, last = steps.values()
    scale = (WIDTH - 3 * GAP) / sum(step.width for step in upper)
    upper = [step.resize((round(step.width * scale), round(step.height * scale)), Image.LANCZOS) for step in upper]
    last = last.resize((WIDTH - 2 * GAP, round(last.height * (WIDTH - 2 * GAP) / last.width)), Image.LANCZOS)
    below = TITLE + max(step.height for step in upper)
    lefts = [GAP, 2 * GAP + upper[0].width, GAP]
    picture = Image.new("RGB", (WIDTH, below + TITLE + last.height + GAP), background)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), 18)
    for name, step, left, top in zip(steps, [*upper, last], lefts, (0, 0, below), strict=True):
        draw.text((left, top + 14), name, text, font)
        picture.paste(step, (left, top + TITLE))
    return picture


def reduce_colours(path: Path) -> None:
    Image.open(path).convert("RGB").quantize(N_COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
