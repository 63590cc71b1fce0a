"""From how many tokens on one layer costs less than another."""

import math

from mttt.bench.measure import Measurements

COSTS = {"forward": "forward_median_ms", "step": "step_median_ms", "memory": "temp_bytes"}


def crossover(ratios: list[tuple[int, float]]) -> float | None:
    """The n from which (n, ratio) stays below 1, between measured n by a straight line in log-log.

    The least n that was measured if it is below 1 everywhere; None if it is not below 1 at the largest.
    """
    ratios = sorted(ratios)
    above = [place for place, (_, ratio) in enumerate(ratios) if ratio >= 1]
    if not ratios or (above and above[-1] == len(ratios) - 1):
        return None
    if not above:
        return float(ratios[0][0])
    (n, over), (more, under) = ratios[above[-1]], ratios[above[-1] + 1]
    part = math.log(over) / (math.log(over) - math.log(under))
    return math.exp((1 - part) * math.log(n) + part * math.log(more))


def crossovers(found: Measurements) -> dict[str, dict[str, float | None]]:
    """For each layer and cost, from which n on it is below self-attention's."""
    layers = dict.fromkeys(row.layer for row in found.rows if row.layer != "self-attention")
    return {
        layer: {
            cost: crossover(
                [
                    (row.tokens, row.against_self_attention[field])
                    for row in found.rows
                    if row.layer == layer and row.against_self_attention and field in row.against_self_attention
                ]
            )
            for cost, field in COSTS.items()
        }
        for layer in layers
    }
