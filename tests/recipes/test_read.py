"""Recipes in files."""

import json
import os

import pytest

from mttt.cli import train
from mttt.cli.arguments import UsageError
from mttt.recipes import PRESETS, encode, read_recipe

DIGITS = PRESETS["digits"].recipe


def test_a_recipe_is_read_plain_or_from_a_run_and_flags_change_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    plain, of_run = tmp_path / "long one.json", tmp_path / "runs" / "mine" / "recipe.json"
    written = encode(DIGITS) | {"epochs": 7}
    plain.write_text(json.dumps(written))
    of_run.write_text(json.dumps({"format": 2, "recipe": written, "versions": {}}))
    for path, name in ((plain, "long_one"), (of_run, "mine")):
        assert read_recipe(path).epochs == 7.0
        preset, arguments = train.parse(["--recipe", str(path), "--seed", "1"])
        assert (arguments.recipe.epochs, arguments.recipe.seed) == (7.0, 1)
        assert train.default_path(preset, arguments).as_posix() == f"runs/{name}-seed1"
    with pytest.raises(UsageError, match="both the preset digits and --recipe"):
        train.parse(["digits", "--recipe", str(plain)])


BAD = {
    "not JSON": (b"{", "is not JSON"),
    "not UTF-8": (b"\xff\xfe{}", "is not JSON"),
    "deep": (b'{"recipe": ' + b"[" * 100_000, "is not JSON"),
    "no object": (b"3", "must be an object"),
    "a text for a number": (json.dumps({"epochs": "30"}).encode(), "epochs='30': must be a number"),
    "an unknown field": (json.dumps({"recipe": {"model": {"dmi": 3}}}).encode(), "model.dmi=3: unknown field"),
    "too large": (b" " * (2**20 + 1), "at most 1,048,576 are read"),
}


@pytest.mark.parametrize(("written", "reason"), BAD.values(), ids=BAD)
def test_what_is_no_recipe_is_refused_with_file_and_field(written, reason, tmp_path, here):
    (tmp_path / "bad.json").write_bytes(written)
    _, err = here("train", "--recipe", "bad.json", cwd=tmp_path, code=2)
    assert err.startswith("mttt: bad.json") and reason in err
    assert not (tmp_path / "runs").exists()


def test_what_is_no_file_is_refused_at_once(tmp_path, here):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("pipe", "is a named pipe"), ("nothing", "No such file"), (".", "is a directory")):
        assert reason in here("train", "--recipe", name, cwd=tmp_path, code=2)[1].replace("Is a", "is a")
