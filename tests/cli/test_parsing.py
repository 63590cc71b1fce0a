"""What is typed wrongly gets one sentence that names the flag."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

import mttt

CASES = {
    "train --model.mixr self-attention": "unknown option --model.mixr; did you mean --model.mixer?",
    "train --steps 4": "unknown option --steps; did you mean --model.mixer.batching.steps?",
    "train --lr 0.1": "unknown option --lr; did you mean --optimizer.rate?",
    "train --xy 1": "unknown option --xy; --help lists all options",
    "-version": "unknown option -version; before a command there are --help and --version",
    "evaluate run --stepz 3": "unknown option --stepz; did you mean --steps?",
    "bench layers --token 4": "unknown option --token; did you mean --tokens?",
    "completion": "mttt completion needs {bash,zsh,fish}: which shell",
    "train --sead=4": "unknown option --sead; did you mean --seed?",
    "train --form runs/digits": "unknown option --form; did you mean --from?",
    "train digits junk": "unknown word 'junk'; --help lists all options",
    "train --outer evolution --outer.pairs 0": "--outer.pairs 0: must be",
    "train --data.holdout 1.5": "--data.holdout 1.5: must be at least 0",
    "train --model.mixer.learner.factor 0": "--model.mixer.learner.factor 0: must be",
    "train --model.mixer.batching.steps -2": "--model.mixer.batching.steps -2: must be",
    "train --epochs many": "--epochs many: expected a number",
    "train --model.dim": "--model.dim needs a value",
    "train --model.heads 5": "--model.heads 5: does not divide the width 64; try 2, 4, 8",
    "train --model.dim 51": "--model.dim 51: is not a multiple of the 2 heads; try 50 or 52",
    "train --seed": "--seed needs a value",
    "train --seed x": "--seed x: expected a whole number",
    "train --seed 1.5": "--seed 1.5: expected a whole number",
    "train --seed=": "--seed without a value: expected a whole number",
    "train --dtype float8": "--dtype float8: expected float32 or bfloat16",
    "train --model.dim x": "--model.dim x: expected a whole number",
    "data inspect digits --check x": "--check x: expected a whole number or all",
    "evaluate": "mttt evaluate needs PATH: directory of the run",
    "bench layers --tokens x": "--tokens x: expected whole numbers",
    "evaluate run --json out.json": "out.json: --json prints JSON and takes no file; to save it",
    "evaluate run --json .": ".: --json prints JSON and takes no file; to save it",
    "predict run a.png --json out.json": "out.json: --json prints JSON and takes no file; to save it",
    "runs . --json out.json": "out.json: --json prints JSON and takes no file; to save it",
    "runs --json out.json": "out.json does not exist. --json prints JSON and takes no file; to save it",
    "predict run a.png --invert yes": "--invert takes no value, and 'yes' came after it",
    "runs nowhere": "nowhere does not exist",
    "train --workers 1000000": "--workers 1000000: must be 0 to ",
    "train --workers -1": "--workers -1: must be 0 to ",
    "study table1 --workers 1000000": "--workers 1000000: must be 0 to ",
    "runs --jsn": "unknown option --jsn; did you mean --json?",
    "bench layers --no-such-thing": "unknown option --no-such-thing; --help lists all options",
}


@pytest.mark.parametrize(("words", "reason"), CASES.items())
def test_a_mistake_gets_one_sentence(words, reason, here, tmp_path):
    out, err = here(*words.split(), cwd=tmp_path, code=2)
    assert err.startswith(f"mttt: {reason}")
    assert out == "" and err.count("\n") == 1 and "─" not in err
    assert list(tmp_path.iterdir()) == []


def test_help_fits_the_terminal(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = here("train", "--help")[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("  imagenet-patches  the paper's") for line in lines)
    assert "  --model.mixer.start {trained, frozen, zeros, memory}" in lines


def test_help_of_an_option_is_written_in_one_line():
    """tyro keeps the line breaks of the source, and a terminal has others."""
    source = Path(mttt.__file__).parent
    for file in [*source.glob("cli/*.py"), *source.glob("recipes/*.py")]:
        classes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)]
        for field, text in [pair for node in classes for pair in pairwise(node.body)]:
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                assert "\n" not in str(text.value.value), f"{file.name}: {ast.unparse(field)}"
