"""Models around mixers."""

from mttt.mixers import MakeMixer as MakeMixer
from mttt.models.block import Block as Block
from mttt.models.draw import draw_small as draw_small
from mttt.models.embed import (
    LearnedPositions as LearnedPositions,
    Patches as Patches,
    SinCosPositions as SinCosPositions,
)
from mttt.models.head import LinearHead as LinearHead, TanhHead as TanhHead
from mttt.models.lm import LM as LM, TextState as TextState, TokenTable as TokenTable
from mttt.models.places import LearnedPlaces as LearnedPlaces, NoPlaces as NoPlaces
from mttt.models.pool import mean_of_real as mean_of_real
from mttt.models.stack import Stack as Stack, Stacked as Stacked
from mttt.models.vit import (
    MICRO_L as MICRO_L,
    MICRO_M as MICRO_M,
    MICRO_S as MICRO_S,
    SMALL as SMALL,
    TINY as TINY,
    Size as Size,
    Traced as Traced,
    ViT as ViT,
)
from mttt.models.writer import (
    Choice as Choice,
    Draw as Draw,
    Likeliest as Likeliest,
    Writer as Writer,
    Written as Written,
)
