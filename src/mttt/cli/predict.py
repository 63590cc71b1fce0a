"""mttt predict"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro
from rich.console import Console

from mttt.cli.arguments import UsageError, refusing
from mttt.cli.parsing import parsed
from mttt.cli.say import one_line, printable, say
from mttt.cli.waiting import waiting
from mttt.data import BadExample
from mttt.data.pictures import load_picture
from mttt.outer import self_check
from mttt.recipes.data import fit_picture
from mttt.recipes.purpose import TextData
from mttt.training import Loaded, load


@dataclass(frozen=True)
class Arguments:
    """Classify pictures with a trained model.

    Examples:
        mttt predict runs/digits photo.png --invert  # dark ink on light paper
        mttt predict runs/digits a.png b.png --top 1 --json
    """

    run: tyro.conf.Positional[Path]
    """directory of the run"""
    images: tyro.conf.Positional[tuple[Path, ...]]
    """image files, in any format that Pillow reads"""
    top: int = 3
    """how many classes to print"""
    invert: bool = False
    """for dark ink on light paper: cut the ink out, and make it light on black, as the digits are"""
    json: bool = False
    """print JSON"""


def main(words: list[str], console: Console) -> int:
    """Run the command; the exit code: 1 if a picture could not be used."""
    arguments = parsed(Arguments, words, prog="mttt predict")
    if not arguments.images:
        raise UsageError("no image was given: mttt predict RUN IMAGE …")
    if arguments.top < 1:
        raise UsageError(f"--top {arguments.top}: must be 1 or more")
    with refusing(), waiting("reading the model"):
        loaded = load(arguments.run)
        if isinstance(loaded.recipe.data, TextData):
            again = f"mttt generate {arguments.run} --prompt TEXT"
            raise UsageError(f"{arguments.run} is a language model and classifies nothing; let it write: {again}")
        classify = _classifier(loaded, arguments)
    with waiting("compiling"):
        self_check()
    answers = []
    for path in arguments.images:
        with waiting(f"classifying {one_line(path.name)}" if answers else "compiling"):
            answer = _answer(path, classify)
        answers.append(answer)
        if not arguments.json:
            _show(answer, console)
    if arguments.json:
        print(json.dumps(answers))
    return 1 if any("error" in answer for answer in answers) else 0


def _classifier(loaded: Loaded, arguments: Arguments) -> Callable[[Path], list[list[Any]]]:
    """From a file to the likeliest classes and their probabilities."""
    shape = loaded.spec.inputs.shape
    fit = fit_picture(loaded.recipe.data, shape)
    run = jax.jit(lambda image: jax.nn.softmax(loaded.model(loaded.read(image))))

    def classify(path: Path) -> list[list[Any]]:
        probabilities = np.asarray(run(load_picture(path, fit, shape, invert=arguments.invert)))
        order = np.argsort(-probabilities)[: arguments.top]
        return [[loaded.classes[i], float(probabilities[i])] for i in order]

    return classify


def _answer(path: Path, classify: Callable[[Path], list[list[Any]]]) -> dict[str, Any]:
    """What a picture is, or why nobody can say: one that cannot be used does not stand in the way of the others."""
    try:
        return {"image": str(path), "top": classify(path)}
    except BadExample as bad:
        return {"image": str(path), "error": bad.reason}
    except OSError as error:
        return {"image": str(path), "error": str(error)}


def _show(answer: dict[str, Any], console: Console) -> None:
    image = one_line(answer["image"])
    if "error" in answer:
        print(printable(f"mttt: {image}: {answer['error']}"), file=sys.stderr)
        return
    say(console, f"{image}: " + "  ".join(f"{one_line(name)} {probability:.1%}" for name, probability in answer["top"]))
