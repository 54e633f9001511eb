"""Pictures of the page for the README: search, judge and learn, light and dark.

    python benchmarks/screenshots.py [--out docs/pictures]

Serves a model of the embedded corpus on this machine, and drives the system's Chromium by Playwright. The pictures are
reduced to 64 colours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tacit import Searcher, read_pydocs

QUESTIONS = {  # with a part of the names of good answers
    "pseudo inverse of a singular matrix": "pinv",
    "interpolate scattered points": "griddata",
    "cross validation that keeps groups together": "Group",
    "two samples from the same distribution": "ks_",
    "remove noise without shifting it": "filtfilt",
    "count how often each value occurs": "unique",
    "smallest distance between two sets of points": "cdist",
    "fit a line through noisy points": "polyfit",
    "turn categories into numbers": "Encoder",
    "fill in missing values": "Imputer",
    "random numbers that can be repeated": "default_rng",
    "solve a sparse system of equations": "spsolve",
}
N_COLOURS = 64
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        model = Path(folder) / "pydocs.model"
        Searcher(stem=True).fit(read_pydocs()[0]).save(model)
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            address = service.stderr.readline().split(" at ")[1].split("/ ")[0]
            chromium = tools.chromium.launch(executable_path=browser, args=FLAGS)
            judge_questions(address)
            for scheme in ("light", "dark"):
                page = chromium.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 760})
                page.goto(address)
                for picture in take_pictures(page, out, scheme):
                    reduce_colours(picture)
            chromium.close()
            service.terminate()


def send(address: str, path: str, body: object) -> None:
    headers = {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(address + path, json.dumps(body).encode(), headers)).read()


def judge_questions(address: str) -> None:
    """A few judgments, so that the views have something to show: an answer is good if its name says so."""
    send(address, "/queries", [{"text": text} for text in QUESTIONS])
    for text, name in QUESTIONS.items():
        with urllib.request.urlopen(f"{address}/search?k=10&q={urllib.request.quote(text)}") as answer:
            for hit in json.load(answer)["hits"]:
                grade = 2 if name in hit["id"] else 0
                send(address, "/judgments", {"query": text, "document": hit["id"], "grade": grade, "judge": "example"})


def take_pictures(page: Page, out: Path, scheme: str) -> list[Path]:
    page.fill("#q", "pseudo inverse of a singular matrix")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    page.locator(".hit").first.get_by_text("Why", exact=True).click()
    page.wait_for_selector(".why table")
    page.screenshot(path=out / f"search-{scheme}.png")
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#card:not([hidden])")
    page.screenshot(path=out / f"judge-{scheme}.png")
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged table")
    if page.locator("#verdict").is_hidden():
        page.click("#train")
        page.wait_for_selector("#verdict:not([hidden])", timeout=600_000)
    page.screenshot(path=out / f"learn-{scheme}.png")
    return [out / f"{view}-{scheme}.png" for view in ("search", "judge", "learn")]


def reduce_colours(path: Path) -> None:
    Image.open(path).convert("RGB").quantize(N_COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
