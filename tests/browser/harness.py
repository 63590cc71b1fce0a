"""The page in a browser: what is asked of it and what it answers, and that it never complains or looks elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

SECONDS = 40_000
"""milliseconds of patience: programs are compiled, and other tests run"""
TESTS = Path(__file__).parent.parent
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDE, NARROW = 1400, 420
expect.set_options(timeout=SECONDS)


def browser_or_skip() -> str:
    """The path of a browser. Where MTTT_BROWSER is "required", its absence is a failure."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = f"no browser: none of {', '.join(NAMES)} is on the path"
        (pytest.fail if os.environ.get("MTTT_BROWSER") == "required" else pytest.skip)(reason)
    return found


class Site:
    """A server of the page and a browser."""

    def __init__(self, browser, address, add_record):
        self.browser, self.address, self.add_record = browser, address, add_record

    def ask(self, path, **request):
        """The server's answer, without the page."""
        content = json.dumps(request).encode() if request else None
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.address}{path.lstrip('/')}", content, headers)
        with urllib.request.urlopen(asked, timeout=SECONDS / 1000) as answer:
            return json.load(answer)

    @contextmanager
    def tab(self, width=WIDE, scheme="light", address=None, offline=False, complains=False):
        """A page in a window of its own. At the end nothing has been complained about, and nobody else was asked."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=offline
        )
        context.set_default_timeout(SECONDS)
        page, complaints, asked = context.new_page(), [], []
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        try:
            page.goto(address or self.address)
            yield page
            foreign = [url for url in asked if not url.startswith((address or self.address, "data:", "blob:"))]
            assert foreign == [], foreign
            assert complains or complaints == [], complaints
        finally:
            context.close()


@contextmanager
def serving(executable: str, folder: Path) -> Iterator[Site]:
    """A server, in a process of its own: what it computes is checked elsewhere, and it answers while a test waits."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    words, pipes = (
        [sys.executable, "-m", "browser.serve", folder],
        {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
    )
    with subprocess.Popen(words, env=os.environ | {"PYTHONPATH": path}, text=True, **pipes) as server:

        def add_record():
            server.stdin.write("one more\n")
            server.stdin.flush()

        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
                address = server.stdout.readline().strip()
                assert address.startswith("http://127.0.0.1:"), address
                yield Site(browser, address, add_record)
                browser.close()
        finally:
            server.terminate()


def choose(page, model, beside=None):
    page.select_option("#model", model)
    if beside is not None:
        page.select_option("#beside", beside)


def part(page, name, column=0):
    """A marked element of a column of the view that is shown."""
    return page.locator(f"#view-input .column >> nth={column} >> [data-part={name}] >> nth=0")


def settled(page, steps=None):
    """The traces are there."""
    for stage in page.locator("#view-input [data-part=stage]").all():
        expect(stage).to_be_visible()
    if steps is not None:
        expect(page.locator("#t-value")).to_have_text(f"t = {steps} of {steps}")


def at(page, t):
    """Move the slider as one does with the keyboard."""
    slider = page.locator("#t")
    slider.press("Home")
    for _ in range(t):
        slider.press("ArrowRight")
    expect(page.locator("#t-value")).to_contain_text(f"t = {t} of")


def colour(page, canvas, x, y):
    """Of a point of a canvas; x and y are shares of its size."""
    script = """(canvas, [x, y]) => {
        const copy = new OffscreenCanvas(1, 1).getContext("2d");
        copy.drawImage(canvas, -Math.floor(x * canvas.width), -Math.floor(y * canvas.height));
        return Array.from(copy.getImageData(0, 0, 1, 1).data);
    }"""
    return canvas.evaluate(script, [x, y])


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
