"""Verdicts 17 to 20, from numbers for which they are known."""

import pytest

from mttt.studies.recall.set_claims import set_claims
from mttt.studies.recall.set_rows import PAIRS, SET_ROWS

TRUE = {row.name: 0.5 for row in SET_ROWS} | {
    "linear-attention": 0.1,
    "mttt-linear": 0.1,
    "mttt-mlp": 0.6,
    "mttt-mlp-sgd4": 0.9,
    "key-value": 0.8,
}
NOISE = (0.003, -0.002, 0.001, 0.0)


def records(accuracies, own=0.6, others=0.4):
    return [
        {"row": row.name, "pairs": pairs, "seed": seed, "accuracy": accuracies[row.name] + noise}
        | {"other_steps": {str(t): (own if t == 1 else others + noise) for t in row.probe}}
        for number, row in enumerate(SET_ROWS)
        for pairs in row.pairs or PAIRS
        for seed, noise in enumerate(NOISE[number % 4 :] + NOISE[: number % 4])
    ]


def verdicts(found):
    return {claim.number: claim.verdict for claim in set_claims(found)}


def test_numbers_that_support_all():
    assert set(verdicts(records(TRUE)).values()) == {"holds"}
    assert all(claim.p < 0.05 for claim in set_claims(records(TRUE)))


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (17, {"mttt-linear": 0.05}),
        (17, {"mttt-mlp": 0.08}),
        (17, {"mttt-mlp-sgd4": 0.55}),
        (18, {"mttt-mlp-ascent": 0.7}),
        (18, {"mttt-mlp-random": 0.7}),
        (18, {"mttt-mlp-no-step": 0.7}),
        (20, {"key-value": 0.5}),
    ],
)
def test_numbers_that_do_not(number, change):
    assert verdicts(records(TRUE | change))[number] == "does not hold"


def test_other_steps_that_are_better():
    assert verdicts(records(TRUE, others=0.7))[19] == "does not hold"


def test_other_numbers_of_pairs_change_nothing():
    more = [record | {"pairs": 8, "accuracy": 0.0} for record in records(TRUE)[:4]]
    assert verdicts(records(TRUE) + more) == verdicts(records(TRUE))
