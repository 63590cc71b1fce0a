"""The page in one file, with the answers that its readers can ask for: it needs no server, and nothing else."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mttt.files import contents, write_text
from mttt.version import __version__
from mttt.watch.document import MARK, document
from mttt.watch.models import Entry
from mttt.watch.packed import unpacked
from mttt.watch.service import STEPS, Service
from mttt.watch.trace import fixed_rate

_BEYOND = 2
"""steps beyond the trained T that are stored"""
_CLOSELY = 2
"""pictures, of which single steps and other rates are stored: the numbers of a step take the most room"""
_RATES = (0.5, 2.0)
"""times the trained one"""
_PROMPT, _WRITTEN = 120, 300
"""bytes that a language model is given, and that it writes"""
_LARGEST = 2**28


Answer = dict[str, Any]
"""a path, a request, and the answer to it"""


class Exported(NamedTuple):
    """What was written."""

    answers: int
    bytes: int


def is_export(path: Path) -> bool:
    """Whether a file was made here."""
    try:
        return MARK.encode() in contents(path, _LARGEST)
    except OSError:
        return False


def export(path: Path, models: Mapping[str, Entry], *, say: Callable[[str], None]) -> Exported:
    """Write a file with all examples of some models."""
    service, answers = Service(models), list[Answer]()
    for id, entry in models.items():
        say(f"computing the answers of {id}")
        for number, answer in enumerate(_answers(service, id, entry), start=1):
            answers.append(answer)
            say(f"computing the answers of {id}, {number} so far")
    source = {"mode": "export", "version": __version__, "models": service.models(), "answers": answers}
    html = document(source).html
    write_text(path, html)
    return Exported(len(answers), len(html.encode()))


def _answers(service: Service, id: str, entry: Entry) -> Iterator[Answer]:
    yield from _of_text(service, id, entry) if entry.is_text else _of_pictures(service, id, entry)
    if entry.source.run is not None:
        yield _answer("/api/training", {"model": id}, lambda asked: service.training(asked["model"]))


def _of_pictures(service: Service, id: str, entry: Entry) -> Iterator[Answer]:
    """Every example for some T, the first ones also with other rates and with single steps."""
    trained, rate = entry.trained_steps or 0, fixed_rate(entry.source.shapes)
    most = min(trained + _BEYOND, max(STEPS, trained)) if trained else 0
    for number, example in enumerate(entry.pictures):
        asked = {"model": id, "input": {"example": example}, "rate": rate}
        for steps in range(most + 1):
            yield _answer("/api/trace", asked | {"steps": steps}, service.trace)
        if trained and number < _CLOSELY:
            yield from _closely(service, entry, asked | {"steps": trained})


def _closely(service: Service, entry: Entry, asked: dict[str, Any]) -> Iterator[Answer]:
    """Other rates; and of one token the first step of every layer and head, and all steps of the last layer's first."""
    if asked["rate"] is not None:
        for times in _RATES:
            yield _answer("/api/trace", asked | {"rate": asked["rate"] * times}, service.trace)
    size, token = entry.source.recipe.model.sizes(), _telling_token(service.trace(asked))
    places = [(layer, head, 0) for layer in range(size.depth) for head in range(size.heads)]
    places += [(size.depth - 1, 0, t) for t in range(1, asked["steps"])]
    for layer, head, t in places:
        request = asked | {"layer": layer, "head": head, "token": token, "t": t}
        yield _answer("/api/update", request, service.update)


def _telling_token(trace: dict[str, Any]) -> int:
    """The token that the first layer learns most about."""
    losses = unpacked(trace["token_losses"])[0].mean(axis=0)
    return int(np.nan_to_num(losses[0] - losses[-1]).argmax())


def _of_text(service: Service, id: str, entry: Entry) -> Iterator[Answer]:
    """Every piece of text, and what the model writes after the beginning of the first."""
    for example in entry.texts:
        yield _answer("/api/read", {"model": id, "text": example["text"]}, service.read)
    begin = entry.texts[0]["text"] if entry.texts else "\n"
    most = entry.source.shapes.most or _WRITTEN + _PROMPT
    prompt = begin[: min(_PROMPT, most // 2)]
    count = min(_WRITTEN, most - len(prompt.encode()))
    asked = {"model": id, "prompt": prompt, "count": count, "temperature": 0.8, "top": 40, "seed": 0}
    yield _answer("/api/generate", asked, lambda asked: list(service.generate(asked)))


def _answer(path: str, request: dict[str, Any], answer: Callable[[dict[str, Any]], Any]) -> Answer:
    return {"path": path, "request": request, "answer": answer(request)}
