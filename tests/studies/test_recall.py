"""The task of recall, its rows, and what is reported of them."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

from mttt.cli.main import main
from mttt.recipes.rates import MeanRatesRecipe
from mttt.runs import RunError
from mttt.studies.recall import (
    IN_SEQUENCES,
    IN_SETS,
    RecallJob,
    RecallPlace,
    recall_jobs,
    work_recall,
    write_recall,
)
from mttt.studies.recall.claims import SEEN, Memories, recall_claim
from mttt.studies.recall.objective import Recalled
from mttt.studies.recall.rows import ATTENTION, LINEAR_16, NO_STEP, SLIDING, TTT_MLP_ROW
from mttt.studies.recall.sequences import KEYS, VOCABULARY, Recall
from mttt.studies.recall.set_rows import HARD, MIDDLE
from mttt.studies.recall.sets import ASKED, VOCABULARY as VALUES, SetRecall
from mttt.studies.recall.training import train_recall
from studies.watching import Quiet

NAMED = {row.name: row for row in IN_SEQUENCES.rows}
NAMED_SET = {row.name: row for row in IN_SETS.rows}


def whole(batch):
    """The sequences with their last tokens, which no model sees."""
    return np.concatenate([batch.inputs, batch.answers[:, -1:]], axis=1)


def test_sequences_are_what_they_are_said_to_be():
    batch = Recall(8, seed=1).batch(3, 50)
    tokens = whole(batch)
    assert tokens.shape == (50, 32)
    assert (batch.answers == tokens[:, 17::2]).all()
    pairs = tokens.reshape(50, 2, 8, 2)
    keys, values = pairs[..., 0], pairs[..., 1]
    assert keys.min() >= 0 and keys.max() < KEYS <= values.min() and values.max() < VOCABULARY
    for row in range(50):
        told = dict(zip(keys[row, 0], values[row, 0], strict=True))
        assert len(told) == 8  # no key twice
        assert dict(zip(keys[row, 1], values[row, 1], strict=True)) == told  # all are asked for, and answered
    assert len({tuple(np.argsort(keys[row, 1])) for row in range(50)}) > 40  # in no fixed order
    assert (keys[:, 0] != keys[:, 1]).any()


def test_a_batch_is_a_function_of_its_number():
    same, other = Recall(4, seed=1), Recall(4, seed=2)
    assert (same.batch(3, 5).inputs == same.batch(3, 5).inputs).all()
    assert (same.batch(3, 5).inputs != same.batch(4, 5).inputs).any()
    assert (same.batch(3, 5).inputs != other.batch(3, 5).inputs).any()
    with pytest.raises(ValueError, match="pairs=257: take 1 to 256"):
        Recall(257, seed=0)


def test_only_the_answers_count():
    """A model that knows all values where they are asked for, and one that gives their neighbours."""
    batch = Recall(4, seed=0).batch(0, 3)

    def model(shift):
        return Fixed(jax.numpy.asarray(batch.inputs), 50 * jax.nn.one_hot(batch.answers + shift, VOCABULARY))

    right, wrong = (Recalled()(model(shift), batch, key=None) for shift in (0, 1))
    assert right.correct == right.count == 3 and right.loss < 1e-3
    assert wrong.correct == 0 and wrong.loss > 100


class Fixed:
    """Answers that are known, by the sequence they are of."""

    def __init__(self, tokens, logits):
        self.tokens, self.logits = tokens, logits

    def __call__(self, row, *, key=None):
        same = jax.numpy.all(self.tokens == row[None, :], axis=1)
        return self.logits[jax.numpy.argmax(same)]


def test_the_logits_are_those_after_the_questions():
    """A model's answers do not depend on the values that follow, and depend on the keys that are asked for."""
    model = ATTENTION.model(4, key=jax.random.key(0))
    tokens = jax.numpy.asarray(whole(Recall(4, seed=0).batch(0, 1))[0])
    logits = model(tokens[:-1])
    assert logits.shape == (4, VOCABULARY)
    later = model(tokens.at[9].set(300)[:-1])  # the answer to the first question
    np.testing.assert_array_equal(later[0], logits[0])
    assert (later[1] != logits[1]).any()
    assert (model(tokens.at[8].set(0 if tokens[8] else 1)[:-1])[0] != logits[0]).any()


def test_sizes_of_states():
    states = {
        row.name: [row.model(8, key=jax.random.key(0)).state_bytes(n) for n in (32, 64)]
        for row in (ATTENTION, SLIDING, LINEAR_16)
    }
    assert states["self-attention"][1] - states["self-attention"][0] == 32 * 2 * 64 * 4  # keys and values
    assert states["sliding-window"][0] == states["sliding-window"][1]
    assert states["ttt-linear"][0] == states["ttt-linear"][1] > 2 * 32 * 32 * 4


def test_sets_are_what_they_are_said_to_be():
    task = SetRecall(9, seed=1)
    batch = task.batch(3, 50)
    assert batch.inputs.shape == (50, 14, 2) and batch.answers.shape == (50, 5) and task.questions == 5
    for inputs, answers in zip(batch.inputs, batch.answers, strict=True):
        told = dict(inputs[:9])
        assert len(told) == 9 and max(told) < VALUES > max(told.values())  # no key twice
        assert (inputs[9:, 1] == ASKED).all() and len(set(inputs[9:, 0])) == 5
        assert [told[key] for key in inputs[9:, 0]] == answers.tolist()
    assert len({tuple(inputs[9:, 0]) for inputs in batch.inputs}) == 50
    assert (task.batch(3, 50).inputs == batch.inputs).all() and (task.batch(4, 50).inputs != batch.inputs).any()
    with pytest.raises(ValueError, match="pairs=257: take 1 to 256"):
        SetRecall(257, seed=0)


def test_a_set_has_no_order_and_its_questions_see_the_pairs():
    batch = SetRecall(4, seed=0).batch(0, 1)
    inputs = jax.numpy.asarray(batch.inputs[0])
    for row in (IN_SETS.rows[0], NAMED_SET["key-value"]):
        model = row.model(4, key=jax.random.key(0))
        logits = model(inputs)
        assert logits.shape == (2, VALUES)
        np.testing.assert_allclose(model(inputs[jax.numpy.array([2, 0, 3, 1, 4, 5])]), logits, atol=1e-4)
        other = model(inputs.at[0, 1].set((inputs[0, 1] + 1) % VALUES))
        assert (other != logits).any()


def test_a_grid_of_sets(tmp_path):
    place, jobs = RecallPlace(IN_SETS, tmp_path, steps=2), recall_jobs([NAMED_SET["self-attention"]], [2], 1)
    with jax.numpy_dtype_promotion("standard"):
        work_recall(place, jobs, Quiet())
    record = json.loads(place.path(jobs[0]).read_text())
    assert 0 <= record["accuracy"] < 0.2 and "state_bytes" not in record
    _, report = write_recall(place, "mttt study set-recall")
    text = (tmp_path / "report.md").read_text()
    assert report["study"] == "set-recall" and {claim["verdict"] for claim in report["claims"]} == {"not measured"}
    assert "| mixer | parameters | 2 pairs |" in text and "State" not in text
    missing = ["linear attention, identity", "linear attention, elu + 1", "MTTT-Linear", "MTTT-MLP", "MTTT-MLP SGD T=4"]
    assert f"Trainings that are missing: {', '.join(f'1 of {label}' for label in missing)}." in text


def test_the_parts_of_the_ablation_are_in_their_rows():
    full = NAMED_SET["key-value"].mixer
    assert (full.task.unit, full.task.residual, full.task.norm, full.rates.kind) == (True, True, True, "gated")
    without = {name: NAMED_SET[f"key-value-no-{name}"].mixer for name in ("unit", "residual", "gate")}
    assert without["unit"] == replace(full, task=replace(full.task, unit=False))
    assert without["residual"] == replace(full, task=replace(full.task, residual=False, norm=False))
    assert without["gate"] == replace(full, rates=MeanRatesRecipe())
    alone = replace(full.task, unit=False, residual=False, norm=False)
    assert NAMED_SET["key-value-alone"].mixer == replace(full, task=alone, rates=MeanRatesRecipe())
    assert len({row.name for row in IN_SETS.rows}) == len({row.mixer for row in IN_SETS.rows}) == len(IN_SETS.rows)


def test_rows_may_have_numbers_of_pairs_of_their_own():
    rows = [NAMED_SET["self-attention"], NAMED_SET["mttt-mlp-ascent"], NAMED_SET["key-value"]]
    assert [(job.row.name, job.pairs) for job in recall_jobs(rows, IN_SETS.pairs, 1)] == [
        ("self-attention", 16),
        ("self-attention", MIDDLE),
        ("key-value", MIDDLE),
        ("self-attention", HARD),
        ("mttt-mlp-ascent", HARD),
    ]


def test_trained_models_are_judged_with_other_steps(tmp_path):
    row = replace(NAMED_SET["mttt-mlp"], probe=(0, 1))
    with jax.numpy_dtype_promotion("standard"):
        record = train_recall(RecallJob(row, 2, 0), 2)
    assert set(record["other_steps"]) == {"0", "1"} and record["other_steps"]["1"] == record["accuracy"]


def test_a_job_of_another_process_is_left_to_it(tmp_path):
    place, jobs = RecallPlace(IN_SETS, tmp_path, steps=2), recall_jobs([NAMED_SET["linear-attention"]], [2, 3], 1)
    watcher = Quiet()
    with place.holding(jobs[0]), jax.numpy_dtype_promotion("standard"):
        assert work_recall(place, jobs, watcher) == jobs[:1]
    assert watcher.done == [str(jobs[1])]
    with jax.numpy_dtype_promotion("standard"):
        assert work_recall(place, jobs, watcher) == []
    assert watcher.done == [str(jobs[1]), str(jobs[0])]


def test_a_grid_is_trained_once(tmp_path):
    place, jobs = RecallPlace(IN_SEQUENCES, tmp_path, steps=3), recall_jobs([NO_STEP, ATTENTION], [2], 1)
    first, again = Quiet(), Quiet()
    with jax.numpy_dtype_promotion("standard"):  # Optax promotes
        work_recall(place, jobs[1:], first)
    assert first.done == ["self-attention, 2 pairs, seed 0"] and first.steps == [0, 3]
    record = json.loads(place.path(jobs[1]).read_text())
    assert 0 <= record["accuracy"] < 0.2 and record["loss"] > 4 and record["curve"][-1]["step"] == 3
    work_recall(place, jobs[1:], again)
    assert again.left == again.done == []
    with pytest.raises(RunError, match="is of steps 3, and 4 is asked for"):
        RecallPlace(IN_SEQUENCES, tmp_path, steps=4).found(jobs[1])


def numbers(row, accuracies, pairs=32):
    """What files would have of a row, seed by seed."""
    return [
        {
            "row": row,
            "pairs": pairs,
            "seed": SEEN + seed,
            "accuracy": accuracy,
            "loss": 1.0,
            "state_bytes": 2048,
            "seconds": 60.0,
        }
        | {"parameters": 1000, "steps": 600, "curve": [{"step": 240, "accuracy": accuracy or 0.0}]}
        | {"machine": "a machine", "versions": {"mttt": "0", "jax": "0"}}
        for seed, accuracy in enumerate(accuracies)
    ]


def test_the_verdict(tmp_path):
    known = {"ttt-mlp": (1.0, 0.99, 0.98), "ttt-linear": (0.7, 0.71, 0.69), "linear-attention": (0.1, 0.12, 0.11)}
    records = [record for row, values in known.items() for record in numbers(row, values)]
    assert recall_claim(records).verdict == "not measured"  # elu + 1 is missing
    records += numbers("elu-linear-attention", (0.2, 0.21, None))
    claim = recall_claim(records)
    assert claim.verdict == "holds"
    assert claim.parts[0].mean == pytest.approx(32 * 0.29) and claim.parts[2].seeds == 2
    swapped = [r | {"row": {"ttt-mlp": "ttt-linear", "ttt-linear": "ttt-mlp"}.get(r["row"], r["row"])} for r in records]
    assert recall_claim(swapped).verdict == "does not hold"
    seen = [record | {"seed": record["seed"] - SEEN} for record in records]
    assert recall_claim(seen).verdict == "not measured"  # before the plan
    assert recall_claim(seen + records) == claim


def test_the_most_pairs_are_compared():
    records = numbers("ttt-mlp", (1.0,), 8) + numbers("ttt-mlp", (0.9,), 32) + numbers("ttt-linear", (1.0,), 8)
    assert Memories(records).more(TTT_MLP_ROW, LINEAR_16) == [0.0]  # of 32, only one of them is known
    records += numbers("ttt-linear", (0.2,), 32)
    assert Memories(records).more(TTT_MLP_ROW, LINEAR_16) == [pytest.approx(0.9 * 32 - 8)]


def test_the_report(tmp_path):
    place = RecallPlace(IN_SEQUENCES, tmp_path, steps=600)
    assert write_recall(place, "mttt study recall") is None
    for record in numbers("ttt-mlp", (0.95, 0.97, 0.99)) + numbers("ttt-linear", (None, 0.5)):
        path = place.path(RecallJob(NAMED[record["row"]], record["pairs"], record["seed"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
    page, record = write_recall(place, "mttt study recall")
    text = (tmp_path / "report.md").read_text()
    assert page.is_file() and (tmp_path / "recall.svg").is_file()
    assert "| TTT-MLP, b = 16 | 2.0 | 1,000 | 97.0 ± 2.0 (3) | 240 (32 pairs) |" in text
    assert "**Diverged**" in text and f"ttt-linear (32 pairs, seed {SEEN})" in text
    assert "1 of TTT-Linear, b = 16" in text and "mttt study recall" in text
    assert json.loads((tmp_path / "report.json").read_text()) == record
    assert record["claims"][0]["number"] == 13 and len(record["rows"]) == 5


def test_the_command(tmp_path, capsys):
    words = ["study", "recall", "--out", str(tmp_path), "--steps", "2", "--seeds", "1"]
    with jax.numpy_dtype_promotion("standard"), pytest.raises(SystemExit) as ended:
        main([*words, "--only", "self-attention", "--pairs", "2"])
    out = capsys.readouterr().out
    assert ended.value.code in (0, None) and "self-attention, 2 pairs, seed 0: accuracy" in out
    assert "13. TTT-MLP recalls more pairs" in out and (tmp_path / "report.md").is_file()
    for wrong, reason in (
        (["--only", "self-atention"], "Did you mean self-attention?"),
        (["--pairs", "257"], "--pairs 257"),
        (["--seeds", "0"], "--seeds 0"),
        (["--out", str(tmp_path / "none"), "--report"], "has no numbers yet"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*words, *wrong])
        assert ended.value.code == 2 and reason in capsys.readouterr().err
