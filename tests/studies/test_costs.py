"""Parameters and FLOPs of the paper's tables."""

import json
from dataclasses import replace
from functools import partial

import pytest

from mttt.cli.main import main
from mttt.models import Size
from mttt.recipes import Recipe, options
from mttt.recipes.inner import FullBatchRecipe, ReconstructionRecipe
from mttt.recipes.mixers import LinformerRecipe, LongformerRecipe
from mttt.recipes.ttt import MTTT_LINEAR, MTTT_MLP, MTTT_MLP_SGD4
from mttt.studies import costs as costs_of_the_paper
from mttt.studies.costs import (
    BASE,
    CLASSES,
    IMAGES,
    LAYERS,
    SIZES,
    Images,
    flops_of_one_more,
    make_vit,
    parameters,
)
from mttt.studies.formulas import mixer_flops, vit
from mttt.studies.notes import NOTES
from mttt.studies.paper import PRINTED
from mttt.studies.recall.set_rows import key_value

N, DIM, HEADS = 192, 64, 2
RECIPES = {name: option.value for name, option in options(Recipe())["model.mixer"].items() if name != "ttt"} | {
    "mttt-mlp-sgd4": MTTT_MLP_SGD4,
    "mttt-mlp-t2": replace(MTTT_MLP, batching=FullBatchRecipe(2), task=ReconstructionRecipe(decoder_norm=False)),
    "mttt-kv": key_value(unit=False),
    "mttt-kv-unit-mean": key_value(gate=False),
    "mttt-kv-plain-t2": replace(key_value(unit=False, residual=False), batching=FullBatchRecipe(2)),
    "mttt-linear-t2": replace(MTTT_LINEAR, batching=FullBatchRecipe(2)),
    "linformer-32": LinformerRecipe(rank=32),
    "longformer-32": LongformerRecipe(window=32, global_tokens=2),
}
SMALL_IMAGES = {1: Images(32, 4), 3: Images(8, 1)}
SMALL_SIZES = {"tiny": Size(32, 2, 2), "small": Size(64, 2, 2)}
costs = partial(costs_of_the_paper, images=SMALL_IMAGES, sizes=SMALL_SIZES)


def analytic(row, layer=None):
    look = IMAGES[row.table]
    return vit(LAYERS[layer or row.layer], SIZES[row.size], look.tokens, 3 * look.patch**2, CLASSES)


def relative(row):
    size = "small" if row.table == 1 else "tiny"
    return analytic(row) / analytic(row._replace(size=size), BASE)


@pytest.mark.parametrize("name", RECIPES)
def test_formulas_agree_with_the_count(name):
    mixer = RECIPES[name]
    make = mixer.build(N)
    counted = flops_of_one_more(lambda *, key: make(DIM, HEADS, key=key), (N, DIM))
    assert mixer_flops(mixer, N, DIM, HEADS) == pytest.approx(counted, rel=0.02)


def test_formulas_agree_for_a_model():
    mixer, size, images = LAYERS["MTTT-MLP"], SMALL_SIZES["small"], SMALL_IMAGES[1]
    shape = images.side, images.side, 3
    whole = flops_of_one_more(make_vit(mixer, size, images), shape)
    assert vit(mixer, size, images.tokens, 3 * images.patch**2, CLASSES) == pytest.approx(whole, rel=0.02)
    deeper = flops_of_one_more(make_vit(mixer, size._replace(depth=size.depth + 3), images), shape)
    block = mixer_flops(mixer, images.tokens, size.dim, size.heads) + 2 * 8 * images.tokens * size.dim**2
    assert (deeper - whole) / 3 == pytest.approx(block, rel=0.05)


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: f"{row.table}-{row.size}-{row.layer}")
def test_what_is_not_the_papers_is_explained(row):
    everything, without = parameters(LAYERS[row.layer], SIZES[row.size], IMAGES[row.table])
    positions = IMAGES[3].tokens * SIZES[row.size].dim if row.table == 3 else 0
    assert everything - without == positions
    same = f"{without / 1e6:.1f}" == f"{row.parameters:.1f}" and abs(relative(row) - row.flops) <= 0.1
    assert same or NOTES[row.table, row.layer]


def test_ours_cost_what_they_should():
    ratios = {(row.table, row.size, row.layer): relative(row) for row in PRINTED}
    assert ratios[1, "small", "MTTT-Linear"] < 1.005 and ratios[3, "tiny", "MTTT-Linear"] < 1.005
    assert ratios[1, "small", "MTTT-MLP"] < 1.4 and ratios[3, "tiny", "MTTT-MLP"] < 1.77
    assert ratios[3, "tiny", "MTTT-MLP SGD T=4"] == ratios[3, "tiny", "MTTT-MLP"]
    assert f"{ratios[3, 'small', BASE]:.1f}" == "3.9"
    assert all(layer in {row.layer for row in PRINTED} for layer in LAYERS)
    assert all(any((row.table, row.layer) == place for row in PRINTED) for place in NOTES)


FIELDS = {
    *("layer", "table", "size", "parameters", "parameters_without_positions", "flops_counted", "flops_analytic"),
    *("relative_counted", "relative_analytic", "paper_parameters", "paper_relative_flops", "note"),
}


def test_the_command_prints_and_writes_every_row(tmp_path, monkeypatch, capsys):
    from mttt.cli import costs as command

    printed = tuple(row for row in PRINTED if row.layer in (BASE, "Self-attention"))
    monkeypatch.setattr(command, "costs", partial(costs, printed))
    path = tmp_path / "costs.json"
    with pytest.raises(SystemExit) as exit:
        main(["study", "costs", "--json", str(path)])
    assert exit.value.code == 0
    rows = json.loads(path.read_text())["rows"]
    assert [(row["table"], row["size"], row["layer"]) for row in rows] == [row[:3] for row in printed]
    assert all(set(row) == FIELDS for row in rows)
    for row in rows:
        base = next(other for other in rows if (other["table"], other["layer"]) == (row["table"], BASE))
        assert row["relative_counted"] == row["flops_counted"] / base["flops_counted"]
        assert row["relative_analytic"] == row["flops_analytic"] / base["flops_analytic"]
        assert row["flops_analytic"] == pytest.approx(row["flops_counted"], rel=0.02)
    out = capsys.readouterr().out
    assert "200×" in out and "3.9×" in out and "[1] The paper's" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["cost"], "unknown study command 'cost'. Did you mean costs?"),
        (["costs", "--json", "nowhere/a.json"], "no directory nowhere"),
        (["costs", "--json", "."], ". is a directory"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, reason, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["study", *words])
    assert exit.value.code == 2
    assert reason in capsys.readouterr().err
