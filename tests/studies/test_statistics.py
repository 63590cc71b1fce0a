"""Verdicts from differences over seeds."""

import numpy as np
import pytest
from scipy import stats

from mttt.studies.statistics import above, all_of, below, corrected, counted, informing, interval, p_of, within


def test_comparisons_are_paired_t_tests():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1.0, 1.0, 6), rng.normal(0.0, 1.0, 6)
    expected = stats.ttest_rel(a, b)
    part = above("a − b", (a - b).tolist())
    low, high = expected.confidence_interval(0.95)
    assert part.p == pytest.approx(expected.pvalue)
    assert (part.low, part.high) == pytest.approx((low, high))
    assert part.mean == pytest.approx((a - b).mean())
    assert part.std == pytest.approx((a - b).std(ddof=1))


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([1.0, 1.1, 0.9], "holds"),
        ([-1.0, -1.1, -0.9], "does not hold"),
        ([1.0, -1.0, 0.2], "undecided"),
        ([1.0], "undecided"),
        ([], "not measured"),
    ],
)
def test_a_difference_is_above_zero(differences, verdict):
    part = above("", differences)
    assert part.verdict == verdict
    assert bool(part.decide) == (verdict in ("undecided", "not measured"))


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.1, -0.1, 0.0], "holds"),
        ([2.1, 1.9, 2.0], "does not hold"),
        ([-2.1, -1.9, -2.0], "does not hold"),
        ([0.9, 1.1, 1.0], "undecided"),
        ([2.0, -2.0, 0.0], "undecided"),
    ],
)
def test_a_difference_is_small(differences, verdict):
    part = within("", differences, 1.0)
    assert part.verdict == verdict
    low, high = interval(differences, 0.9)
    assert (part.low, part.high) == (low, high)


def test_two_one_sided_tests():
    differences = [0.3, -0.2, 0.1, 0.05]
    part = within("", differences, 1.0)
    each = [
        stats.ttest_1samp(differences, -1.0, alternative="greater").pvalue,
        stats.ttest_1samp(differences, 1.0, alternative="less").pvalue,
    ]
    assert part.p == pytest.approx(max(each))


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [([-0.1, 0.1, 0.0], "holds"), ([0.9, 1.1, 1.0], "does not hold"), ([0.0, 1.0, 0.4], "undecided")],
)
def test_a_gain_is_too_small_to_help(differences, verdict):
    part = below("", differences, 0.5)
    assert part.verdict == verdict
    assert part.low < part.mean < part.high


def test_more_seeds_are_asked_for_when_the_difference_is_smaller():
    words = [above("", [shift - 1.0, shift, shift + 1.0]).decide for shift in (2.0, 0.5)]
    seeds = [int("".join(filter(str.isdigit, word))) for word in words]
    assert 3 < seeds[0] < seeds[1]
    # The same from Monte Carlo: that many seeds find it in about four of five experiments.
    rng = np.random.default_rng(0)
    found = stats.ttest_1samp(rng.normal(2.0, 1.0, (4000, seeds[0])), 0.0, axis=1).pvalue < 0.05
    assert 0.78 < found.mean() < 0.95


def test_so_many_seeds_show_that_a_difference_is_small():
    word = within("", [-1.5, 0.0, 1.5], 1.0).decide
    seeds = int("".join(filter(str.isdigit, word)))
    samples = np.random.default_rng(0).normal(0.0, 1.5, (4000, seeds))
    low, high = (stats.ttest_1samp(samples, m, axis=1, alternative=way) for m, way in ((-1, "greater"), (1, "less")))
    found = (low.pvalue < 0.05) & (high.pvalue < 0.05)
    assert 0.76 < found.mean() < 0.88


def test_a_claim_is_as_good_as_its_worst_part():
    holds, fails = counted("", "holds", ""), counted("", "does not hold", "")
    unsure, unknown = counted("", "undecided", ""), counted("", "not measured", "")
    assert all_of([holds, holds]) == "holds"
    assert all_of([holds, unsure]) == "undecided"
    assert all_of([holds, unsure, fails]) == "does not hold"
    assert all_of([fails, unknown]) == "does not hold"
    assert all_of([unsure, unknown]) == "not measured"
    assert all_of([holds, informing(above("", [-1.0, -1.1, -0.9]))]) == "holds"
    assert all_of([]) == all_of([informing(holds)]) == "not measured"
    assert all_of([holds, informing(unknown)]) == "holds"


def test_seeds_that_do_not_differ():
    assert above("", [0.0, 0.0, 0.0]).verdict == "undecided"
    assert above("", [1.0, 1.0]).verdict == "holds" and above("", [1.0, 1.0]).p == 0
    assert "no number of seeds" in within("", [1.0, 1.1, 0.9], 1.0).decide


def test_the_p_of_a_match_is_that_of_its_verdict():
    apart = within("", [3.0, 3.6, 2.4, 3.2], 2.0)
    assert apart.verdict == "does not hold" and apart.p == apart.p_fails < 0.05
    assert apart.p_fails == pytest.approx(stats.ttest_1samp([3.0, 3.6, 2.4, 3.2], 2.0, alternative="greater").pvalue)
    near = within("", [0.0, 0.6, -0.6, 0.2], 2.0)
    assert near.verdict == "holds" and near.p == near.p_holds < 0.05


def test_a_gain_that_is_surely_too_small_to_matter_does_not_hold():
    differences = [0.3, 0.1, 0.25, 0.15, -0.1]
    assert above("", differences).verdict == "undecided"
    part = above("", differences, matters=1.0)
    assert part.verdict == "does not hold" and part.p == part.p_fails
    assert part.p_fails == pytest.approx(stats.ttest_1samp(differences, 1.0).pvalue)
    assert part.p_holds == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)
    assert above("", [0.3, 0.31, 0.29], matters=1.0).verdict == "holds"  # small, but surely there
    turned = below("", differences, 0.0)
    assert (turned.p_holds, turned.p_fails) == (above("", differences).p_fails, above("", differences).p_holds)


def test_parts_of_a_claim_share_its_p():
    strong, weak = above("", [1.0, 1.1, 0.9]), above("", [0.751, 1.0, 1.249])
    holds, fails = p_of([strong, weak, informing(above("", [1.0, -1.0, 0.2])), counted("", "holds", "")])
    assert holds == weak.p and fails == 1.0
    against = above("", [-1.0, -1.1, -0.9])
    assert p_of([against, strong])[1] == pytest.approx(2 * against.p)
    assert p_of([counted("", "holds", "")]) == (None, None)


def test_holms_correction():
    """The smallest of m is multiplied by m, the next by m − 1, and none is below one before it."""
    assert corrected([0.01, 0.02, 0.03, 0.04]) == pytest.approx([0.04, 0.06, 0.06, 0.06])
    assert corrected([0.04, 0.005, 0.9]) == pytest.approx([0.08, 0.015, 0.9])
    assert corrected([]) == []
