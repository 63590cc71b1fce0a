"""What `mttt evaluate` says of a language model."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from mttt.cli.evaluate_tables import chosen_steps
from mttt.cli.say import count, one_line, say
from mttt.cli.waiting import waiting
from mttt.cli.wording import bits_of, text_result
from mttt.outer import Evaluation
from mttt.report.positions import draw_positions

_ROWS = 12


def text_record(results: Mapping[str, Evaluation], where: str) -> dict[str, Any]:
    """For programs. The first of the results is that of the model as it was trained."""
    result = next(iter(results.values()))
    return {
        "data": where,
        **result.record(),
        "bits_per_byte": result.bits,
        "context": len(_places(result)),
        "results": {name: {"loss": each.loss, "bits_per_byte": each.bits} for name, each in results.items()},
        "loss_by_position": {name: _places(each).tolist() for name, each in results.items()},
    }


def show_text(results: Mapping[str, Evaluation], where: str, console: Console) -> None:
    """Loss and bits of each result, and the loss by position in the context."""
    for name, result in results.items():
        said = text_result(result)
        say(console, said if len(results) == 1 else f"{name}: {said[0].lower()}{said[1:]}")
    first = next(iter(results.values()))
    say(console, f"On {count(first.examples * len(_places(first)), 'byte')} of {one_line(where)}")
    console.print(_table(results))


def report_text(
    results: Mapping[str, Evaluation], where: str, console: Console, *, as_json: bool, figure: Path | None
) -> None:
    """All that the command says. `results` are by what learns at test time; the first is as it was trained."""
    if as_json:
        print(json.dumps(text_record(results, where)))
    else:
        show_text(results, where, console)
    if figure is not None:
        title = one_line(f"{text_result(next(iter(results.values())))}, on {where}")
        with waiting("drawing"):
            draw_positions(figure, {name: _places(each).tolist() for name, each in results.items()}, title)
        if not as_json:
            say(console, f"Loss by position: {figure}")


def _places(result: Evaluation) -> np.ndarray:
    assert result.by_position is not None
    return result.by_position


def _table(results: Mapping[str, Evaluation]) -> Table:
    """A few places, further and further apart: what is near the beginning changes fastest."""
    places = {name: _places(result) for name, result in results.items()}
    table = Table(title="Loss by position in the context")
    table.add_column("byte", justify="right", no_wrap=True)
    for name in places:
        table.add_column("loss" if len(places) == 1 else name, justify="right", no_wrap=True)
        table.add_column("bits", justify="right", no_wrap=True)
    for place in chosen_steps(len(next(iter(places.values()))) - 1, _ROWS):
        cells = [
            cell for losses in places.values() for cell in (f"{losses[place]:.4f}", f"{bits_of(losses[place]):.3f}")
        ]
        table.add_row(f"{place + 1:,}", *cells)
    return table
