"""The site is built without warnings, needs no other host, and its links lead somewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent


class Page(HTMLParser):
    """What a page refers to, and where it can be referred to."""

    def __init__(self, text: str):
        super().__init__()
        self.links, self.loaded, self.anchors, self.style = [], [], set(), False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a":
            self.links += [values["href"]] if "href" in values else []
            return
        for name in ("src", "srcset", "href", "data", "poster", "action"):
            self.loaded += [values[name]] if name in values else []
        self.loaded += css_references(values.get("style", ""))
        self.style = tag == "style"

    def handle_data(self, data):
        self.loaded += css_references(data) if self.style else []


def css_references(text: str) -> list[str]:
    """What a style sheet loads."""
    imports = re.findall(r"@import\s+(?:url\()?\s*[\"']?([^\"')\s;]+)", text)
    return [*imports, *re.findall(r"url\(\s*[\"']?((?!data:)[^\"')]+)", text)]


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = folder / "html"
    words = ["--quiet", "--fail-on-warning", "--builder", "html", "--conf-dir", "docs", "--doctree-dir"]
    command = [sys.executable, "-m", "sphinx", *words, folder / "doctrees", ".", built]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ, timeout=300)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    return built


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_another_host(site, pages):
    loaded = [(path.name, each) for path, page in pages.items() for each in page.loaded]
    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        loaded += [(path.name, each) for each in css_references(path.read_text())]
        loaded += [(path.name, each) for each in re.findall(r"<image[^>]+href=\"([^\"]+)\"", path.read_text())]
    assert len(loaded) > 1000
    assert [each for each in loaded if is_elsewhere(each[1])] == []


def test_every_link_leads_somewhere(site, pages):
    wrong, count = [], 0
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            if is_elsewhere(link) or link.startswith("data:"):
                continue
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            count += 1
            there = target.is_file() and (not anchor or target.suffix != ".html" or anchor in pages[target].anchors)
            wrong += [] if there else [(str(path.relative_to(site)), link)]
    assert wrong == []
    assert count > 3000


def test_maths_is_mathml(site):
    assert (site / "docs" / "concepts.html").read_text().count('<math xmlns="http://www.w3.org/1998/Math/MathML"') >= 2


def test_names_in_the_text_lead_to_the_api(pages, site):
    page = pages[site / "docs" / "guides" / "own-model.html"]
    assert "../api/layers.html#mttt.with_inner_loop" not in page.links  # it is written with arguments there
    assert "../api/layers.html#mttt.Mixed" in page.links


def test_the_front_leads_to_the_first_page(site):
    assert 'url=docs/index.html"' in (site / "index.html").read_text()


def test_search_finds_words_without_a_server(site):
    """The index is a script: browsers run scripts from files, where they refuse to read other files."""
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")
    assert '"reconstruct' in index or "reconstruct:" in index
    assert "searchindex.js" in (site / "search.html").read_text()


def test_references_elsewhere_are_seen():
    page = Page('<img src="https://a.b/c.png"><a href="https://a.b">x</a><style>@import "//a.b/c.css";</style>')
    assert [is_elsewhere(each) for each in page.loaded] == [True, True]
    assert css_references("a { background: url(http://a.b/c) } b { background: url('data:x') }") == ["http://a.b/c"]
    assert not is_elsewhere("../a.html#b")
