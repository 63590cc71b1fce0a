"""Twelve verdicts, from numbers for which they are known; and the paper's scale, built."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from mttt.data import Spec
from mttt.recipes import encode
from mttt.recipes.ttt import TTTRecipe
from mttt.studies import ALL_ROWS, SCALES, STUDIES, Job, controls, figure1, jobs_of, table1, table3
from mttt.studies.claim import Claim, correct
from mttt.studies.claims import Evidence, claims
from mttt.studies.lengths import KERNELS, PARAMETRIC, measure_lengths, slope
from mttt.studies.measured import Measured
from mttt.studies.statistics import above, counted
from mttt.studies.trial import try_rows
from mttt.training import prepare_for

# Accuracies as the paper has them, and what it says of the rows that it does not print.
TRUE = {name: value for study in STUDIES.values() for name, value in study.paper.items()}
TRUE |= {
    "mttt-mlp-t2": 75.0,
    "mttt-mlp-t3": 75.5,
    "mttt-mlp-t4": 76.0,
    "mttt-mlp-t6": 75.9,
    "pixels-self-attention": 60.0,
    "coarse-mttt-linear": 50.0,
    "coarse-mttt-mlp": 53.0,
}
TRUE |= {"mttt-mlp-sgd2": 74.0, "mttt-mlp-sgd4": 73.0}
TRUE |= {"mttt-mlp-t0": 40.0, "mttt-mlp-ascent": 60.0, "mttt-mlp-t4-ascent": 50.0}
LAYERS = PARAMETRIC | KERNELS
NOISE = (0.05, -0.03, 0.0)
LENGTHS = {
    "lengths": [1024, 8192],
    "dim": 64,
    "heads": 2,
    "layers": {
        "mttt-mlp": {"kind": "parametric", "time_slope": 1.0, "memory_slope": 0.6},
        "self-attention": {"kind": "kernel", "time_slope": 1.9, "memory_slope": 2.0},
    },
}


for layer in LENGTHS["layers"].values():
    layer |= {"step_ms": [1.0, 8.0], "temp_bytes": [2**20, 2**23]}


def evidence(accuracies, *, losses=(1.0, 0.8, 0.7), off=20.0, lengths=LENGTHS):
    rows = {}
    for number, row in enumerate(ALL_ROWS):
        own = row.mixer.batching.steps if isinstance(row.mixer, TTTRecipe) else 0
        seeds = {seed: accuracies[row.name] + NOISE[(seed + number) % 3] for seed in range(3)}
        curve = [
            {"step": 1, "epoch": place / 8, "accuracy": 0.5, "inner_losses": [list(losses)] * 2} for place in (1, 2)
        ]
        probes = {
            seed: {t: {"accuracy": (value - (off if t != own else 0)) / 100} for t in row.probe}
            for seed, value in seeds.items()
        }
        curves = dict.fromkeys(range(3), curve) if row.curves else {}
        rows[row.name] = Measured(row, seeds, (), 1000, 1000, 100.0, curves, probes if row.probe else {})
    return Evidence(rows, lengths, coarse=True)


def test_the_papers_numbers_support_its_claims():
    found = claims(evidence(TRUE))
    assert [claim.number for claim in found] == [*range(1, 13), 21]
    assert [claim.number for claim in found if claim.verdict != "holds"] == []
    assert all(part.test for claim in found for part in claim.parts)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (1, {"pixels-mttt-linear": 55.0}),
        (2, {"pixels-mttt-mlp": 51.0}),
        (2, {"coarse-mttt-mlp": 63.0}),
        (3, {"pixels-mttt-mlp-sgd4": 60.0}),
        (4, {"mttt-mlp-sgd4": 78.0}),
        (5, {"mttt-mlp-t4": 74.0}),
        (5, {"mttt-mlp-t6": 79.0}),
        (6, {"no-norm": 75.0}),
        (8, {"pixels-small-linear-attention": 70.0}),
        (9, {"hyena": 80.0}),
        (12, {"mttt-mlp-ascent": 75.5}),
        (21, {"pixels-elu-linear-attention": 63.0}),
    ],
)
def test_other_numbers_do_not(number, change):
    found = {claim.number: claim.verdict for claim in claims(evidence(TRUE | change))}
    assert found[number] == "does not hold"


def test_a_gain_that_does_not_matter_does_not_hold():
    """Less than two points: surely above 0 holds; surely below two, and not surely above 0, does not."""
    found = {claim.number: claim for claim in claims(evidence(TRUE | {"fixed-w0": 73.9, "no-norm": 73.8}))}
    assert found[6].verdict == "holds"
    low = evidence(TRUE)
    gains = [0.9, 0.1, -0.3, 0.8, 0.2, -0.1]  # 0.27 on average, but not surely above 0
    rows = {row.name: low.rows[row.name] for row in (table1.MTTT_MLP, controls.ASCENT, figure1.FULL4, controls.ASCENT4)}
    base = dict(enumerate([70.0, 70.5, 71.0, 70.2, 70.8, 70.1]))
    own = {seed: value + gain for (seed, value), gain in zip(base.items(), gains, strict=True)}
    for name in ("mttt-mlp", "mttt-mlp-t4"):
        rows[name] = replace(rows[name], accuracies=own)
    for name in ("mttt-mlp-ascent", "mttt-mlp-t4-ascent"):
        rows[name] = replace(rows[name], accuracies=base)
    claim = next(claim for claim in claims(Evidence(rows, None)) if claim.number == 12)
    assert claim.parts[0].verdict == "does not hold" and claim.parts[0].p == claim.parts[0].p_fails < 0.05


def test_many_claims_are_corrected_for_their_number():
    """What holds alone is undecided among many that are as unsure; what was counted is not among them."""
    found = claims(evidence(TRUE))
    assert {claim.number for claim in found if claim.p is None} == {7, 10}
    sure = Claim(1, "", (above("", [1.0, 1.1, 0.9]),))
    unsure = Claim(2, "", (above("", [0.751, 1.0, 1.249]),))  # p = 0.02
    assert [claim.verdict for claim in correct([sure, unsure])] == ["holds", "holds"]
    assert [claim.verdict for claim in correct([sure, unsure, unsure, unsure])] == ["holds", *["undecided"] * 3]
    assert correct([unsure, unsure, unsure])[0].p == pytest.approx(3 * unsure.parts[0].p_holds)
    unknown = Claim(4, "", (above("", [1.0]), above("", [1.0, 1.1, 0.9])))
    found = correct([unknown, unsure, unknown])
    assert found[0].p is None and found[1].p == pytest.approx(3 * unsure.parts[0].p_holds)  # as when all are there
    refuted = Claim(3, "", (unsure.parts[0], counted("", "does not hold", "")))
    assert correct([refuted, unsure, unsure, unsure])[0].verdict == "does not hold"


def test_more_flops_are_not_equal_flops():
    found = evidence(TRUE)
    found.rows["pixels-mttt-mlp-sgd4"] = replace(found.rows["pixels-mttt-mlp-sgd4"], flops=1100)
    assert claims(found)[2].verdict == "does not hold"


def test_what_is_for_information_decides_nothing():
    found = evidence(TRUE)
    for row in (figure1.FULL3, table1.LONGFORMER):
        del found.rows[row.name]
    verdicts = {claim.number: claim.verdict for claim in claims(found)}
    assert (verdicts[5], verdicts[9]) == ("holds", "holds")


def test_claims_without_chance():
    found = {claim.number: claim.verdict for claim in claims(evidence(TRUE, losses=(1.0, 1.1, 0.7), off=-5.0))}
    assert (found[7], found[11]) == ("does not hold", "does not hold")
    layers = LENGTHS["layers"] | {"self-attention": {"kind": "kernel", "time_slope": 1.2, "memory_slope": 2.0}}
    found = {claim.number: claim.verdict for claim in claims(evidence(TRUE, lengths=LENGTHS | {"layers": layers}))}
    assert found[10] == "does not hold"
    layers["self-attention"]["time_slope"] = 2.4
    found = {claim.number: claim.verdict for claim in claims(evidence(TRUE, lengths=LENGTHS | {"layers": layers}))}
    assert found[10] == "holds"
    layers["self-attention"]["time_slope"] = 1.6
    found = {claim.number: claim.verdict for claim in claims(evidence(TRUE, lengths=LENGTHS | {"layers": layers}))}
    assert found[10] == "undecided"
    assert {claim.verdict for claim in claims(Evidence({}, None))} == {"not measured"}


def test_rows_have_names_of_their_own():
    rows = [row for study in STUDIES.values() for row in study.rows]
    for row in rows:
        assert all(other == row for other in rows if other.name == row.name)
    assert len({(row.mixer, row.look, row.size) for row in ALL_ROWS}) == len(ALL_ROWS)
    assert all(study.base in {row.name for row in study.rows} for study in STUDIES.values())


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_rows_differ_by_their_layer_alone(scale):
    for kind in scale.sizes:
        recipes = [scale.recipe(row, seed=0) for row in ALL_ROWS if (row.look, row.size) == kind]
        plain = [_without_the_layer(encode(recipe)) for recipe in recipes]
        assert len(plain) > 1 and all(recipe == plain[0] for recipe in plain)


def _without_the_layer(recipe):
    del recipe["model"]["mixer"]
    del recipe["evaluate_every"]  # changes no number
    return recipe


def test_the_decisive_scale_has_seeds_that_nobody_saw():
    scale, job = SCALES["decisive"], Job(table1.MTTT_MLP, 0)
    assert scale.recipe(job.row, seed=job.seed).seed >= 100 > SCALES["small"].recipe(job.row, seed=2).seed
    jobs = jobs_of([table1.MTTT_MLP, table3.MTTT_MLP, table3.COARSE_MLP], scale.seeds)
    assert [sum(job.row.look == look for job in jobs) for look in scale.looks] == [12, 8, 8]
    assert [job.row.look for job in jobs[:4]] == ["patches", "pixels", "coarse", "patches"], "balanced"
    assert scale.recipe(table1.MTTT_MLP, seed=0).plan(65_536).steps == 3000
    assert scale.recipe(table3.MTTT_MLP, seed=0).plan(60_000).steps == 960


PAPER = [row for row in ALL_ROWS if SCALES["paper"].has(row) and row is not table3.ATTENTION]


@pytest.mark.parametrize("row", PAPER, ids=lambda row: row.name)
def test_the_papers_scale_is_the_papers(row, endless_memory):
    inputs = jax.ShapeDtypeStruct((224, 224, 3), np.uint8)
    spec = Spec(inputs, tuple(f"class {number}" for number in range(1000)))
    recipe = SCALES["paper"].recipe(row, seed=1, path="imagenet")
    prepare_for(recipe, spec, 1_281_167).check()
    assert recipe.plan(1_281_167).steps == 112_602
    assert (recipe.batch_size, recipe.epochs, recipe.model.head, recipe.data.path) == (1024, 90.0, "tanh", "imagenet")


def test_the_papers_scale_takes_a_step(standard_promotion):
    rows = (table1.MTTT_MLP, table3.SGD)
    # Smaller images and fewer blocks: `mttt study table3 --scale paper --trial` takes those of 224, and all.
    scale = replace(SCALES["paper"], shapes={"patches": (32, 32, 3), "pixels": (6, 6, 3)})
    scale = replace(scale, sizes={kind: size | {"depth": 2} for kind, size in scale.sizes.items()})
    for row, (first, second), _ in try_rows(scale, rows):
        assert first == pytest.approx(6.9078, abs=1e-3), "the head starts at zero: log 1000"
        assert second < first - 0.01, row.name


def test_growth_is_measured():
    found = measure_lengths((16, 32), {name: LAYERS[name] for name in ("mttt-linear", "self-attention")}, repeats=1)
    assert {layer["kind"] for layer in found["layers"].values()} == {"parametric", "kernel"}
    assert all(len(layer["step_ms"]) == 2 for layer in found["layers"].values())
    assert slope((10, 100, 1000), [1.0, 100.0, 10_000.0]) == pytest.approx(2)
