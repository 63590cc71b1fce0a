"""Links of the texts lead somewhere, and tables of measurements agree with the files that they name."""

import json
import re
from pathlib import Path

import pytest

from mttt import bench
from mttt.watch.compact import read_compact

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / ".github").glob("*.md")]
PAGES += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "results").rglob("*.md")]
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def rows(first: str, *, width: int) -> list[list[str]]:
    """Lines of tables of the page about performance that begin with a word and have this many cells."""
    lines = [line.strip("|\n").split("|") for line in PERFORMANCE.splitlines() if line.startswith("| ")]
    return [
        [cell.strip() for cell in line] for line in lines if len(line) == width and re.match(first, line[0].strip())
    ]


def number(cell: str) -> float:
    return float(cell.replace(",", "").rstrip("%"))


def test_costs_against_self_attention_are_those_of_the_file():
    measured = json.loads((ROOT / "results" / "speed" / "layers.json").read_text())
    written = rows(r"\d", width=8)
    assert len(written) == len(measured["rows"])
    for line, row in zip(written, measured["rows"], strict=True):
        assert (number(line[0]), line[1]) == (row["tokens"], row["layer"])
        values = (row["forward_median_ms"], row["step_median_ms"], row["temp_bytes"] / 2**20)
        for cell, value in zip(line[2::2], values, strict=True):
            assert number(cell) == pytest.approx(value, abs=0.5 if value >= 100 else 0.051)
    assert {row["layer"] for row in measured["rows"]} <= set(bench.LAYERS)


def test_the_papers_shapes_are_those_of_the_file():
    measured = json.loads((ROOT / "results" / "speed" / "paper.json").read_text())
    written = rows(r"(?!layer)[a-z]", width=9)
    assert [line[0] for line in written] == [row["layer"] for row in measured["rows"]]
    for line, row in zip(written, measured["rows"], strict=True):
        assert number(line[2]) == pytest.approx(row["step_ms"], abs=0.051)
        assert number(line[5]) == pytest.approx(row["temp_bytes"] / 2**20, abs=0.051)


def test_compile_times_are_those_of_the_file():
    measured = json.loads((ROOT / "results" / "speed" / "compile.json").read_text())
    written = rows(r"(?!layer)[a-z]{2}", width=8)
    assert [line[0] for line in written] == [row["layer"] for row in measured["layer"]["rows"]]
    for line, row in zip(written, measured["layer"]["rows"], strict=True):
        assert number(line[5]) == pytest.approx(row["processor_seconds"]["gradient"], abs=0.006)


def test_the_table_of_sequences_is_that_of_the_file():
    """Of every number that has a target: what was found, rounded as it is written, and the target."""
    measured = json.loads((ROOT / "results" / "speed" / "sequences.json").read_text())["rows"]
    text = (ROOT / "docs" / "sequences.md").read_text()
    table = text[text.index("| found | target |") :].split("\n\n")[0].splitlines()[2:]
    lines = [line.strip("| ").split(" | ") for line in table]
    assert len(lines) == len(measured)
    order = ("undo", "ttt-mlp", "delta-rule", "lengths", "ttt-linear", "million", "generation")
    for name, (_, found, targets) in zip(order, lines, strict=True):
        row = next(row for row in measured if row["name"] == name)
        written = re.findall(r"[\d.]+", found), re.findall(r"[\d.]+", targets)
        scale = 100 if name == "generation" else 1  # percent
        for field, one, most in zip(row["targets"], *written, strict=True):
            digits = len(one.partition(".")[2])
            assert float(one) == round(scale * row[field], digits), (name, field)
            assert float(most) == scale * row["targets"][field] >= float(one)


def test_the_page_has_the_controls_as_they_were_measured():
    page = (ROOT / "src/mttt/watch/page/index.html").read_text()
    report = (ROOT / "results/studies/controls/report.md").read_text()
    measured = re.findall(r"^\| MTTT-MLP.*?\| ([\d.]+ ± [\d.]+) \| 3 \|", report, re.M)
    assert len(measured) == 5 and re.findall(r"<td>([\d.]+ ± [\d.]+)</td>", page) == measured
    assert 'href="#controls"' in page and 'id="controls"' in page


def test_the_models_that_ship_are_as_good_as_the_page_about_them_says():
    page = (ROOT / "docs/watch.md").read_text()
    results = {path.stem: read_compact(path).result for path in (ROOT / "src/mttt/watch/shipped").glob("*.npz")}
    accuracies = [f"{100 * results[name]['accuracy']:.1f}" for name in ("digits-mttt-mlp", "digits-self-attention")]
    assert f"with {' and '.join(accuracies)} % accuracy on the 360 test images" in page
    assert f"with {results['shakespeare-ttt-mlp']['bits_per_byte']:.3f} bits per byte" in page
    assert len(results) == 3
