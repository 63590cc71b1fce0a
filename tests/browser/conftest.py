"""One browser and one server for all tests of the page."""

import pytest

from browser.harness import browser_or_skip, serving


@pytest.fixture(scope="package")
def site(tmp_path_factory):
    with serving(browser_or_skip(), tmp_path_factory.mktemp("served")) as site:
        yield site
