"""A picture on its way through a model, in the browser."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from browser.harness import at, choose, colour, part, settled

MODEL = "digits-mttt-mlp"
TRAINED = {"model": MODEL, "input": {"example": "0"}, "steps": 4, "rate": 8.0}


@pytest.fixture
def page(site):
    with site.tab() as page:
        choose(page, MODEL)
        settled(page, 4)
        yield page


def png(pixels, kind="PNG"):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return {"name": "mine.png", "mimeType": "image/png", "buffer": file.getvalue()}


def predicted(answer, t):
    return answer["classes"][int(np.argmax(answer["probabilities"][t]))]


def test_the_slider_shows_every_step(site, page):
    answer = site.ask("/api/trace", **TRAINED)
    picture, legend = part(page, "picture"), part(page, "legend")
    corner = {}
    for t in (0, 2, 4):
        at(page, t)
        p = max(answer["probabilities"][t])
        expect(part(page, "answer")).to_contain_text(f"{predicted(answer, t)}{100 * p:.1f} % at t = {t}")
        mean = np.mean([head[t] for head in answer["losses"][0]])
        told = part(page, "layers").locator("button").first.inner_text()
        assert float(told.removeprefix("layer 1: ")) == pytest.approx(mean, abs=0.006)
        corner[t] = colour(page, picture, 0.005, 0.005)[:3], legend.inner_text()
    # What is lost falls, so the colour gets lighter; the scale stays.
    assert sum(corner[4][0]) > sum(corner[2][0]) > sum(corner[0][0])
    assert corner[0][1] == corner[4][1]
    assert part(page, "probabilities").locator("tbody tr").count() == 10
    page.locator("#play").click()  # from the end: it begins anew
    expect(page.locator("#t-value")).to_have_text("t = 0 of 4")
    expect(page.locator("#t-value")).to_have_text("t = 4 of 4")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play the inner steps")


def test_other_steps_and_rates(site, page):
    steps, rate, told = part(page, "steps"), part(page, "rate"), part(page, "trained")
    expect(told).to_have_text("as trained: T = 4, η = 8")
    expect(part(page, "reset")).to_be_hidden()
    steps.fill("2")
    rate.fill("4")
    settled(page, 2)
    answer = site.ask("/api/trace", **TRAINED | {"steps": 2, "rate": 4.0})
    expect(part(page, "answer")).to_contain_text(f"{predicted(answer, 2)}{100 * max(answer['probabilities'][2]):.1f} %")
    expect(told).to_have_text("trained: T = 4, η = 8")
    for wrong in ("17", "", "1.5"):
        steps.fill(wrong)
        expect(part(page, "error")).to_have_text("T is a whole number from 0 to 16, and η is a number.")
    part(page, "reset").click()
    settled(page, 4)
    expect(part(page, "error")).to_be_hidden()
    assert (steps.input_value(), rate.input_value()) == ("4", "8")


def test_a_token_down_to_the_arithmetic(site, page):
    at(page, 1)
    picture, panel = part(page, "picture"), part(page, "token")
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] * 3.5 / 8, "y": box["height"] * 2.5 / 8})
    expect(panel.locator("h3").first).to_have_text("Token in row 3, column 4 · layer 1, head 1 · step W₁ → W₂")
    place = {"layer": 0, "head": 0, "token": 19, "t": 1}
    answer = site.ask("/api/update", **TRAINED, **place)
    expect(panel).to_contain_text(f"error after: loss {answer['loss_after']:.4g}"[:30])
    written = panel.locator("[data-part=sum]")

    def comes_out():
        found = re.fullmatch(r"W₂\[([\d, ]+)\]: (\S+) ([−+]) (\S+) · (\S+) = (\S+)", written.inner_text())
        before, rate, gradient, after = (float(found[i].replace("−", "-")) for i in (2, 4, 5, 6))
        assert rate == 8
        product = rate * gradient * (1 if found[3] == "+" else -1)
        assert before + product == pytest.approx(after, abs=2e-4)
        return [int(i) for i in found[1].split(", ")], after

    index, after = comes_out()
    assert index == answer["sample"]["index"]
    assert after == pytest.approx(answer["sample"]["after"], abs=1e-4)
    panel.locator("[data-part=matrices] canvas").first.click(position={"x": 3, "y": 3})
    assert comes_out()[0] == [0, 0]
    panel.locator("[data-part=strips] canvas").first.hover()
    expect(panel.locator("[data-part=stripReadout]")).to_contain_text("φ(x), number")
    page.locator("#t").press("ArrowRight")  # the panel goes with the step
    expect(panel.locator("h3").first).to_contain_text("step W₂ → W₃")
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()


def test_layer_head_and_token_are_chosen(page):
    picture, before = part(page, "picture"), part(page, "legend").inner_text()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "Enter"):
        picture.press(key)
    expect(part(page, "token").locator("h3").first).to_contain_text("Token in row 2, column 2")
    part(page, "layer").select_option(index=1)
    part(page, "head").select_option(index=2)  # after the mean
    expect(part(page, "legend")).to_contain_text("layer 2, head 2")
    assert part(page, "legend").inner_text() != before
    expect(part(page, "layers").locator("[aria-pressed=true]")).to_contain_text("layer 2")


def drop(page, content, name):
    """The browser must not open the file in the place of the page."""
    script = f"""() => {{ const files = new DataTransfer();
        files.items.add(new File([{content}], "{name}", {{ type: "image/png" }}));
        const event = new DragEvent("drop", {{ dataTransfer: files, bubbles: true, cancelable: true }});
        document.body.dispatchEvent(event);
        return event.defaultPrevented; }}"""
    assert page.evaluate(script)


def test_a_picture_of_ones_own(page):
    light = np.zeros((40, 40), np.uint8)
    light[:20, :20] = 255
    page.set_input_files("#file", png(light))
    expect(page.locator("#file-name")).to_have_text("mine.png")
    expect(page.locator("#examples [aria-pressed=true]")).to_have_count(0)
    part(page, "mix").evaluate(
        "node => { node.value = 0; node.dispatchEvent(new Event('input')); }"
    )  # the picture only
    expect(part(page, "answer")).not_to_contain_text("labelled")
    assert (
        colour(page, part(page, "picture"), 0.2, 0.2)[0] > 200 > 50 > colour(page, part(page, "picture"), 0.8, 0.8)[0]
    )
    with page.expect_response("**/api/trace"):
        page.check("#invert")
    expect(part(page, "busy")).to_contain_text("computed in")
    assert colour(page, part(page, "picture"), 0.2, 0.2)[0] < 50
    content = png(np.full((16, 16), 200, np.uint8))["buffer"]
    with page.expect_request("**/api/trace") as asked:
        drop(page, f"new Uint8Array({list(content)})", "dropped.png")
    assert base64.b64decode(asked.value.post_data_json["input"]["picture"]) == content
    expect(page.locator("#file-name")).to_have_text("dropped.png")


def test_a_bad_file_gets_a_sentence_and_the_page_goes_on(site):
    with site.tab(complains=True) as page:  # the browser writes refused requests to its console
        choose(page, MODEL)
        settled(page, 4)
        page.set_input_files("#file", {"name": "no.png", "mimeType": "image/png", "buffer": b"no picture"})
        error = part(page, "error")
        expect(error).to_be_visible()
        assert re.fullmatch(r"\S[^\n]{10,200}", error.inner_text()) and "Traceback" not in error.inner_text()
        expect(part(page, "stage")).to_be_hidden()  # what was there is of another picture
        page.locator("#examples button").nth(3).click()
        expect(error).to_be_hidden()
        expect(part(page, "answer")).to_contain_text("labelled")
        drop(page, "new Uint8Array(11_000_000)", "huge.png")
        expect(page.locator("#input-error")).to_contain_text("huge.png has 11.0 MB; the limit is")


def test_a_drawing(site, page):
    box = page.locator("#pad").bounding_box()
    x, y, size = box["x"], box["y"], box["width"]
    with page.expect_request("**/api/trace") as asked:
        page.mouse.move(x + size / 2, y + size * 0.1)
        page.mouse.down()
        page.mouse.move(x + size / 2, y + size * 0.9, steps=5)
        page.mouse.up()
    drawing = np.array(asked.value.post_data_json["input"]["drawing"])
    assert drawing.shape == (64, 64)
    assert drawing[32, 32] == 255 and drawing[32, 5] == 0
    expect(page.locator("#examples [aria-pressed=true]")).to_have_count(0)
    page.click("#clear")
    assert colour(page, page.locator("#pad"), 0.5, 0.5)[:3] == [0, 0, 0]


def test_two_models_side_by_side(site, page):
    page.select_option("#beside", "twin")
    settled(page, 4)
    part(page, "steps", 1).fill("6")
    expect(page.locator("#t-value")).to_have_text("t = 6 of 6")
    expect(part(page, "answer", 0)).to_contain_text("at t = 4")  # it has no more
    expect(part(page, "answer", 1)).to_contain_text("at t = 6")
    page.locator("#examples button").nth(5).click()
    for column in (0, 1):
        expect(part(page, "probabilities", column).locator("th:has(.true)")).to_have_text("5 ✓")
    page.select_option("#beside", "digits-self-attention")
    expect(part(page, "note", 1)).to_contain_text("no inner loop")
    expect(part(page, "curves", 1)).to_be_hidden()
    expect(part(page, "curves", 0)).to_be_visible()


def test_two_tabs_at_once(site, page):
    with site.tab() as other:
        choose(other, MODEL)
        part(other, "steps").fill("3")
        part(page, "steps").fill("1")
        settled(other, 3)
        settled(page, 1)


def test_a_server_that_is_gone(site):
    with site.tab(complains=True) as page:
        choose(page, MODEL)
        settled(page, 4)
        page.route("**/api/**", lambda route: route.abort())
        page.locator("#examples button").nth(2).click()
        expect(part(page, "error")).to_have_text("The server does not answer. Is mttt watch still running?")
        page.unroute("**/api/**")
        page.locator("#examples button").nth(3).click()
        expect(part(page, "error")).to_be_hidden()


def test_what_takes_long_is_told(site):
    with site.tab() as page:
        choose(page, MODEL)
        settled(page, 4)
        page.route("**/api/status", lambda route: route.fulfill(json={"busy": "compiling a program", "seconds": 1}))
        held = []
        page.route("**/api/trace", lambda route: held.append(route))
        page.locator("#examples button").nth(4).click()
        expect(part(page, "busy")).to_contain_text("compiling a program …")
        held[0].continue_()
        expect(part(page, "busy")).to_contain_text("computed in")


def test_an_answer_that_comes_too_late_is_not_shown(page):
    held = []
    page.route("**/api/trace", lambda route: route.continue_() if held else held.append(route))
    true = part(page, "probabilities").locator("th:has(.true)")
    page.locator("#examples button").nth(2).click()
    with page.expect_response("**/api/trace"):
        page.locator("#examples button").nth(3).click()
    expect(true).to_have_text("3 ✓")
    held[0].continue_()
    page.wait_for_timeout(500)
    expect(true).to_have_text("3 ✓")
