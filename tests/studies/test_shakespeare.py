"""Language models side by side: small ones, and verdicts from numbers for which they are known."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

from mttt.recipes import PRESETS
from mttt.recipes.text import TextRecipe
from mttt.runs import RunError
from mttt.studies.shakespeare import ROWS, TextJob, TextPlace, text_jobs, work_text, write_text
from mttt.studies.shakespeare.claims import longer_gain, text_claims
from mttt.studies.shakespeare.grid import FROZEN, LEARNS
from mttt.studies.shakespeare.rows import ALONE, ATTENTION, LINEAR, MLP, NANOGPT
from studies.watching import Quiet


def test_a_grid_of_texts(tmp_path):
    (tmp_path / "fox.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 60)
    preset = PRESETS["shakespeare"].recipe
    base = replace(
        preset,
        data=TextRecipe(str(tmp_path / "fox.txt"), context=16),
        model=replace(preset.model, dim=16, depth=1, heads=2),
        epochs=0.2,
    )
    place, jobs, watcher = TextPlace(tmp_path / "out", base), text_jobs([NANOGPT, LINEAR], 1), Quiet()
    with jax.numpy_dtype_promotion("standard"):  # Optax promotes
        work_text(place, jobs, watcher)
    assert watcher.done == ["nanogpt, seed 0", "ttt-linear, seed 0"]
    gpt, linear = place.everything()
    assert set(gpt["contexts"]) == {"16"} and set(gpt["contexts"]["16"]) == {LEARNS}  # its positions end there
    assert set(linear["contexts"]) == {"16", "64"} and set(linear["contexts"]["64"]) == {LEARNS, FROZEN}
    short, long = (linear["contexts"][n][LEARNS] for n in ("16", "64"))
    assert linear["loss"] == short["loss"] == pytest.approx(np.mean(short["by_position"]), abs=1e-5)
    assert len(long["by_position"]) == 64
    again = Quiet()
    work_text(place, jobs, again)
    assert again.left == []
    _, record = write_text(place, "mttt study shakespeare", tmp_path / "none.json")
    assert [claim["number"] for claim in record["claims"]] == [14, 15, 16]
    text = (tmp_path / "out" / "report.md").read_text()
    assert "not within ± 0.02 of it" in text and "ttt-mlp (seed 0)" in text
    other = TextPlace(tmp_path / "out", replace(base, epochs=0.3))
    with pytest.raises(RunError, match="another recipe"):
        other.open(jobs[0], base.data.load())


def numbers(row, losses, fall):
    """What runs would have of a row, whose loss is lower by `fall` beyond the 8 bytes that it was trained with."""
    flat = lambda loss, n, less: [loss] * 8 + [loss - less] * (n - 8)  # noqa: E731
    return [
        {"row": row, "seed": seed, "context": 8, "loss": loss, "accuracy": 0.5, "parameters": 10}
        | {
            "contexts": {
                str(n): {LEARNS: {"loss": loss, "bits_per_byte": 2.0, "by_position": flat(loss, n, fall + seed / 1e4)}}
                for n in (8, 32)
            }
        }
        for seed, loss in enumerate(losses)
    ]


def test_verdicts(tmp_path):
    speeds = tmp_path / "sequences.json"
    row = {"name": "undo", "about": "undo", "tokens": [4096, 4096], "time": 0.2, "memory": 0.01}
    losses = {"self-attention": (1.80, 1.81, 1.79), "ttt-mlp": (1.81, 1.83, 1.80), "ttt-linear": (1.79, 1.80, 1.79)}
    records = [record for name, values in losses.items() for record in numbers(name, values, 0.03)]
    assert longer_gain(records[0]) == pytest.approx(0.03)
    verdicts = lambda: [claim.verdict for claim in text_claims(records, speeds)]  # noqa: E731
    assert verdicts() == ["holds", "holds", "undecided"]
    speeds.write_text(json.dumps({"rows": [row]}))
    assert verdicts() == ["holds", "holds", "holds"]
    speeds.write_text(json.dumps({"rows": [row | {"time": 1.2}]}))
    records = [record for name, values in losses.items() for record in numbers(name, values, -0.03)]
    assert verdicts() == ["holds", "does not hold", "does not hold"]
    records = numbers("self-attention", (1.6, 1.61, 1.59), 0.03) + records[3:]
    assert verdicts()[0] == "does not hold"
    assert text_claims([], speeds)[0].verdict == "not measured"


def test_every_mixer_is_compared_with_attention_and_beyond_the_context(tmp_path):
    records = [record for row in ROWS for record in numbers(row.name, (1.8, 1.81, 1.79), 0.03)]
    closeness, beyond, _ = text_claims(records, tmp_path / "none.json")
    texts = lambda claim: [part.text for part in claim.parts]  # noqa: E731
    assert sorted(texts(beyond)) == sorted(row.label for row in ROWS if row not in (NANOGPT, ALONE))
    others = [text.removesuffix(f" − {ATTENTION.label}") for text in texts(closeness)]
    assert set(others) >= {row.label for row in ROWS if row not in (NANOGPT, ALONE, ATTENTION)}
    assert f"{MLP.label} − {NANOGPT.label}" in others and f"{MLP.label} − {ALONE.label}" in others


def test_names_are_of_one_row_each():
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert str(TextJob(NANOGPT, 2)) == "nanogpt, seed 2"
