"""A text on its way through a language model, in the browser."""

import numpy as np
import pytest
from playwright.sync_api import expect

from browser.harness import choose, part

MODEL = "shakespeare-ttt-mlp"
TEXT = "The sun, the sün.\n" * 4


@pytest.fixture
def page(site):
    with site.tab() as page:
        choose(page, MODEL)
        expect(part(page, "reading")).to_be_visible()
        yield page


def background(span):
    return span.evaluate("node => getComputedStyle(node).backgroundImage + getComputedStyle(node).backgroundColor")


def test_every_byte_has_its_loss(site, page):
    page.fill("#text", TEXT)
    expect(page.locator("#text-size")).to_contain_text(f"{len(TEXT.encode())} bytes of at most 20000")
    text = part(page, "bytes").locator("span")
    expect(text).to_have_count(len(TEXT))  # one for each character, whatever its bytes
    answer = site.ask("/api/read", model=MODEL, text=TEXT)
    mean = np.mean(answer["loss"][1:])
    assert float(part(page, "means").locator("b").first.inner_text()) == pytest.approx(mean, abs=0.006)
    first, ue = text.nth(0), text.nth(TEXT.index("ü"))
    assert "gradient" in background(ue) and "gradient" not in background(first)
    text.nth(5).click()
    expected = part(page, "expected")
    expect(expected).to_contain_text("Byte 5: u, loss")
    expect(expected.locator("tr")).to_have_count(5)
    part(page, "bytes").press("ArrowLeft")
    expect(expected).to_contain_text("Byte 4: s, loss")
    learning = background(text.nth(5))
    part(page, "which").get_by_text("difference").click()
    expect(part(page, "legend")).to_contain_text("learning − frozen")
    assert background(text.nth(5)) != learning
    expect(part(page, "state")).to_contain_text("for a text of any length")
    expect(part(page, "distance").locator("[role=img]")).to_have_attribute(
        "aria-label", "Distance of W from its start, along 64 bytes of text."
    )


def test_a_text_that_is_too_long(page):
    page.fill("#text", "a" * 20_001)
    expect(page.locator("#text-size")).to_contain_text("too long")


def test_it_writes_and_stops(page):
    part(page, "count").fill("12")
    part(page, "write").click()
    written = part(page, "written").locator("span")
    expect(part(page, "writtenNote")).to_contain_text("12 bytes")
    assert 1 <= written.count() <= 12
    written.nth(2).click()
    expect(part(page, "writtenExpected").locator("tr")).to_have_count(5)
    expect(part(page, "writtenExpected")).to_contain_text("surprise")
    part(page, "count").fill("1000")
    part(page, "write").click()
    expect(written.nth(3)).to_be_visible()
    part(page, "stop").click()
    expect(part(page, "writtenNote")).to_contain_text("Stopped after")
    expect(part(page, "write")).to_be_enabled()
