"""One browser and one server for all tests of the page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from browser.harness import Site, browser_or_skip

TESTS = Path(__file__).parent.parent
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="package")
def site(tmp_path_factory):
    executable = browser_or_skip()
    # A process of its own: what it computes is checked elsewhere, and it answers while a test waits.
    words = [sys.executable, "-m", "browser.serve", tmp_path_factory.mktemp("served")]
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=os.environ | {"PYTHONPATH": path}, **pipes) as server:

        def add_record():
            server.stdin.write("one more\n")
            server.stdin.flush()

        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
                address = server.stdout.readline().strip()
                assert address.startswith("http://127.0.0.1:")
                yield Site(browser, address, add_record)
                browser.close()
        finally:
            server.terminate()
