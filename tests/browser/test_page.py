"""What all views have in common: trainings, exports, looks, and what the page consists of."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

import mttt
from browser.harness import NARROW, WIDE, at, choose, overflow, part, settled
from mttt.watch.document import document

PAGE = Path(mttt.__file__).parent / "watch" / "page"
MODEL, TEXT = "digits-mttt-mlp", "shakespeare-ttt-mlp"
TRACE = {"model": MODEL, "input": {"example": "1"}, "steps": 4, "rate": 8.0}
UPDATE = TRACE | {"layer": 0, "head": 0, "token": 20, "t": 3}


def test_a_training_is_watched(site):
    with site.tab() as page:
        choose(page, "fresh")
        told = page.locator("#view-training [data-part=progressText]")
        expect(page.locator("#tab-training")).to_have_attribute("aria-selected", "true")  # there is nothing else
        expect(told).to_contain_text("training now")
        expect(page.locator("#view-training canvas")).to_have_count(3)  # no inner losses yet
        with page.expect_response("**/api/training*", timeout=5000):
            site.add_record()
        expect(told).to_contain_text("Step 3 of 1347")
        page.click("#tab-input")
        expect(part(page, "note")).to_contain_text("It has no checkpoint yet")
        choose(page, MODEL)
        settled(page, 4)


def test_a_first_checkpoint_is_found(site):
    early = site.ask("/api/models")
    next(one for one in early["models"] if one["id"] == "twin").update(
        usable=False, why_not="It has no checkpoint yet."
    )
    with site.tab() as page:
        page.route("**/api/models", lambda route: route.fulfill(json=early))
        page.reload()
        choose(page, "twin")
        page.click("#tab-input")
        expect(part(page, "note")).to_contain_text("It has no checkpoint yet")
        page.unroute("**/api/models")
        page.click("#tab-training")
        page.click("#tab-input")
        settled(page, 4)
        expect(part(page, "note")).to_be_hidden()


def test_a_model_without_its_data_says_so_and_takes_pictures(site, tmp_path):
    Image.new("L", (8, 8), 100).save(tmp_path / "mine.png")
    with site.tab() as page:
        choose(page, "bare")
        expect(part(page, "note")).to_contain_text("cannot be read: they moved. No picture is chosen.")
        page.set_input_files("#file", tmp_path / "mine.png")
        settled(page, 4)
        expect(part(page, "note")).to_be_hidden()


@pytest.fixture(scope="module")
def exported(site, tmp_path_factory):
    """A page with few answers."""
    models = site.ask("/api/models")
    models["models"] = [model for model in models["models"] if model["id"] in (MODEL, TEXT)]
    text = next(model for model in models["models"] if model["id"] == TEXT)["examples"][0]["text"]
    asked = [
        ("/api/trace", TRACE),
        ("/api/trace", TRACE | {"steps": 2}),
        ("/api/update", UPDATE),
        ("/api/read", {"model": TEXT, "text": text}),
    ]
    answers = [
        {"path": path, "request": dict(reversed(request.items())), "answer": site.ask(path, **request)}
        for path, request in asked
    ]
    path = tmp_path_factory.mktemp("exported") / "page.html"
    source = {"mode": "export", "version": models["version"], "models": models, "answers": answers}
    path.write_text(document(source).html, encoding="utf-8")
    return path


def test_an_export_is_opened_from_disk(site, exported):
    with site.tab(address=exported.as_uri(), offline=True) as page:
        settled(page, 4)
        expect(page.locator("#export-note")).to_contain_text("stored answers only")
        expect(page.locator("#examples button:enabled")).to_have_count(1)
        expect(page.locator("#examples [aria-pressed=true]")).to_have_attribute("data-example", "1")
        for name in ("#file", "#invert", "#clear"):
            expect(page.locator(name)).to_be_disabled()
        expect(part(page, "rate")).to_be_disabled()  # one was stored
        at(page, 0)
        expect(part(page, "answer")).to_contain_text("at t = 0")
        box = part(page, "picture").bounding_box()
        click = {"x": box["width"] * 4.5 / 8, "y": box["height"] * 2.5 / 8}
        part(page, "picture").click(position=click)  # token 20; the one step that was stored
        expect(part(page, "token")).to_contain_text("step W₃ → W₄")
        part(page, "picture").click(position={"x": 3, "y": 3})
        expect(part(page, "token")).to_contain_text("no stored answer")
        part(page, "steps").fill("1")  # the nearest that was stored
        expect(page.locator("#t-value")).to_contain_text("of 2")
        assert part(page, "steps").input_value() == "2"
        choose(page, TEXT)
        expect(part(page, "reading")).to_be_visible()
        expect(part(page, "write")).to_be_disabled()


def test_it_fits_and_has_two_themes(site):
    """A theme is colours alone, and a width is none: each of both once."""
    papers = set()
    for width, scheme in ((WIDE, "light"), (NARROW, "dark")):
        with site.tab(width, scheme) as page:
            papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            choose(page, MODEL, "twin")
            settled(page, 4)
            part(page, "picture").press("ArrowRight")
            part(page, "picture").press("Enter")
            expect(part(page, "sum")).to_be_visible()
            assert overflow(page) <= 0
            choose(page, TEXT)
            expect(part(page, "reading")).to_be_visible()
            assert overflow(page) <= 0
            choose(page, "fresh")
            expect(page.locator("#view-training canvas")).to_have_count(3)
            assert overflow(page) <= 0
    assert len(papers) == 2


def test_controls_have_names_and_colours_follow_the_theme(site):
    with site.tab() as page:
        choose(page, MODEL)
        settled(page, 4)
        script = """nodes => nodes.filter(node => node.offsetParent && !node.labels?.length && !node.textContent.trim()
            && !node.getAttribute("aria-label") && !node.querySelector("img[alt]")).map(node => node.outerHTML)"""
        assert page.locator("button, input, select, textarea, canvas[tabindex]").evaluate_all(script) == []
        step = part(page, "probabilities").locator("td.step").first
        before = step.evaluate("node => node.style.backgroundColor")
        page.emulate_media(color_scheme="dark")
        expect(step).not_to_have_css("background-color", before)


# ---- without a browser


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_can_be_read(theme):
    style = (PAGE / "base.css").read_text().split("@media (prefers-color-scheme: dark)")[theme].split("}")[0]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", style))
    papers = [("paper", ink) for ink in ("ink", "soft", "accent", "chosen", "bad")]
    papers += [("panel", ink) for ink in ("ink", "soft", "accent")]
    papers += [("accent-pale", "ink"), ("bad-paper", "bad"), ("accent", "accent-ink")]
    for paper, ink in papers:
        assert contrast(colours[paper], colours[ink]) >= 4.5, (paper, ink)


def test_nothing_is_asked_of_others_and_the_policy_holds():
    for path in PAGE.rglob("*"):
        if path.suffix in {".js", ".css", ".html"} and path.parent == PAGE:
            text = path.read_text()
            assert not re.search(r"https?:|//\w+\.\w+/|\beval\(|new Function|innerHTML|\sstyle=|\son\w+=\"", text), path
    assert json.loads(re.search(r'id="mttt-source"[^>]*>([^<]*)<', document({"mode": "live"}).html)[1]) == {
        "mode": "live"
    }


def test_what_is_vendored_is_what_was_recorded():
    recorded = re.findall(r"^ +(\w{64})  (\S+)$", (PAGE / "vendor" / "ATTRIBUTION.md").read_text(), re.M)
    assert {name for _, name in recorded} == {path.name for path in (PAGE / "vendor").iterdir()} - {"ATTRIBUTION.md"}
    for digest, name in recorded:
        assert hashlib.sha256((PAGE / "vendor" / name).read_bytes()).hexdigest() == digest, name
