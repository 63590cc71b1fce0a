"""What somebody else may have done to the text files of a run, and what it says then."""

import json
import os

import jax
import pytest

from mttt.runs import Run, RunError, summary
from mttt.runs.header import new_header, write_header
from mttt.training import load


def edited(path, change):
    """The JSON file with one value changed, or deleted if it is `...`; a recipe as if it had been written like that."""
    whole = json.loads(path.read_text())
    *names, last = change[0].split(".")
    part = whole
    for name in names:
        part = part[name]
    if change[1] is ...:
        del part[last]
    else:
        part[last] = change[1]
    write_header(path.parent, whole) if path.name == "recipe.json" else path.write_text(json.dumps(whole))


TEXTS = {
    "empty": (b"", "is not JSON"),
    "cut": (b'{"format": 3, "rec', "is not JSON"),
    "deep": (b"[" * 10**5, "is nested too deeply"),
    "deep objects": (b'{"recipe":' * 10**5, "is nested too deeply"),
    "not UTF-8": (b'{"recipe": "\xff"}', "is not UTF-8"),
    "a number": (b"3", "is 3, and should be an object"),
    "a list": (b"[1, 2]", r"is \[1, 2\], and should be an object"),
    "NaN": (b'{"recipe": NaN}', "NaN is no number of JSON"),
    "digits": (b"1" * 5000, "is not JSON"),
}


@pytest.mark.parametrize("name", ["recipe.json", "result.json"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_file_that_is_no_json_object_is_named(name, text, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    contents, words = TEXTS[text]
    (run.path / name).write_bytes(contents)
    with pytest.raises(RunError, match=f"{name} .*{words}"):
        _ = Run.open(run.path).result


@pytest.mark.parametrize("name", ["recipe.json", "result.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_named(make, name, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    (run.path / name).unlink()
    make(run.path / name)
    with pytest.raises(RunError, match=f"{name} is a .*, not a regular file; (bring|delete)"):
        _ = Run.open(run.path).result


def test_a_huge_file_is_not_read(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    for name in ("recipe.json", "metrics.jsonl", "result.json"):
        os.truncate(run.path / name, 2**40)  # it takes no room
    for read in (lambda: run.recipe, lambda: run.metrics.read(), lambda: run.result):
        with pytest.raises((RunError, OSError), match="at most"):
            read()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("id", ...), "has no field 'id', which should be a text"),
        (("versions", ["jax"]), r"has versions = \['jax'\], which should be an object of texts"),
        (("versions", {"jax": 3}), "which should be an object of texts"),
        (("machine", None), "has machine = None, which should be a text"),
        (("x64", 0), "has x64 = 0, which should be true or false"),
        (("data", "digits"), "has data = 'digits', which should be an object"),
        (("recipe", []), r"has recipe = \[\], which should be an object"),
        (("format", "3"), r"another version of mttt \(format '3'\); this version reads format 3"),
        (("format", {"a": [1] * 1000}), "another version of mttt"),
        (("recipe.epochs", "30"), "epochs='30': must be a number"),
        (("recipe.epochs", True), "epochs=True: must be a number"),
        (("recipe.epochs", 1e308), "epochs=1e.308: "),
        (("recipe.dtype", "float16"), "dtype='float16': must be one of float32, bfloat16"),
        (("recipe.model.positions", "zzz"), "model.positions='zzz': must be one of sincos, learned"),
        (("recipe.model", None), "model is missing: must be an object with fields"),
        (("recipe.model.mixer.kind", ["ttt"]), "mixer.kind=.'ttt'.: unknown"),
        (("recipe.model.depth", 2.5), "model.depth=2.5: must be a whole number or null"),
        (("recipe.more", 1), "more=1: unknown field"),
        (("data.spec", ...), "recipe.json does not say what the data were"),
        (("data.spec.inputs", 3), "recipe.json does not say what the data were"),
        (("data.spec.inputs.shape", ["a", 8, 1]), "recipe.json does not say what the data were"),
        (("data.spec.inputs.shape", [8, 8]), "recipe.json describes a model that cannot be built"),
        (("data.spec.inputs.shape", [8, 8, -1]), "recipe.json does not say what the data were"),
        (("data.spec.inputs.dtype", "zzz"), "recipe.json does not say what the data were"),
        (("data.spec.classes", 10), "recipe.json does not say what the data were"),
        (("data.spec.classes", [1, 2]), "does not say what the data were: .* and classes .texts."),
        (("data.train", {"examples": "many"}), "data.train.examples be a whole number"),
        (("data.train", {"examples": 3}), "cannot be built: batch_size=64: there are 3 training examples"),
    ],
    ids=lambda value: f"{value[0]} {str(value[1])[:20]}" if isinstance(value, tuple) else "",
)
def test_a_recipe_with_wrong_values_is_refused(change, words, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    edited(run.path / "recipe.json", change)
    with pytest.raises(RunError, match=words) as refused:
        load(run.path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("accuracy", "0.9"), "has accuracy = '0.9', which should be a number from 0 to 1"),
        (("accuracy", 1.5), "has accuracy = 1.5, which should be a number from 0 to 1"),
        (("loss", ...), "has no field 'loss', which should be a finite number or null"),
        (("loss", 10**400), "has loss = 1000"),
        (("inner_losses", [[1.0], [1.0, 2.0]]), "which should be null or a list of numbers for each layer"),
        (("inner_losses", [["a"]]), "which should be null or a list of numbers for each layer"),
        (("step", True), "has step = True, which should be a whole number"),
        (("examples", -3), "has examples = -3, which should be a whole number"),
    ],
    ids=lambda value: f"{value[0]} {str(value[1])[:20]}" if isinstance(value, tuple) else "",
)
def test_a_result_with_wrong_values_is_refused(change, words, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    edited(run.path / "result.json", change)
    with pytest.raises(RunError, match=f"result.json .*{words}.*; delete it and train the run again"):
        _ = run.result


@pytest.mark.parametrize("change", [("recipe.seed", 5), ("data.train.examples", 3), ("id", "0" * 32), ("x64", True)])
def test_a_run_is_not_continued_with_a_changed_recipe(trained, tmp_path, change):
    run = trained.copy(tmp_path / "run")
    path = run.path / "recipe.json"
    digest = json.loads(path.read_text())["digest"]
    edited(path, change)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"digest": digest}))
    with pytest.raises(RunError, match=r"recipe\.json was changed after it was written"):
        Run.open(run.path)


def test_a_result_that_was_deleted_is_made_again(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    (run.path / "result.json").unlink()
    before = run.metrics.path.read_bytes()
    trained.train(run)
    assert run.result == Run.open(trained.path).result
    assert run.metrics.path.read_bytes() == before


RECORD = b'{"kind": "train", "step": 2, "epoch": 1, "loss": 1, "accuracy": 1, "rate": 1, "examples_per_second": null}'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"7", "is 7, and should be an object"),
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"kind": "train", "st', "is not JSON"),
        (b'{"step": 3}', "has no field 'kind'"),
        (b'{"kind": "train"}', "has no field 'step'"),
        (b'{"kind": ["train"], "step": 3}', r"has kind = \['train'\], which should be a text"),
        (b'{"kind": "train", "step": "3"}', "has step = '3', which should be a whole number"),
        (b'{"kind": "train", "step": 3}', "has no field 'epoch'"),
        (b'{"kind": "evaluation", "step": 3, "epoch": "a"}', "has epoch = 'a', which should be a finite number"),
        (b'{"kind": "skipped", "step": 3, "part": "train", "name": 3}', "has name = 3, which should be a text"),
        (RECORD.replace(b'"loss": 1', b'"loss": Infinity'), ".*Infinity is no number of JSON"),
        (RECORD.replace(b'"loss": 1', b'"loss": 1e999'), "has loss = inf, which should be a finite number"),
        (b"[" * 10**5, "is nested too deeply"),
    ],
    ids=lambda value: value[:40].decode(errors="replace") if isinstance(value, bytes) else "",
)
def test_a_damaged_line_of_metrics_is_named(line, words, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    lines = run.metrics.path.read_bytes().splitlines()
    run.metrics.path.write_bytes(b"\n".join([lines[0], line, *lines[1:], b""]))
    with pytest.raises(RunError, match=rf"metrics.jsonl: line 2 {words}"):
        run.metrics.read()
    before = run.metrics.path.read_bytes()
    with pytest.raises(RunError, match="line 2"):
        run.metrics.rewind(4)
    assert run.metrics.path.read_bytes() == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"kind": "train", "st', "is not JSON"),
        (b'{"kind": "evaluation", "step": 3, "epoch": "a"}', "has epoch = 'a'"),
        (b"[" * 10**4, "is nested too deeply"),
    ],
    ids=["torn", "another kind", "deep"],
)
def test_a_damaged_line_is_named_where_only_the_last_lines_are_read(line, words, trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    whole, step = run.metrics.path.read_bytes(), summary(run).step
    run.metrics.path.write_bytes(whole + line)  # a kill cut it off
    assert summary(run).step == step > 0
    run.metrics.path.write_bytes(whole + line + b"\n")
    with pytest.raises(RunError, match=f"metrics.jsonl: one of the last lines {words}"):
        summary(run)


def test_only_a_last_line_without_its_end_is_forgiven(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    whole = run.metrics.path.read_bytes()
    records = run.metrics.read()
    run.metrics.path.write_bytes(whole + RECORD[:30])
    assert run.metrics.read() == records
    run.metrics.path.write_bytes(whole + RECORD)
    assert len(run.metrics.read()) == len(records) + 1, "nothing of it is missing"


def test_metrics_of_two_models_are_not_drawn_as_one(trained, tmp_path):
    from mttt.report import draw_figures

    run = trained.copy(tmp_path / "run")
    record = run.metrics.read("evaluation")[-1]
    run.metrics.append(record | {"inner_losses": [[1.0, 2.0, 3.0]]})
    with pytest.raises(RunError, match="different models"):
        draw_figures(run)
    run.metrics.path.unlink()
    assert draw_figures(run) == []


def test_numbers_of_64_bits_do_not_become_others(trained, tmp_path):
    run = trained.copy(tmp_path / "run")
    with jax.enable_x64(True):
        assert new_header({}, {})["x64"] is True
        words = "began with JAX_ENABLE_X64=0, and it is 1 here; set JAX_ENABLE_X64=0"
        with pytest.raises(RunError, match=words), run.checkpoints():
            pass
    edited(run.path / "recipe.json", ("x64", True))
    with pytest.raises(RunError, match="set JAX_ENABLE_X64=1"), run.checkpoints(write=True):
        pass


def test_the_program_says_what_is_wrong_in_a_line(trained, tmp_path, here):
    run = trained.copy(tmp_path / "run")
    (run.path / "result.json").write_text("")
    for words in (["train", "--run", run.path], ["evaluate", run.path]):
        if words[0] == "evaluate":
            edited(run.path / "recipe.json", ("recipe.model.positions", "\x1b[2J"))
        _, err = here(*words, code=2)
        assert err.startswith("mttt: ") and err.count("\n") == 1 and "\x1b" not in err
