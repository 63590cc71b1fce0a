"""What a model has to know of its data, through JSON and back."""

import json

import jax
import numpy as np
import pytest

from mttt.data import Spec

IMAGE = jax.ShapeDtypeStruct((8, 6, 3), np.uint8)


@pytest.mark.parametrize(
    "inputs", [IMAGE, {"image": IMAGE, "shape": jax.ShapeDtypeStruct((2,), np.int32)}, jax.ShapeDtypeStruct((), "int8")]
)
def test_a_spec_survives_json(inputs):
    spec = Spec(inputs, ("cat", "größer"))
    assert Spec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


def test_json_is_for_people_too():
    assert Spec(IMAGE, ("a",)).to_json() == {"inputs": {"shape": [8, 6, 3], "dtype": "uint8"}, "classes": ["a"]}


def test_what_describes_no_input_is_refused():
    with pytest.raises(TypeError, match=r"jax.ShapeDtypeStruct or a dict of them, not by \(8, 8\)"):
        Spec((8, 8), ("a",)).to_json()
