"""Tables of an evaluation. They fit the width of the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mttt.cli.say import say
from mttt.outer import Confusion

_CLASSES, _PAIRS, _LETTERS = 10, 5, 30  # lines of a table; letters of a class name


def show_losses(layers: Sequence[Sequence[float]], console: Console) -> None:
    """Inner losses, a line for each layer. Where there are more steps than columns, they are taken ever less often."""
    steps = len(layers[0]) - 1
    ends = min(map(min, layers)), max(map(max, layers))
    widest = max(map(len, (f"t = {steps}", *map(_loss, ends))))
    shown = chosen_steps(steps, (console.width - len("layer") - 4) // (widest + 3))
    console.print("Inner loss: half the squared error of a token's reconstruction, mean over tokens and features")
    table = Table()
    table.add_column("layer", justify="right", no_wrap=True)
    for t in shown:
        table.add_column(f"t = {t}", justify="right", no_wrap=True)
    for number, losses in enumerate(layers, start=1):
        table.add_row(str(number), *(_loss(losses[t]) for t in shown))
    console.print(table)
    if len(shown) <= steps:
        say(console, f"{len(shown)} of {steps + 1} values of t are shown; --json has all.")


def chosen_steps(steps: int, most: int) -> list[int]:
    """0 … T; or if those are more than `most`, the first ones, T, and some between, further and further apart."""
    most = max(most, 2)
    if steps < most:
        return list(range(steps + 1))
    between = max(most - 2, 1)
    return sorted({0, steps, *(round(steps ** (i / between)) for i in range(between + 1) if most > 2)})


def _loss(loss: float) -> str:
    return f"{loss:.4f}" if abs(loss) < 1000 else f"{loss:.2e}"


def show_classes(confusion: Confusion, names: Sequence[str], console: Console) -> None:
    """Accuracy by class, and the pairs that are confused most; of many classes, the worst."""
    examples, correct = confusion.by_class()
    worst = confusion.worst(_CLASSES)
    there = int((examples > 0).sum())
    which = "" if there <= _CLASSES else f", the {_CLASSES} lowest of {there:,} classes"
    table = _table(f"Accuracy by class{which}", "class", "examples", "accuracy")
    for label in worst if which else sorted(worst):
        table.add_row(_name(names[label]), f"{examples[label]:,}", f"{correct[label] / examples[label]:.1%}")
    console.print(table)
    if not (pairs := confusion.most_confused(_PAIRS)):
        return
    table = _table("Most confused", "class", "taken for", "examples", "of")
    for label, predicted, count in pairs:
        table.add_row(_name(names[label]), _name(names[predicted]), f"{count:,}", f"{examples[label]:,}")
    console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for name in columns:
        words = name in ("class", "taken for")
        table.add_column(name, justify="left" if words else "right", no_wrap=True)
    return table


def _name(name: str) -> Text:
    return Text(name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…")
