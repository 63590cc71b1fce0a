"""The models: an embedding, two blocks, and logits where a key is asked for."""

from dataclasses import dataclass

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.mixers import Convolved, MakeMixer
from mttt.models import Size, Stack
from mttt.models.lm import TokenTable
from mttt.nn import Dense, LayerNorm
from mttt.nn.dense import fan_in_uniform
from mttt.studies.recall.sequences import VOCABULARY
from mttt.studies.recall.sets import ASKED, VOCABULARY as VALUES

CONVOLUTION, SPREAD = 3, 0.5
"""width of the convolution before each mixer, and how far its taps are from the identity at first"""


@dataclass(frozen=True)
class DrawnConvolution:
    """A maker of `Convolved` whose taps are the identity and N(0, 0.5²).

    From the identity alone, self-attention did not find in 400 steps that a value follows its key: every feature of a
    token and of the one before it would have to be told apart first. Drawn, some are at once.
    """

    mixer: MakeMixer

    def __call__(self, dim: int, heads: int, *, key: PRNGKeyArray) -> Convolved:
        mixer_key, taps_key = jax.random.split(key)
        layer = Convolved(dim, heads, mixer=self.mixer, width=CONVOLUTION, key=mixer_key)
        noise = SPREAD * jax.random.normal(taps_key, layer.taps.shape)
        return eqx.tree_at(lambda layer: layer.taps, layer, layer.taps + noise)


class Rememberer(eqx.Module):
    """A language model without MLPs, whose logits are made only where they are asked for: most of its time, else."""

    embed: TokenTable
    stack: Stack
    norm: LayerNorm
    logits: Dense

    def __init__(self, size: Size, mixer: MakeMixer, *, key: PRNGKeyArray):
        embed_key, stack_key, logits_key = jax.random.split(key, 3)
        self.embed = TokenTable(VOCABULARY, size.dim, key=embed_key)
        self.stack = Stack(size.dim, size.depth, size.heads, mixer=DrawnConvolution(mixer), mlp_factor=0, key=stack_key)
        self.norm = LayerNorm(size.dim)
        self.logits = Dense(size.dim, VOCABULARY, kernel_init=fan_in_uniform, key=logits_key)

    def __call__(self, tokens: Int[Array, " n"], *, key: PRNGKeyArray | None = None) -> Float[Array, "questions v"]:
        """One sequence, without its last value, to the logits after every key of its second half."""
        mixed = self.stack(self.embed.embed(tokens), key=key).tokens
        return self.logits(self.norm(mixed[(tokens.shape[0] + 1) // 2 :: 2]))

    def state_bytes(self, tokens: int) -> int:
        """What one block keeps of so many tokens, to go on from. Only self-attention's state grows with them."""
        full = jax.eval_shape(lambda: self.stack.make_room(self.stack.start(), tokens))
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(full)) // self.stack.depth


class SetRememberer(eqx.Module):
    """A transformer of sets, without MLPs: a token is its key's vector plus its value's; one value says "asked for"."""

    keys: TokenTable
    values: TokenTable
    stack: Stack
    norm: LayerNorm
    logits: Dense
    questions: int = eqx.field(static=True)

    def __init__(self, size: Size, mixer: MakeMixer, questions: int, *, key: PRNGKeyArray):
        keys_key, values_key, stack_key, logits_key = jax.random.split(key, 4)
        self.keys = TokenTable(VALUES, size.dim, key=keys_key)
        self.values = TokenTable(ASKED + 1, size.dim, key=values_key)
        self.stack = Stack(size.dim, size.depth, size.heads, mixer=mixer, mlp_factor=0, key=stack_key)
        self.norm = LayerNorm(size.dim)
        self.logits = Dense(size.dim, VALUES, kernel_init=fan_in_uniform, key=logits_key)
        self.questions = questions

    def __call__(self, tokens: Int[Array, "n 2"], *, key: PRNGKeyArray | None = None) -> Float[Array, "questions v"]:
        """One set, the keys that are asked for last, to the logits of their values."""
        embedded = self.keys.embed(tokens[:, 0]) + self.values.embed(tokens[:, 1])
        mixed = self.stack(embedded, key=key).tokens
        return self.logits(self.norm(mixed[-self.questions :]))
