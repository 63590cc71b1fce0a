"""The first ten minutes of README in a new clone, timed: from the clone to the page with a picture of one's own.

    cd tests && ../.venv/bin/python -m browser.first_minutes ../results/first-minutes

It clones the repository it is in, and runs the commands as a newcomer would, with an environment of its own. The page
is opened in headless Chromium, and a picture that is in no data set, a seven in ink on grey paper, is dropped on it.
"""

import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Page, sync_playwright

from browser.harness import OPTIONS, browser_or_skip, part, settled

REPOSITORY = Path(__file__).parents[2]
COMMANDS = (
    f"git clone --quiet {REPOSITORY.as_uri()} mttt",
    "make install",
    "make train",
    "mttt evaluate runs/digits",
    "mttt evaluate runs/digits --steps 0",
)
WATCH = "mttt watch runs/digits --no-browser --port 0"


def picture() -> bytes:
    """A seven, drawn with a pen."""
    paper = Image.new("L", (120, 120), 205)
    pen = ImageDraw.Draw(paper)
    pen.line([(32, 28), (86, 26), (55, 98)], fill=40, width=9, joint="curve")
    file = io.BytesIO()
    paper.save(file, "PNG")
    return file.getvalue()


def environment(clone: Path) -> dict[str, str]:
    """Of a shell in which `. .venv/bin/activate` was said, and in which nothing of this process's own is active."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "JAX"))}
    paths = [path for path in found["PATH"].split(os.pathsep) if ".venv" not in path]
    # Programs are compiled anew, as on a machine that has none.
    return found | {"PATH": os.pathsep.join([str(clone / ".venv/bin"), *paths]), "XDG_CACHE_HOME": str(clone / "cache")}


def run(command: str, folder: Path, clone: Path) -> dict:
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(clone), capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - begin
    lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
    print(f"{seconds:7.1f} s  {command}", *lines[-6:], sep="\n    ", flush=True)
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}\n{done.stderr[-3000:]}")
    return {"command": command, "seconds": round(seconds, 1), "end": lines[-6:]}


@contextmanager
def watched(clone: Path) -> Iterator[tuple[Page, float]]:
    """The page of `mttt watch`, and how long it took to be there."""
    begin = time.monotonic()
    server = subprocess.Popen(
        WATCH.split(), cwd=clone, env=environment(clone), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert server.stdout is not None
        address = next(word for line in server.stdout for word in line.split() if word.startswith("http"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_or_skip(), args=OPTIONS)
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address)
            yield page, time.monotonic() - begin
            browser.close()
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait()


def look(page: Page, out: Path) -> tuple[list[dict], str]:
    """Drop the picture, move the slider, and read what the page says."""
    steps = []
    settled(page)
    begin = time.monotonic()
    with page.expect_response("**/api/trace"):
        page.set_input_files("#file", {"name": "mine.png", "mimeType": "image/png", "buffer": picture()})
    with page.expect_response("**/api/trace"):
        page.check("#invert")
    steps.append({"command": "a picture of one's own", "seconds": round(time.monotonic() - begin, 1)})
    page.locator("#t").press("End")
    page.wait_for_timeout(500)  # the page is drawn, bars move
    answer = part(page, "answer").inner_text()
    page.screenshot(path=out / "page.png", full_page=True)
    return steps, " ".join(answer.split())


def main(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp())
    try:
        clone = folder / "mttt"
        begin = time.monotonic()
        steps = [run(command, clone if number else folder, clone) for number, command in enumerate(COMMANDS)]
        steps[0]["command"] = "git clone"  # from where does not matter
        with watched(clone) as (page, opened):
            steps.append({"command": WATCH, "seconds": round(opened, 1)})
            looked, answer = look(page, out)
        steps += looked
        record = {
            "command": "python -m browser.first_minutes",
            "python": platform.python_version(),
            "seconds": round(time.monotonic() - begin, 1),
            "steps": steps,
            "the page says": answer,
        }
    finally:
        shutil.rmtree(folder)
    (out / "first-minutes.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{record['seconds']:7.1f} s in all; the page says: {answer}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
