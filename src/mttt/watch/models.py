"""The models on the page: what is said of each, their examples, and the newest of each in memory."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from mttt.data import BadData, BadExample
from mttt.fields import FieldError
from mttt.mixers import has_inner_loop
from mttt.models import LM
from mttt.models.embed import grid
from mttt.recipes import mixer_words
from mttt.runs import RunError, in_use
from mttt.training import Loaded
from mttt.watch.asked import Refused
from mttt.watch.examples import example_pictures, example_texts
from mttt.watch.pictures import Pictured, thumbnail
from mttt.watch.sources import ModelSource, RunSource, ShippedSource
from mttt.watch.trace import fixed_rate, learning_mixer


class Entry:
    """One model of the page."""

    def __init__(self, id: str, source: ModelSource, examples: int):
        self.id, self.source = id, source
        self.is_text = isinstance(source.shapes, LM)
        self.pictures: dict[str, Pictured] = {}
        self.texts: list[dict[str, str]] = []
        self.no_examples: str | None = None
        self._loaded: Loaded | None = None
        self._find_examples(examples)

    def current(self) -> Loaded:
        """The newest that there is; one that is newer than the one in memory takes its place."""
        newest = self.source.newest
        if newest is None:
            raise Refused(f"{self.id} cannot be looked at: {self.source.why_not}", 409)
        if self._loaded is None or newest > self._loaded.step:
            loaded = self.source.load()
            loaded.prepared.check_evaluation(loaded.model, 1)
            self._loaded = loaded
        return self._loaded

    @property
    def trained_steps(self) -> int | None:
        """T, where it is one number."""
        mixer = None if self.is_text else learning_mixer(self.source.shapes)
        return None if mixer is None else mixer.batching.steps

    @property
    def grid(self) -> dict[str, int]:
        """Rows and columns of the tokens of a picture."""
        model = self.source.shapes
        rows, columns = grid(model.image_shape[:2], model.embed.patch)
        return {"rows": rows, "columns": columns}

    def describe(self) -> dict[str, Any]:
        """What the page knows of it."""
        source, model = self.source, self.source.shapes
        size, run = source.recipe.model.sizes(), source.run
        return {
            "id": self.id,
            "name": source.name,
            "about": _about(self),
            "kind": "text" if self.is_text else "pictures",
            "ships": source.ships,
            "learns": has_inner_loop(model),
            "usable": source.newest is not None,
            "why_not": source.why_not,
            "no_examples": self.no_examples,
            "layers": size.depth,
            "heads": size.heads,
            "steps": self.trained_steps,
            "rate": None if self.is_text else fixed_rate(model),
            "task": _task(source),
            "classes": list(source.prepared.spec.classes),
            **(self._of_text() if self.is_text else self._of_pictures()),
            "has_training": run is not None,
            "training": run is not None and in_use(run),
        }

    def _of_pictures(self) -> dict[str, Any]:
        height, width, channels = self.source.shapes.image_shape
        return {
            "picture": {"height": height, "width": width, "channels": channels},
            "grid": self.grid,
            "draws": channels == 1,
            "context": None,
            "examples": [
                {"id": name, "label": one.label, "thumbnail": thumbnail(one.pixels)}
                for name, one in self.pictures.items()
            ],
        }

    def _of_text(self) -> dict[str, Any]:
        context = self.source.recipe.model.tokens(self.source.prepared.spec)
        return {"picture": None, "grid": None, "draws": False, "context": context, "examples": self.texts}

    def _find_examples(self, count: int) -> None:
        """Some of what it is judged by, if that is still there; a model is as good without."""
        try:
            data = self.source.data()
            if self.is_text:
                self.texts = example_texts(data, self.source.shapes.most, min(count, 4))
            else:
                self.pictures = example_pictures(data, count)
        except (BadData, BadExample, FieldError, RunError, ValueError, OSError) as error:
            self.no_examples = f"The evaluation data cannot be read: {error}"


def catalogue(runs: Sequence[Path], *, examples: int) -> dict[str, Entry]:
    """The models of some runs, and those that ship with the package, by their ids."""
    sources: list[ModelSource] = [RunSource(path) for path in runs]
    folder = files("mttt.watch") / "shipped"
    sources += [ShippedSource(Path(str(file))) for file in sorted(folder.iterdir(), key=str) if ".npz" in file.name]
    found: dict[str, Entry] = {}
    for source in sources:
        name, number = source.name, 2
        while name in found:
            name, number = f"{source.name} ({number})", number + 1
        found[name] = Entry(name, source, examples)
    return found


def _task(source: ModelSource) -> str | None:
    task = getattr(source.recipe.model.mixer, "task", None)
    return None if task is None else task.kind


def _about(entry: Entry) -> str:
    """One line: what mixes, how large, how long it was trained, how good it is."""
    source = entry.source
    result, size = _result(source), source.recipe.model.sizes()
    rate = None if entry.is_text else fixed_rate(source.shapes)
    name, *words = mixer_words(source.recipe)
    inner = {"T": entry.trained_steps, "η": None if rate is None else f"{rate:g}"}
    known = [f"{symbol} = {value}" for symbol, value in inner.items() if value is not None]
    others = [word for word in words if not (known and re.fullmatch(r"steps\d+|.*rate-?[\d.]+", word))]
    blocks = f"{_some(size.depth, 'block')} of width {size.dim}, {_some(size.heads, 'head')}"
    parts = [", ".join([name, *known, *others]), blocks, _trained(source)]
    if entry.is_text and result.get("bits_per_byte") is not None:
        parts.append(f"{result['bits_per_byte']:.3f} bits per byte")
    elif not entry.is_text and result.get("accuracy") is not None:
        parts.append(f"accuracy {result['accuracy']:.1%}")
    return "; ".join(parts)


def _result(source: ModelSource) -> dict[str, Any]:
    """One run whose metrics are damaged takes nothing from the others; its training view says what is wrong."""
    try:
        return source.result()
    except RunError:
        return {}


def _trained(source: ModelSource) -> str:
    plan, newest = source.prepared.plan, source.newest
    if newest is None:
        return "not trained yet"
    epochs = newest * plan.batch_size / plan.examples
    return f"trained for {epochs:.3g} epochs"


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
