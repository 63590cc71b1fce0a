"""mttt presets"""

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from mttt.cli.parsing import parsed
from mttt.recipes import DEFAULT, PRESETS, Recipe, options
from mttt.recipes.lm import LMRecipe
from mttt.recipes.recipe import ViTRecipe


@dataclass(frozen=True)
class Arguments:
    """List the presets: recipes with names.

    Examples:
        mttt presets
        mttt presets --mixers  # what --model.mixer can be
    """

    mixers: bool = False
    """list the mixers instead, for --model.mixer, and which --model they are for"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code."""
    arguments = parsed(Arguments, words, prog="mttt presets")
    table = Table(box=None, padding=(0, 2))
    table.add_column("mixer" if arguments.mixers else "preset", no_wrap=True)
    table.add_column("what it is")
    if arguments.mixers:
        for model in (ViTRecipe(), LMRecipe()):
            for name, option in options(Recipe(model=model))["model.mixer"].items():
                table.add_row(name, f"{model.kind}: {option.about}")
    else:
        for name, preset in PRESETS.items():
            table.add_row(name + (" (default)" if name == DEFAULT else ""), preset.about)
    console.print(table)
    return 0
