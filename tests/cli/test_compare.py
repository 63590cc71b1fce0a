"""mttt compare: a table and a figure of runs in whatever state they are."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from mttt.data import describe
from mttt.recipes import PRESETS, encode
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.runs import Run
from tracking.records import append, evaluation, train

DIGITS, TEXT = PRESETS["digits"].recipe, PRESETS["shakespeare"].recipe


@pytest.fixture(scope="module")
def data():
    return {recipe: describe(recipe.data.load()) for recipe in (DIGITS, TEXT)}


@pytest.fixture
def runs(tmp_path, data, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def create(path, recipe, **changes):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return Run.create(Path(path), encode(replace(recipe, **changes)), data[recipe])

    one = create("one/seed-0", DIGITS, epochs=5.0)
    append(one.path, train(10), evaluation(10), train(20, 0.5), evaluation(20))
    two = create("two/seed-0", DIGITS, epochs=5.0, seed=3, outer=replace(DIGITS.outer, accumulate=2))
    append(two.path, train(10, 2.0))
    create("new", DIGITS)
    text = create("text", TEXT)
    append(text.path, train(10, 3.0), evaluation(10, None) | {"bits_per_byte": 2.5})
    return tmp_path


def test_the_table_says_what_differs_and_how_far_runs_are(runs, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with Run.open(Path("two/seed-0")).locked():
        out, _ = here("compare", "one/seed-0", "two/seed-0")
    monkeypatch.undo()
    lines = out.splitlines()
    assert lines[0] == "All: digits epochs5"
    assert lines[2].split() == ["one/seed-0", "–", "2", "of", "5", "0.900", "60.0%", "100", "0:00:06"]
    assert lines[3].split() == ["two/seed-0", "accumulate2", "seed3", "now,", "1", "of", "5", "100", "0:00:03"]


def test_runs_of_pictures_and_text_without_numbers_and_given_twice(runs, here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out, _ = here("compare", "one/seed-0", "new", "text", "./text", "--figure", "all.png")
    assert max(map(len, out.splitlines()[:-2])) <= 80
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert "2.500 bits" in rows["text"] and "shakespeare" in rows["text"] and out.count("\ntext") == 1
    assert "0 of 30" in rows["new"] and "All:" not in out
    with Image.open("all.png") as image:
        assert image.width > 1500 and image.height > 800  # three panels of pictures, two of text


def test_one_run_is_compared_with_its_preset(runs, here):
    out, _ = here("compare", "two/seed-0", "two/seed-0", "--figure", "one.svg", "--over", "step")
    assert out.splitlines()[1].split()[:5] == ["seed-0", "digits", "accumulate2", "epochs5", "seed3"]
    drawing = Path("one.svg").read_text()
    assert drawing.count("training loss") == 1 and "accuracy" not in drawing  # there is no evaluation yet


def test_programs_get_all_numbers_and_all_differences(runs, here):
    found = json.loads(here("compare", "one/seed-0", "two/seed-0", "--json")[0])
    one, two = found["runs"]
    assert (one["name"], one["accuracy"], one["loss"], one["training_seconds"]) == ("one/seed-0", 0.6, 0.9, 6.4)
    assert (two["accuracy"], two["loss"], two["examples_per_second"]) == (None, None, 100.0)
    assert found["differences"] == [{"path": "outer.accumulate", "values": [1, 2]}, {"path": "seed", "values": [0, 3]}]
    mixed = json.loads(here("compare", "one/seed-0", "text", "--json")[0])["differences"]
    kinds = {one["path"]: one["values"] for one in mixed}
    assert kinds["model.kind"] == ["vit", "lm"] and kinds["data.kind"] == ["digits", "shakespeare"]
    assert kinds["data.context"] == [None, 64] and len(kinds) == len(mixed)


def test_a_part_that_some_recipe_does_not_have_differs_as_a_whole(runs, here, data):
    for name, words in {"four": ["steps4"], "attention": ["self-attention"]}.items():
        mixer = replace(DIGITS.model.mixer, batching=replace(DIGITS.model.mixer.batching, steps=4))
        if name == "attention":
            mixer = SelfAttentionRecipe()
        recipe = replace(DIGITS, model=replace(DIGITS.model, mixer=mixer))
        Run.create(Path(name), encode(recipe), data[DIGITS])
        assert words[0] in here("compare", "new", name)[0]
    found = json.loads(here("compare", "new", "four", "attention", "--json")[0])["differences"]
    values = {one["path"]: one["values"] for one in found}
    assert [batching and batching["steps"] for batching in values["model.mixer.batching"]] == [1, 4, None]
    assert not any(path.startswith("model.mixer.batching.") for path in values)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no run was given"),
        (["one"], "one is not a run: it has no recipe.json"),
        (["gone"], "gone does not exist"),
        (["new", "--figure", "new.png"], "there are no curves to draw yet: no run has a line of metrics"),
        (["text", "--figure", "text.pdf"], "text.pdf: the figure is a PNG or an SVG file; name it so"),
        (["text", "--over", "time"], "--over time: expected epoch or step"),
        (["torn"], "torn/metrics.jsonl: line 1 is not JSON"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(runs, here, words, says):
    Path("torn").mkdir()
    (Path("torn") / "recipe.json").write_bytes(Path("new/recipe.json").read_bytes())
    (Path("torn") / "metrics.jsonl").write_text('{"kind": \n{}\n')
    assert says in here("compare", *words, code=2)[1]
    assert not list(Path().glob("*.p*"))
