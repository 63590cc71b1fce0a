"""What the page can ask for, and the answers: one computation at a time, and what needs none at any time."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mttt.training import Loaded
from mttt.version import __version__
from mttt.watch.asked import Refused, number, text, whole
from mttt.watch.models import Entry
from mttt.watch.packed import base64_of, packed, plain
from mttt.watch.pictures import UPLOAD, Pictured, picture_of
from mttt.watch.progress import progress
from mttt.watch.reading import reading
from mttt.watch.recent import Recent
from mttt.watch.trace import Look, changed, fixed_rate, learning_mixer, look
from mttt.watch.update import HeadSteps, steps_of, update_of
from mttt.watch.writing import written

STEPS = 16
"""T that can be asked for; more for a model that was trained with more"""
TEXT = 20_000
WRITTEN = 1000
_RATE = 1e6


class Asked:
    """A trace that was asked for, checked: the model as it is to be, and the picture."""

    def __init__(self, entry: Entry, loaded: Loaded, request: Mapping[str, Any]):
        self.entry, self.loaded = entry, loaded
        self.picture: Pictured = picture_of(request.get("input"), loaded, entry.pictures)
        trained = entry.trained_steps
        self.steps = 0 if trained is None else whole(request, "steps", 0, max(STEPS, trained))
        self.rate = self._rate(request)
        self.model = loaded.model if trained is None else changed(loaded.model, self.steps, self.rate)

    def _rate(self, request: Mapping[str, Any]) -> float | None:
        trained = fixed_rate(self.loaded.model)
        if request.get("rate") is None:
            return trained
        if trained is None:
            raise Refused(f"the inner loop of {self.entry.id} has no rate that can be changed; leave rate out")
        return number(request, "rate", -_RATE, _RATE, symbol="η")

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for what has the same answer."""
        return self.entry.id, self.loaded.step, self.steps, self.rate, self.picture.pixels.tobytes()

    @property
    def program(self) -> tuple[Any, ...]:
        """The same for what is computed by the same program."""
        mixer = None if self.entry.trained_steps is None else learning_mixer(self.model)
        return self.entry.id, None if mixer is None else mixer.batching.steps


class Service:
    """The answers of the page's server, and of an export."""

    def __init__(self, models: Mapping[str, Entry]):
        self._models = models
        self._lock = threading.Lock()
        self._busy: tuple[str, float] | None = None
        self._compiled: set[Any] = set()
        self._looks: Recent[Look] = Recent()
        self._steps: Recent[HeadSteps] = Recent()

    def stop(self) -> bool:
        """Nothing more is computed; False if something still is that cannot be stopped."""
        return self._lock.acquire(timeout=1.0)

    def models(self) -> dict[str, Any]:
        """All models, and what may be asked for."""
        limits = {"upload": UPLOAD, "steps": STEPS, "text": TEXT}
        return {"version": __version__, "models": [one.describe() for one in self._models.values()], "limits": limits}

    def status(self) -> dict[str, Any]:
        """What is being computed, and for how long."""
        busy = self._busy
        return (
            {"busy": None, "seconds": 0}
            if busy is None
            else {
                "busy": busy[0],
                "seconds": round(time.monotonic() - busy[1], 1),
            }
        )

    def training(self, id: str) -> dict[str, Any]:
        """How far the training of a run is, from its files."""
        source = self._entry(id).source
        if source.run is None:
            raise Refused(f"{id} is not a run, so there is no training to show", 404)
        return progress(source.run, source.prepared.plan.steps)

    def trace(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A picture on its way through a model."""
        begin = time.monotonic()
        entry = self._pictures(request)
        with self._computing("tracing", entry):
            asked = Asked(entry, entry.current(), request)
            found = self._look(asked)
        height, width, channels = asked.picture.pixels.shape
        pixels = {"height": height, "width": width, "channels": channels}
        return {
            "steps": asked.steps,
            "rate": asked.rate,
            "classes": list(asked.loaded.classes),
            "label": asked.picture.label or None,
            "input": {**pixels, "pixels": base64_of(asked.picture.pixels)},
            "grid": entry.grid,
            "probabilities": plain(found.probabilities[: asked.steps + 1], 5),
            **_learning(found, asked.steps),
            "milliseconds": round(1000 * (time.monotonic() - begin)),
        }

    def update(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One step of one head, in numbers."""
        entry = self._pictures(request)
        with self._computing("computing a step of", entry):
            asked = Asked(entry, entry.current(), request)
            mixer, learning = learning_mixer(asked.model), self._look(asked).learning
            if mixer is None or learning is None:
                raise Refused(f"{entry.id} has no inner loop, so there is no step to show")
            if not asked.steps:
                raise Refused("steps = 0: there is no step to show")
            depth, n, _ = learning.tokens.shape
            heads = mixer.merge.weight.shape[-3]
            bounds = {"layer": depth, "head": heads, "token": n}
            place = {name: whole(request, name, 0, most - 1) for name, most in bounds.items()}
            t = whole(request, "t", 0, asked.steps - 1)
            key = (asked.key, *place.values())
            if (steps := self._steps.get(key)) is None:
                with self._compiling(("update", asked.program), entry):
                    layer, head, token = map(jnp.asarray, place.values())
                    found = steps_of(mixer, learning.tokens, layer, head, token)
                    steps = self._steps.put(key, jax.tree.map(_on_host, found))
            return update_of(steps, t)

    def read(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """A text on its way through a language model."""
        begin, entry = time.monotonic(), self._text(request)
        given = _bytes(request, "text")
        if len(given) < 2:
            raise Refused("the text has fewer than 2 bytes; the second is the first that can be expected")
        with self._computing("reading with", entry):
            loaded = entry.current()
            _check_length(loaded, len(given))
            with self._compiling(("read", entry.id, len(given) > 1024, len(given) > 8192), entry):
                answer = reading(loaded.model, given)
        return answer | {"milliseconds": round(1000 * (time.monotonic() - begin))}

    def generate(self, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """A language model writes. Other computations have their turn between two bytes."""
        entry, prompt = self._text(request), _bytes(request, "prompt") or b"\n"
        count = whole(request, "count", 1, WRITTEN)
        temperature = number(request, "temperature", 1e-3, 1e3)
        top = None if request.get("top") is None else whole(request, "top", 1, 2**16)
        seed = whole(request, "seed", 0, 2**31 - 1)
        with self._computing("writing with", entry):
            loaded = entry.current()
            _check_length(loaded, len(prompt) + count)
        how = {"count": count, "temperature": temperature, "top": top, "seed": seed}
        return self._one_by_one(entry, written(loaded.model, prompt, **how))

    def _one_by_one(self, entry: Entry, lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        done = object()
        while True:
            with self._computing("writing with", entry), self._compiling(("write", entry.id), entry):
                line: Any = next(lines, done)
            if line is done:
                return
            yield line

    def _look(self, asked: Asked) -> Look:
        """What was looked at lately is not computed again."""
        if (kept := self._looks.get(asked.key)) is not None:
            return kept
        with self._compiling(("trace", asked.program), asked.entry):
            image = asked.loaded.read(asked.picture.pixels)
            found = jax.block_until_ready(look(asked.model, image, jnp.asarray(asked.steps)))
        return self._looks.put(asked.key, found)

    def _entry(self, id: Any) -> Entry:
        if not isinstance(id, str) or id not in self._models:
            raise Refused(f"there is no model {str(id)[:80]!r} here; there are {', '.join(self._models)}", 404)
        return self._models[id]

    def _pictures(self, request: Mapping[str, Any]) -> Entry:
        entry = self._entry(request.get("model"))
        if entry.is_text:
            raise Refused(f"{entry.id} is a language model: it reads text, not pictures")
        return entry

    def _text(self, request: Mapping[str, Any]) -> Entry:
        entry = self._entry(request.get("model"))
        if not entry.is_text:
            raise Refused(f"{entry.id} classifies pictures: it reads no text")
        return entry

    @contextmanager
    def _computing(self, what: str, entry: Entry) -> Iterator[None]:
        with self._lock:
            self._busy = (f"{what} {entry.id}", time.monotonic())
            try:
                yield
            finally:
                self._busy = None

    @contextmanager
    def _compiling(self, program: Any, entry: Entry) -> Iterator[None]:
        """The first time that a program runs it is compiled, which takes longest."""
        if program not in self._compiled and self._busy is not None:
            self._busy = (f"compiling a program for {entry.id}", self._busy[1])
        yield
        self._compiled.add(program)


def _learning(found: Look, steps: int) -> dict[str, Any]:
    """What the layers learned, as the page gets it."""
    if found.learning is None:
        return {"losses": None, "token_losses": None, "distance": None}
    losses = np.asarray(found.learning.losses)[:, :, : steps + 1]
    return {
        "losses": plain(losses.mean(axis=-1, dtype=np.float64)),
        "token_losses": packed(losses),
        "distance": plain(found.learning.distance[:, :, : steps + 1]),
    }


def _bytes(request: Mapping[str, Any], name: str) -> bytes:
    """A text as bytes; half of a character that has no bytes is left out."""
    given = text(request, name, TEXT).encode("utf-8", "ignore")
    if len(given) > TEXT:
        raise Refused(f"{name} has {len(given):,} bytes; expected at most {TEXT:,}")
    return given


def _check_length(loaded: Loaded, count: int) -> None:
    most = loaded.model.most
    if most is not None and count > most:
        raise Refused(f"{count:,} bytes: this model has learned positions for {most:,}, and none beyond; take fewer")


def _on_host(leaf: Any) -> Any:
    return np.asarray(leaf) if eqx.is_array(leaf) else leaf
