"""The paper's claims, and two that later work raises, each with a verdict from the runs."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from mttt.studies import controls, figure1, table1, table2, table3
from mttt.studies.claim import Claim, correct
from mttt.studies.measured import Measured
from mttt.studies.row import Row
from mttt.studies.statistics import Part, Verdict, above, below, counted, informing, within

MATTERS = 2.0  # percentage points: the smallest difference that matters for the choice of a layer
SLOPE = 0.25  # by how much a measured power of n may be off


class Evidence:
    """The measured rows, and differences of theirs over seeds."""

    def __init__(self, rows: dict[str, Measured], lengths: dict[str, Any] | None, *, coarse: bool = False):
        """`coarse`: the pictures that are looked at by pixels are looked at in patches, too."""
        self.rows, self.lengths, self.coarse = rows, lengths, coarse

    def of(self, row: Row) -> dict[int, float]:
        """Accuracies by seed."""
        measured = self.rows.get(row.name)
        return measured.accuracies if measured else {}

    def each(self, score: Callable[..., float], *rows: Row) -> list[float]:
        """A score of several rows' accuracies, for every seed that all of them have."""
        accuracies = [self.of(row) for row in rows]
        seeds = set.intersection(*map(set, accuracies))
        return [score(*(each[seed] for each in accuracies)) for seed in sorted(seeds)]

    def gain(self, better: Row, other: Row) -> list[float]:
        """Percentage points of one row over another."""
        return self.each(lambda a, b: a - b, better, other)


def claims(evidence: Evidence) -> list[Claim]:
    """The paper's, and two that later work raises (11, 12), and the one that the plan asks first (21)."""
    return correct([claim(evidence) for claim in CLAIMS])


def _gains(text: str, differences: list[float]) -> Part:
    """A gain of a row over another."""
    return above(text, differences, matters=MATTERS)


def _matches(e: Evidence) -> Claim:
    return Claim(
        1,
        "MTTT-Linear matches identity linear attention",
        (
            within(
                "patches: MTTT-Linear − linear attention", e.gain(table1.MTTT_LINEAR, table1.LINEAR_ATTENTION), MATTERS
            ),
            within(
                "pixels: MTTT-Linear − linear attention", e.gain(table3.MTTT_LINEAR, table3.LINEAR_ATTENTION), MATTERS
            ),
        ),
    )


def _mlp(e: Evidence) -> Claim:
    few = (table3.COARSE_MLP, table3.COARSE_LINEAR) if e.coarse else (table1.MTTT_MLP, table1.MTTT_LINEAR)
    rows = (table3.MTTT_MLP, table3.MTTT_LINEAR, *few)
    more = "the same pictures: gain from pixels − gain from patches" if e.coarse else "gain on pixels − gain on patches"
    return Claim(
        2,
        "MTTT-MLP beats MTTT-Linear, by more on pixels than on patches",
        (
            _gains("patches: MTTT-MLP − MTTT-Linear", e.gain(table1.MTTT_MLP, table1.MTTT_LINEAR)),
            _gains("pixels: MTTT-MLP − MTTT-Linear", e.gain(table3.MTTT_MLP, table3.MTTT_LINEAR)),
            _gains(more, e.each(lambda a, b, c, d: (a - b) - (c - d), *rows)),
        ),
    )


def _sgd_pixels(e: Evidence) -> Claim:
    return Claim(
        3,
        "SGD with T = 4 beats T = 1 on pixels at equal FLOPs",
        (_gains("pixels: SGD T = 4 − T = 1", e.gain(table3.SGD, table3.MTTT_MLP)), _equal_flops(e)),
    )


def _equal_flops(e: Evidence) -> Part:
    text = "FLOPs of SGD T = 4 over those of T = 1"
    one, four = e.rows.get(table3.MTTT_MLP.name), e.rows.get(table3.SGD.name)
    if one is None or four is None:
        return counted(text, "not measured", "")
    ratio = four.flops / one.flops
    return counted(f"{text}: {ratio:.3f}", "holds" if ratio < 1.02 else "does not hold", "count, at most 1.02")


def _sgd_patches(e: Evidence) -> Claim:
    return Claim(
        4,
        f"SGD does not help on patches: it gains less than {MATTERS:g} points",
        (
            below("patches: SGD T = 2 − T = 1", e.gain(figure1.SGD2, table1.MTTT_MLP), MATTERS),
            below("patches: SGD T = 4 − T = 1", e.gain(figure1.SGD4, table1.MTTT_MLP), MATTERS),
        ),
    )


def _more_steps(e: Evidence) -> Claim:
    return Claim(
        5,
        f"More full-batch steps help up to about T = 4; two more then add less than {MATTERS:g} points",
        (
            _gains("T = 4 − T = 1", e.gain(figure1.FULL4, table1.MTTT_MLP)),
            below("T = 6 − T = 4", e.gain(figure1.FULL6, figure1.FULL4), MATTERS),
            informing(_gains("T = 2 − T = 1", e.gain(figure1.FULL2, table1.MTTT_MLP))),
            informing(_gains("T = 4 − T = 2", e.gain(figure1.FULL4, figure1.FULL2))),
            informing(_gains("T = 6 − T = 1", e.gain(figure1.FULL6, table1.MTTT_MLP))),
            informing(_gains("T = 3 − T = 2", e.gain(figure1.FULL3, figure1.FULL2))),
        ),
    )


def _ablation(e: Evidence) -> Claim:
    rows = (table2.NEITHER, table2.TRAINED, table2.NORM, table2.BOTH)
    return Claim(
        6,
        "Decoder LN and trained W₀ both help, most together",
        (
            _gains("Decoder LN, mean of both W₀", e.each(lambda n, w, d, b: (d + b - n - w) / 2, *rows)),
            _gains("trained W₀, mean with and without LN", e.each(lambda n, w, d, b: (w + b - n - d) / 2, *rows)),
            _gains("both − trained W₀ alone", e.gain(table2.BOTH, table2.TRAINED)),
            _gains("both − Decoder LN alone", e.gain(table2.BOTH, table2.NORM)),
        ),
    )


def _monotone(e: Evidence) -> Claim:
    return Claim(
        7,
        "The inner loss falls monotonically with t in every layer throughout training",
        tuple(_falls(e, row) for row in (figure1.FULL4, table3.SGD)),
    )


def _falls(e: Evidence, row: Row) -> Part:
    measured = e.rows.get(row.name)
    name = f"{row.look}: {row.label}"
    if measured is None or not measured.curves:
        return counted(name, "not measured", "")
    steps = [
        (later < earlier)
        for curve in measured.curves.values()
        for record in curve
        for layer in record["inner_losses"]
        for earlier, later in pairwise(layer)
    ]
    if not steps:
        return counted(name, "not measured", "")
    text = f"{name}: falls in {sum(steps)} of {len(steps)} steps"
    return counted(text, "holds" if all(steps) else "does not hold", "count over layers, t, evaluations and seeds")


def _small_model(e: Evidence) -> Claim:
    smalls = (table3.SMALL_LINEAR_ATTENTION, table3.SMALL_ELU)
    return Claim(
        8,
        "MTTT-MLP at Tiny beats linear attention at Small on pixels",
        (
            *(_gains(f"MTTT-MLP, Tiny − {small.label}, Small", e.gain(table3.MTTT_MLP, small)) for small in smalls),
            *(
                informing(_gains(f"MTTT-MLP SGD T = 4, Tiny − {small.label}, Small", e.gain(table3.SGD, small)))
                for small in smalls
            ),
        ),
    )


def _attention(e: Evidence) -> Claim:
    gains = {
        row: _gains(f"self-attention − {row.label}", e.gain(table1.ATTENTION, row))
        for row in table1.TABLE1.rows
        if row is not table1.ATTENTION
    }
    # Longformer's window is wider than the inputs of either scale: it is self-attention.
    gains[table1.LONGFORMER] = informing(gains[table1.LONGFORMER])
    return Claim(9, "Self-attention is best on patches", tuple(gains.values()))


def _growth(e: Evidence) -> Claim:
    text = "Time and memory grow at most linearly in n for parametric learners, at least quadratically for kernels"
    if e.lengths is None:
        return Claim(10, text, (counted("slopes", "not measured", ""),))
    return Claim(10, text, tuple(_grows(name, layer, e.lengths) for name, layer in e.lengths["layers"].items()))


def _grows(name: str, layer: dict[str, Any], lengths: dict[str, Any]) -> Part:
    slopes = [layer["time_slope"], layer["memory_slope"]]
    span = f"slopes from n = {lengths['lengths'][0]} to {lengths['lengths'][-1]}"
    if layer["kind"] == "parametric":
        verdict: Verdict = "holds" if max(slopes) <= 1 + SLOPE else "does not hold"
        test = f"{span}, at most {1 + SLOPE}"
    else:
        # No upper bound: that a kernel costs more than n² does not speak for it.
        steep = min(slopes) >= 2 - SLOPE
        verdict = "holds" if steep else "does not hold" if min(slopes) <= 1 + SLOPE else "undecided"
        test = f"{span}, at least {2 - SLOPE}"
    words = f"{name}: n^{slopes[0]:.2f} in time, n^{slopes[1]:.2f} in memory"
    return counted(words, verdict, test, "longer inputs" if verdict == "undecided" else "")


def _other_steps(e: Evidence) -> Claim:
    return Claim(
        11,
        "A trained model is at its best with the number of inner steps that it was trained with",
        tuple(part for row, own in ((table1.MTTT_MLP, 1), (figure1.FULL4, 4)) for part in _worse(e, row, own)),
    )


def _worse(e: Evidence, row: Row, own: int) -> list[Part]:
    measured = e.rows.get(row.name)
    probes = measured.probes if measured else {}
    parts = []
    for other in row.probe:
        if other != own:
            both = [probe for probe in probes.values() if own in probe and other in probe]
            gains = [100 * (probe[own]["accuracy"] - probe[other]["accuracy"]) for probe in both]
            parts.append(_gains(f"trained with T = {own}: evaluated with it − with T = {other}", gains))
    return parts


def _direction(e: Evidence) -> Claim:
    return Claim(
        12,
        "Learning at test time matters, not only the architecture: descent is better than ascent (η < 0) and than no "
        "inner step, each trained so",
        (
            _gains("T = 1: descent − ascent", e.gain(table1.MTTT_MLP, controls.ASCENT)),
            _gains("T = 4: descent − ascent", e.gain(figure1.FULL4, controls.ASCENT4)),
            _gains("T = 1: descent − no step", e.gain(table1.MTTT_MLP, controls.NO_STEPS)),
            informing(_gains("T = 1: ascent − no step", e.gain(controls.ASCENT, controls.NO_STEPS))),
        ),
    )


def _linear_attention(e: Evidence) -> Claim:
    pairs = {"patches": (table1.MTTT_MLP, table1.LINEAR_ATTENTION, table1.ELU)}
    pairs["pixels"] = (table3.MTTT_MLP, table3.LINEAR_ATTENTION, table3.ELU)
    return Claim(
        21,
        "MTTT-MLP beats linear attention of the same width, from patches and from pixels",
        tuple(
            _gains(f"{look}: MTTT-MLP − {row.label}", e.gain(mlp, row))
            for look, (mlp, *rows) in pairs.items()
            for row in rows
        ),
    )


CLAIMS = (
    _matches,
    _mlp,
    _sgd_pixels,
    _sgd_patches,
    _more_steps,
    _ablation,
    _monotone,
    _small_model,
    _attention,
    _growth,
    _other_steps,
    _direction,
    _linear_attention,
)
