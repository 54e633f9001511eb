"""Pictures of the web app for the README and the documentation: search, judge and learn, light and dark.

    python benchmarks/screenshots.py [--out docs/pictures]

Serves a fresh copy of the tour on this machine, trains a version on its sample judgments, and drives the system's
Chromium by Playwright. The pictures are reduced to 64 colours.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tacit.app.web.tour import open_tour

N_COLOURS = 64
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        model, store, _ = open_tour(Path(folder) / "tour")
        command = [sys.executable, "-m", "tacit", "serve", str(model), "--judgments", str(store), "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
            try:
                address = service.stderr.readline().split(" at ")[1].split("/ ")[0]
                chromium = tools.chromium.launch(executable_path=browser, args=FLAGS)
                for scheme in ("light", "dark"):
                    page = chromium.new_page(color_scheme=scheme, viewport={"width": 1100, "height": 760})
                    page.set_default_timeout(300_000)
                    page.goto(address)
                    for picture in take_pictures(page, out, scheme):
                        reduce_colours(picture)
                chromium.close()
            finally:
                service.terminate()


def take_pictures(page: Page, out: Path, scheme: str) -> list[Path]:
    page.click("nav a[data-view=learn]")
    page.wait_for_selector("#judged table")
    page.wait_for_selector("#scoreboard")
    if page.locator("#scoreboard tbody tr").count() == 1:
        page.click("#train")
        page.wait_for_selector("#verdict:not([hidden])", timeout=600_000)
    page.wait_for_selector(".bar-row")
    page.set_viewport_size({"width": 1100, "height": 1000})
    page.screenshot(path=out / f"learn-{scheme}.png")
    page.set_viewport_size({"width": 1100, "height": 760})
    page.click("nav a[data-view=judge]")
    page.fill("#judge-name", "ann")
    page.press("#judge-name", "Enter")
    page.wait_for_selector("#card:not([hidden])", timeout=120_000)
    page.screenshot(path=out / f"judge-{scheme}.png")
    page.goto(page.url.split("#")[0] + "#search?q=fill+in+missing+values&vs=2&why=sklearn.impute.SimpleImputer")
    page.wait_for_function("() => document.querySelectorAll('.why table').length === 2")
    page.screenshot(path=out / f"search-{scheme}.png")
    return [out / f"{view}-{scheme}.png" for view in ("search", "judge", "learn")]


def reduce_colours(path: Path) -> None:
    Image.open(path).convert("RGB").quantize(N_COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    main()
