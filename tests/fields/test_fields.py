"""Dataclasses as JSON, by the types of their fields."""

import json
import pickle
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import pytest

from mttt.fields import Difference, FieldError, choices, decode, differences, encode, possible_choices


@dataclass(frozen=True)
class Round:
    kind: ClassVar[str] = "round"

    radius: float = 1.0

    def __post_init__(self):
        if self.radius <= 0:
            raise FieldError("radius", self.radius, "must be above 0")


@dataclass(frozen=True)
class Square:
    kind: ClassVar[str] = "square"

    side: int = 1
    inside: Round = field(default_factory=Round)


@dataclass(frozen=True)
class Paint:
    colour: Literal["red", "blue"] = "red"
    layers: int | None = None
    shiny: bool = False


@dataclass(frozen=True)
class Picture:
    shape: Round | Square = field(default_factory=Round)
    paint: Paint = field(default_factory=Paint)
    name: str = "nothing"


PICTURE = Picture(Square(3, Round(2.5)), Paint("blue", 4, True), "a square")


def test_there_and_back():
    written = encode(PICTURE)
    assert written == {
        "shape": {"kind": "square", "side": 3, "inside": {"kind": "round", "radius": 2.5}},
        "paint": {"colour": "blue", "layers": 4, "shiny": True},
        "name": "a square",
    }
    assert decode(Picture, json.loads(json.dumps(written))) == PICTURE
    whole = decode(Round, {"kind": "round", "radius": 3})
    assert isinstance(whole.radius, float), "JSON writes some numbers without a point"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"shape": {"kind": "oval"}}, "shape.kind=oval: unknown; known: round, square"),
        ({"shape": {}}, "shape.kind is missing: unknown; known: round, square"),
        ({"shape": {"kind": ["round"]}}, "shape.kind=['round']: unknown; known: round, square"),
        ({"shape": {"kind": "round", "side": 1}}, "shape.side=1: unknown field; known: radius"),
        ({"shape": "round"}, "shape=round: must be an object with fields"),
        ({"shape": {"kind": "round", "radius": "wide"}}, "shape.radius='wide': must be a number"),
        ({"shape": {"kind": "round", "radius": True}}, "shape.radius=True: must be a number"),
        ({"shape": {"kind": "square", "side": 1.5}}, "shape.side=1.5: must be a whole number"),
        (
            {"shape": {"kind": "square", "inside": {"kind": "round", "radius": -1}}},
            "shape.inside.radius=-1.0: must be above 0",
        ),
        ({"paint": {"colour": "green"}}, "paint.colour='green': must be one of red, blue"),
        ({"paint": {"layers": "two"}}, "paint.layers='two': must be a whole number or null"),
        ({"paint": {"shiny": 1}}, "paint.shiny=1: must be true or false"),
        ({"name": None}, "name=None: must be a text"),
        ({"size": 1}, "size=1: unknown field; known: shape, paint, name"),
        ([], "the whole=[]: must be an object with fields"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(value, reason):
    with pytest.raises(FieldError) as refused:
        decode(Picture, value)
    assert str(refused.value) == reason


def test_choices_are_those_of_what_is_chosen():
    assert choices(Picture()) == {"shape": {"round": Round, "square": Square}}
    assert set(choices(PICTURE)) == set(possible_choices(Picture)) == {"shape", "shape.inside"}


def test_differences_are_data():
    assert differences(encode(PICTURE), encode(PICTURE)) == []
    other = replace(PICTURE, name="another", shape=Round(2.5))
    found = differences(encode(PICTURE), encode(other))
    assert Difference("name", "a square", "another") in found
    assert {one.path for one in found} == {"name", *(f"shape.{x}" for x in ("kind", "side", "inside", "radius"))}
    assert str(found[0]) == "name: a square there, another here"


def test_an_error_survives_another_process():
    error = FieldError("shape.radius", -1, "must be above 0").under("picture")
    again = pickle.loads(pickle.dumps(error))
    assert (again.path, again.value, again.reason) == ("picture.shape.radius", -1, "must be above 0")
    assert str(again) == str(error) == "picture.shape.radius=-1: must be above 0"
    assert str(FieldError("path", "", "a folder")) == "path is missing: a folder"
