"""Small models as the page gets them: drawn, not trained, and shaken so that they predict something."""

import dataclasses
import functools
import json
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import equinox as eqx
import jax

from catalogue import shake
from mttt.recipes import PRESETS
from mttt.recipes.inner import MiniBatchesRecipe
from mttt.recipes.inner_optimizers import LearnedRateRecipe, MomentumRecipe
from mttt.recipes.mixers import SelfAttentionRecipe
from mttt.recipes.rates import GatedRatesRecipe
from mttt.recipes.ttt import KERNEL, MTTT_LINEAR
from mttt.training import Loaded, prepare
from mttt.watch.models import Entry
from mttt.watch.server import Server
from mttt.watch.service import Service
from mttt.watch.sources import ModelSource

STEP = 40
_DIGITS = PRESETS["digits"].recipe
_TTT = _DIGITS.model.mixer
_TEXT = PRESETS["shakespeare"].recipe
_FULL = dataclasses.replace(_TTT.batching, steps=2)


def _vit(mixer, depth=2):
    model = dataclasses.replace(_DIGITS.model, dim=8, depth=depth, heads=2, patch=4, mixer=mixer)
    return dataclasses.replace(_DIGITS, model=model)


def _lm(**changes):
    model = dataclasses.replace(_TEXT.model, dim=8, depth=1, heads=2, **changes)
    return dataclasses.replace(_TEXT, model=model)


RECIPES = {
    "full": _vit(dataclasses.replace(_TTT, batching=_FULL)),
    "linear": _vit(
        dataclasses.replace(
            MTTT_LINEAR, batching=MiniBatchesRecipe(2), optimizer=LearnedRateRecipe(0.5, per_step=True)
        ),
        depth=1,
    ),
    "momentum": _vit(
        dataclasses.replace(_TTT, batching=_FULL, optimizer=MomentumRecipe(0.3), rates=GatedRatesRecipe()), depth=1
    ),
    "kernel": _vit(KERNEL, depth=1),
    "attention": _vit(SelfAttentionRecipe(), depth=1),
    "text": _lm(),
    "places": dataclasses.replace(_lm(positions="learned"), data=dataclasses.replace(_TEXT.data, context=20)),
}


class Drawn(ModelSource):
    """A model that was only drawn."""

    ships = False

    def __init__(self, name):
        self.name = name
        self.prepared, self._data = _prepared(name)

    newest = STEP
    why_not = None

    def load(self):
        model = eqx.filter_jit(self.prepared.model)(jax.random.key(0))
        return Loaded(shake(model, scale=0.2), STEP, self.prepared)

    def data(self):
        return self._data

    def result(self):
        return {"accuracy": 0.5}


@functools.cache
def _prepared(name):
    data = _data(RECIPES[name].data)
    return prepare(RECIPES[name], data), data


@functools.cache
def _data(recipe):
    return recipe.load()


@functools.cache
def entry(name):
    return Entry(name, Drawn(name), 3)


@functools.cache
def service():
    return Service({name: entry(name) for name in RECIPES})


def asked(name, **more):
    return {"model": name, "input": {"example": "0"}, "steps": 2, "rate": None} | more


@contextmanager
def serving(service):
    """A server, and what asks it: method, path, body and headers to status, JSON and headers."""
    with Server(service, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def ask(path, body=None, *, method=None, **headers):
            data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {name.replace("_", "-"): value for name, value in headers.items()}
            if data is not None:
                headers = {"Content-Type": "application/json"} | headers
            request = urllib.request.Request(server.address.rstrip("/") + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return answer.status, answer.read().decode(), answer.headers
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode(), error.headers

        try:
            yield server, ask
        finally:
            server.shutdown()
            thread.join()
