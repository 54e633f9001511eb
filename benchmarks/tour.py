"""From `tacit serve` to a trained, compared and live version, by a scripted user: seconds of each step.

    python benchmarks/tour.py [--again]

Starts the tour in an empty cache folder (`--again`: in one with an existing tour) and drives the system's Chromium by
Playwright: search, explain, judge five documents by key, train, open one query in both versions, make the new version
live. The grades of the tour are by the program `see-also`, which the training names. Processor time is printed because
it depends less than seconds on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from playwright.sync_api import Page, Playwright, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 1_200_000  # ms
N_JUDGED = 5


class Steps:
    """Prints the seconds of each step, and the total."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        print(f"{name:42} {time.perf_counter() - begun:6.1f} s", flush=True)

    def end(self) -> None:
        print(f"{'all':42} {time.perf_counter() - self.start:6.1f} s, load of the machine {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--again", action="store_true", help="open a tour that was made before")
    again = parser.parse_args().again
    with tempfile.TemporaryDirectory() as cache:
        if again:
            with serving(cache):
                pass
        with sync_playwright() as tools:
            take_tour(tools, cache)


@contextmanager
def serving(cache: str) -> Iterator[str]:
    """Yield the address of `tacit serve` with its own cache folder."""
    command = [sys.executable, "-m", "tacit", "serve", "--port", "0"]
    environment = os.environ | {"XDG_CACHE_HOME": cache}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as service:
        try:
            lines = iter(service.stderr.readline, "")
            yield next(line for line in lines if " at http" in line).split(" at ")[1].split("/ ")[0]
        finally:
            service.terminate()


def take_tour(tools: Playwright, cache: str) -> None:
    steps = Steps()
    with ExitStack() as stack:
        with steps.step("tacit serve, until its address is printed"):
            address = stack.enter_context(serving(cache))
        with steps.step("open the page"):
            browser = next(path for name in ("chromium", "google-chrome") if (path := shutil.which(name)))
            page = tools.chromium.launch(executable_path=browser, args=FLAGS).new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(address)
        act(page, steps)
        steps.end()
        with steps.step("afterwards, the learning curve"):
            page.wait_for_selector("#train-state:has-text('is trained')")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{'processor time of service and training':42} {used.ru_utime + used.ru_stime:6.1f} s")


def act(page: Page, steps: Steps) -> None:
    with steps.step("search, and ask why"):
        page.fill("#q", "fill in missing values")
        page.press("#q", "Enter")
        page.wait_for_selector("#search-state:has-text('results')")
        page.locator(".hit").first.locator("[data-action=why]").click()
        page.wait_for_selector(".why table")
    with steps.step(f"judge {N_JUDGED} documents by key"):
        page.click("nav a[data-view=judge]")
        page.fill("#judge-name", "visitor")
        page.press("#judge-name", "Enter")
        for number in range(N_JUDGED):
            page.wait_for_selector("#card:not([hidden])")
            page.keyboard.press("1")
            page.wait_for_selector(f"#judge-state:has-text('{number + 1} judged by you')")
    with steps.step("train a version on the sample, and compare"):
        page.click("nav a[data-view=learn]")
        page.select_option("#train-judge", "see-also")
        page.click("#train")
        page.wait_for_selector("#verdict:not([hidden])")
    print(page.inner_text("#verdict"))
    with steps.step("open a query side by side"):
        page.locator(".bar-row").first.click()
        page.wait_for_function("() => document.querySelectorAll('#results > div').length === 2")
    with steps.step("make it live"):
        page.click("nav a[data-view=learn]")
        page.locator("#scoreboard").get_by_role("button", name="Make version 2 live").click()
        page.wait_for_selector("#served:has-text('version 2'), #confirm[open]")
        if page.locator("#confirm").is_visible():
            page.click("#confirm-yes")
        page.wait_for_selector("#served:has-text('version 2')")


if __name__ == "__main__":
    main()
