"""A trained model in one small file: the arrays in half precision, and the recipe that they belong to.

It is read as a run is: the recipe is checked, the model is built from it, and each array has to fit its place.
"""

import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from mttt.fields import FieldError
from mttt.files import contents, whole
from mttt.recipes import decode
from mttt.runs import Run, RunError
from mttt.training import Loaded, Prepared, load, load_data, prepare_for
from mttt.training.load import what_the_data_were

LIMIT = 2**24
"""bytes of a file"""
_HEADER = "header"


class Compact(NamedTuple):
    """A file that was read: all but the arrays is checked."""

    prepared: Prepared
    step: int
    result: dict[str, Any]
    arrays: dict[str, np.ndarray]
    path: Path

    def load(self) -> Loaded:
        """Its model."""

        def fill(path: Any, leaf: Any) -> Any:
            if not isinstance(leaf, jax.ShapeDtypeStruct):
                return leaf
            array = self.arrays.get(jax.tree_util.keystr(path))
            if array is None or array.shape != leaf.shape:
                raise RunError(f"{self.path} does not fit its recipe: {jax.tree_util.keystr(path)} should be {leaf}")
            return jnp.asarray(array.astype(leaf.dtype))

        model = jax.tree_util.tree_map_with_path(fill, self.prepared.shapes().model)
        return Loaded(model, self.step, self.prepared)


def read_compact(path: Path) -> Compact:
    """What `write_compact` wrote. A RunError says what is wrong with it."""
    try:
        with np.load(io.BytesIO(contents(path, LIMIT)), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(arrays.pop(_HEADER).tobytes())
        prepared = prepare_for(decode(header["recipe"]), *what_the_data_were(header["data"], path))
        return Compact(prepared, int(header["step"]), dict(header["result"]), arrays, path)
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, FieldError) as error:
        raise RunError(f"{path} is not a model that ships with the package: {error}") from error


def write_compact(run: Path, path: Path) -> Compact:
    """The model of a run, and how good it is on the data of the run once its arrays are in half precision."""
    loaded, opened = load(run), Run.open(run)
    leaves = jax.tree_util.tree_leaves_with_path(eqx.filter(loaded.model, eqx.is_array))
    arrays = {jax.tree_util.keystr(at): _half(np.asarray(leaf)) for at, leaf in leaves}
    rounded = Compact(loaded.prepared, loaded.step, {}, arrays, path)
    batches = loaded.prepared.evaluation_batches(load_data(opened))
    found = loaded.prepared.evaluate(rounded.load().model, batches).record()
    result = {name: found[name] for name in ("accuracy", "bits_per_byte", "examples") if found.get(name) is not None}
    data = {name: opened.data[name] for name in ("spec", "train", "evaluation_name")}
    header = {"recipe": opened.recipe, "data": data, "step": loaded.step, "result": result}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with whole(path) as place, place.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{_HEADER: text, **arrays})
    return rounded._replace(result=result)


def _half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16) if np.issubdtype(array.dtype, np.floating) else array
