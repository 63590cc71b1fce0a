"""A language model writes, byte by byte, and says what it expected."""

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from mttt.models import LM, Choice, Writer
from mttt.watch.packed import plain
from mttt.watch.reading import LIKELY


class DrawAt(Choice):
    """As `Draw` does it, with a temperature and a number of likeliest bytes that no program is compiled for anew."""

    temperature: Float[Array, ""]
    top: Int[Array, ""]

    def __call__(self, logits: Float[Array, " v"], key: PRNGKeyArray) -> Int[Array, ""]:
        least = jnp.sort(logits)[-jnp.minimum(self.top, logits.shape[0])]
        kept = jnp.where(logits >= least, logits, -jnp.inf)
        return jax.random.categorical(key, kept / self.temperature).astype(jnp.int32)


def written(
    model: LM, prompt: bytes, *, count: int, temperature: float, top: int | None, seed: int
) -> Iterator[dict[str, Any]]:
    """A record for each byte, and one at the end. The prompt is read before the first."""
    writer = Writer(model, room=len(prompt) + count)
    for _ in writer.read(np.frombuffer(prompt, np.uint8)):
        pass
    top = model.vocabulary if top is None else top
    choice = DrawAt(jnp.asarray(temperature, jnp.float32), jnp.asarray(top, jnp.int32))
    bytes_, begin = writer.write(choice, key=jax.random.key(seed)), None
    for _ in range(count):
        expected = _softmax(writer.logits)
        likely = np.argsort(-expected)[:LIKELY]
        byte, bits = next(bytes_)
        begin = begin or time.monotonic()  # the first one may be compiled
        yield {
            "byte": byte,
            "surprise": plain(bits, 5),
            "likely": [[int(one), plain(expected[one], 4)] for one in likely],
        }
    seconds = time.monotonic() - (begin or 0)
    yield {"done": True, "tokens_per_second": plain((count - 1) / seconds, 4) if count > 1 and seconds else None}


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()
