"""mttt evaluate and mttt predict: which data, which classes, and what is said about them."""

import json
import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from mttt.cli import evaluate, predict
from mttt.cli.evaluate_tables import chosen_steps, show_classes, show_losses
from mttt.data import describe
from mttt.outer import Answers, Confusion
from mttt.recipes import PRESETS, encode
from mttt.recipes.data import FolderRecipe
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.runs import Run
from mttt.training import launch, load, load_data, prepare

SHADES = {"dark": 30, "gray": 128, "light": 220}


def make_pictures(folder, names, count=4):
    rng = np.random.default_rng(0)
    for name in names:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            noise = rng.integers(-20, 20, (9 + number, 12))
            Image.fromarray((SHADES.get(name, 0) + noise).clip(0, 255).astype(np.uint8)).save(
                folder / name / f"{number}.png"
            )


class Nobody:
    """An observer that looks away."""

    def at(self, step):
        pass

    def record(self, record):
        pass


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run of one step on pictures with a split of their own, which it finds under the name `pictures`."""
    folder = tmp_path_factory.mktemp("evaluate")
    for part in ("train", "val"):
        make_pictures(folder / "pictures" / part, SHADES)
    base = PRESETS["folder"].recipe
    model = replace(base.model, dim=8, depth=1, heads=2, patch=4, mixer=SelfAttentionRecipe())
    data_recipe = FolderRecipe(path="pictures", size=8, gray=True)
    recipe = replace(base, data=data_recipe, model=model, epochs=1.0, batch_size=12, seed=2)
    with pytest.MonkeyPatch.context() as patch, jax.numpy_dtype_promotion("standard"):
        patch.chdir(folder)
        data = recipe.data.load()
        run = Run.create(folder / "run", encode(recipe), describe(data))
        launch(prepare(recipe, data), data, run, Nobody())
    return folder


def test_accuracy_by_class_and_confusion_are_those_of_the_answers(place, here):
    found = json.loads(here("evaluate", "run", "--json", cwd=place)[0])
    confusion = np.array(found["confusion"])
    assert found["classes"] == list(found["by_class"]) == ["dark", "gray", "light"]
    assert confusion.shape == (3, 3) and confusion.sum() == found["examples"] == 12
    assert np.trace(confusion) / 12 == pytest.approx(found["accuracy"])
    for label, (name, one) in enumerate(found["by_class"].items()):
        assert one == {"examples": 4, "accuracy": confusion[label, label] / 4}, name
    assert found["data"] == "validation images of pictures"
    result = Run.open(place / "run").result
    assert (result["accuracy"], result["loss"]) == (found["accuracy"], found["loss"])
    assert "by_class" not in result and "answers" not in result


def test_data_that_were_moved_are_known_again(place, tmp_path, here):
    shutil.copytree(place / "run", tmp_path / "run")
    shutil.copytree(place / "pictures", tmp_path / "elsewhere" / "photos")
    _, err = here("evaluate", "run", cwd=tmp_path, code=2)
    assert "--data.path pictures: there is no such file or folder" in err
    out, _ = here("evaluate", "run", "--data.path", "elsewhere/photos")
    assert "on 12 validation images of elsewhere/photos" in out
    (tmp_path / "elsewhere/photos/val/dark/0.png").rename(tmp_path / "elsewhere/photos/val/dark/9.png")
    _, err = here("evaluate", "run", "--data.path", "elsewhere/photos", code=2)
    assert "are not what they were when it began" in err


def test_another_test_set_goes_the_way_of_the_runs_own(place, tmp_path, here):
    own = json.loads(here("evaluate", "run", "--json", cwd=place)[0])
    again = json.loads(here("evaluate", "run", "--test", "pictures", "--json")[0])
    assert again == own
    alone = json.loads(here("evaluate", "run", "--test", "pictures/val", "--json")[0])
    assert alone["data"] == "images of pictures/val"
    assert {name: alone[name] for name in ("loss", "confusion")} == {name: own[name] for name in ("loss", "confusion")}
    make_pictures(tmp_path / "one", ["light"])  # labels are numbers of the run's classes, not of these
    one = json.loads(here("evaluate", "run", "--test", tmp_path / "one", "--json")[0])
    assert [sum(row) for row in one["confusion"]] == [0, 0, 4]
    assert one["by_class"]["dark"] == {"examples": 0, "accuracy": None}


@pytest.mark.parametrize(
    ("names", "words", "reason"),
    [
        (
            ["dark", "blue", "sky"],
            [],
            "2 classes that the model does not know: blue, sky. It knows 3: dark, gray, light",
        ),
        ([], [], "is not a data set of a known kind"),
        (["dark"], ["--data.path", "pictures"], "give one of them"),
        (["dark"], ["--figure", "x.jpg"], "is a PNG file; name it so"),
        (["dark"], ["--figure", "no/x.png"], "there is no directory no"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(place, tmp_path, here, names, words, reason):
    make_pictures(tmp_path, names)
    _, err = here("evaluate", "run", "--test", tmp_path, *words, cwd=place, code=2)
    assert reason in err


def test_data_that_come_with_the_program_are_nowhere_else(place, monkeypatch):
    run = Run.open(place / "run")
    digits = {**run.recipe, "data": encode(PRESETS["digits"].recipe.data)}
    monkeypatch.setattr(Run, "recipe", digits)
    with pytest.raises(ValueError, match="digits, which come with the program"):
        load_data(run, place)


def test_the_matrix_is_drawn(place, tmp_path, here, monkeypatch):
    out, _ = here("evaluate", "run", "--figure", tmp_path / "matrix.png", cwd=place)
    assert "Confusion matrix:" in out
    with Image.open(tmp_path / "matrix.png") as image:
        assert image.format == "PNG" and min(image.size) > 500
    monkeypatch.setattr(evaluate, "can_draw", lambda: False)
    _, err = here("evaluate", "run", "--figure", tmp_path / "none.png", code=2)
    assert "pip install matplotlib" in err and not (tmp_path / "none.png").exists()


@pytest.mark.parametrize("layers", [1, 12])
@pytest.mark.parametrize("steps", [0, 1, 8, 64, 5000])
def test_inner_losses_fit_the_terminal(layers, steps, capsys):
    losses = [[1e9 if t == 1 else 1.5 / (t + 1) for t in range(steps + 1)]] * layers
    show_losses(losses, Console(width=80))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if line.startswith("│")]
    assert len(rows) == layers and "1.5000" in rows[0]
    heads = next(line for line in lines if "layer" in line)
    assert "t = 0" in heads and f"t = {steps} " in heads and "…" not in heads
    assert ("--json has all" in lines[-1]) is (steps > 5)


def test_steps_are_chosen_further_and_further_apart():
    assert chosen_steps(0, 5) == [0] and chosen_steps(4, 5) == [0, 1, 2, 3, 4]
    assert chosen_steps(64, 8) == [0, 1, 2, 4, 8, 16, 32, 64]
    for most in (-1, 2, 3, 9):
        found = chosen_steps(1000, most)
        assert found[0] == 0 and found[-1] == 1000 and len(found) <= max(most, 2)


def test_of_many_classes_the_worst_are_shown(capsys):
    labels = np.repeat(np.arange(1000), 3)
    predicted = labels.copy()
    predicted[30 * 3 : 42 * 3] = 999
    names = [f"[bold]class {number} {'x' * 50}" for number in range(1000)]
    show_classes(Confusion.of(Answers(labels, predicted), 1000), names, Console(width=80))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) < 30
    assert "the 10 lowest of 1,000 classes" in lines[0]
    assert sum("0.0%" in line for line in lines) == 10 and any("[bold]class 30 x" in line for line in lines)
    assert sum("[bold]class 999" in line for line in lines) == 5


def test_a_bad_picture_does_not_stand_in_the_way_of_good_ones(place, tmp_path, here, monkeypatch):
    good, bad = "pictures/val/dark/0.png", tmp_path / "bad\x1b[2J.png"
    bad.write_text("no picture")
    names = ("\x1b[31mred", "two\nlines", "plain")
    loaded = load(place / "run")
    spec = replace(loaded.spec, classes=names)
    monkeypatch.setattr(predict, "load", lambda path: replace(loaded, prepared=replace(loaded.prepared, spec=spec)))
    out, err = here("predict", "run", good, bad, tmp_path / "none.png", good, cwd=place, code=1)
    first, second = out.splitlines()
    assert first == second and first.startswith(f"{good}: ") and r"\x1b[31mred" in first and r"two\nlines" in first
    assert "\x1b" not in out + err
    assert [line.rpartition(": ")[2] for line in err.splitlines()] == ["is text, not an image", "does not exist"]
    found = json.loads(here("predict", "run", good, bad, "--json", code=1)[0])
    assert found[1] == {"image": str(bad), "error": "is text, not an image"}
    assert {name for name, _ in found[0]["top"]} == set(names)
    here("predict", "run", good)
