"""Make docs/watch.png anew: cd tests && ../.venv/bin/python -m browser.screenshot ../docs/watch.png"""

import sys
import tempfile
from pathlib import Path

from browser.harness import at, browser_or_skip, choose, part, serving, settled


def main(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, serving(browser_or_skip(), Path(folder)) as site, site.tab() as page:
        choose(page, "digits-mttt-mlp")
        page.locator("#examples button").nth(8).click()
        settled(page, 4)
        at(page, 1)
        page.locator("#examples button").nth(8).click()  # compiled by now
        page.locator(":focus").blur()
        page.wait_for_timeout(500)  # bars move
        stage = part(page, "stage").bounding_box()
        clip = {"x": 0, "y": 0, "width": 1400, "height": stage["y"] + stage["height"] + 24}
        page.screenshot(path=path, full_page=True, clip=clip)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
