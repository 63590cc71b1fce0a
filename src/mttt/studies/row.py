"""A row of a table: what is trained, whatever the scale."""

from dataclasses import dataclass
from typing import Literal

from mttt.recipes.mixers import MixerRecipe

Look = Literal["patches", "pixels", "coarse"]
"""what tokens are: patches, raw pixels, or patches of the pictures that are looked at by pixels"""


@dataclass(frozen=True)
class Row:
    """A layer in a ViT. Rows of the same name are the same row: studies share its runs."""

    name: str
    """what directories and `--only` call it"""
    label: str
    """what the paper calls it"""
    mixer: MixerRecipe
    look: Look = "patches"
    size: Literal["tiny", "small"] = "small"
    curves: bool = False
    """evaluate during training too, for figures of the inner losses"""
    probe: tuple[int, ...] = ()
    """evaluate the trained model with these numbers of inner steps, too"""


@dataclass(frozen=True)
class Study:
    """Rows, and what the paper printed for them (accuracy in percent, by the name of the row)."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]
    paper: dict[str, float]
    base: str
    """the row that FLOPs and times are relative to"""
    notes: str = ""
    """what one must know to read its table"""
