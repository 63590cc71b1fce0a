"""Training on inputs of several lengths: digits as sets of their bright pixels, 16 to 42 tokens each.

    python examples/variable_lengths.py [STEPS]

Inputs are padded to the next of two lengths and masked, so the step is compiled twice, not once for each length. A
padded input gives what the short one gives.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import mttt
from mttt.data.pictures import load_digits

LENGTHS = (34, 48)
DIM, BATCH = 32, 32
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300


def bright_pixels(source):
    """Every image as the set of its pixels that are not black: (value, row, column) as 1 + 8 + 8 features."""
    sets, eye = [], np.eye(8, dtype=np.float32)
    for image in source.images[..., 0]:
        rows, columns = np.nonzero(image)
        values = image[rows, columns].astype(np.float32)[:, None] / 255
        sets.append(np.concatenate([values, eye[rows], eye[columns]], axis=1))
    return sets, source.labels


class SetClassifier(eqx.Module):
    """Tokens of a set, MTTT-MLP blocks, the mean over the real tokens, logits."""

    embed: eqx.nn.Linear
    stack: mttt.Stack
    head: eqx.nn.Linear

    def __init__(self, *, key):
        embed, stack, head = jax.random.split(key, 3)
        self.embed = eqx.nn.Linear(17, DIM, key=embed)
        mixer = lambda dim, heads, *, key: mttt.TTT(dim, heads, learner=mttt.MLPLearner, key=key)  # noqa: E731
        self.stack = mttt.Stack(DIM, 2, 2, mixer=mixer, key=stack)
        self.head = eqx.nn.Linear(DIM, 10, key=head)

    def __call__(self, tokens, mask):
        tokens = jax.vmap(self.embed)(tokens)
        return self.head(mttt.mean_of_real(self.stack(tokens, mask=mask).tokens, mask)[0])


optimizer = optax.adam(3e-3)
compiled = []


@eqx.filter_jit
def step(model, state, tokens, mask, labels):
    """One step of the outer loop."""
    compiled.append(tokens.shape[1])  # runs only when the step is traced for a new length

    def loss(model):
        logits = jax.vmap(model)(tokens, mask)
        return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))

    updates, state = optimizer.update(eqx.filter_grad(loss)(model), state)
    return eqx.apply_updates(model, updates), state


splits = load_digits()
sets, labels = bright_pixels(splits.train)
model = SetClassifier(key=jax.random.key(0))
state = optimizer.init(eqx.filter(model, eqx.is_inexact_array))
# Inputs of like length share batches: little padding.
groups = [np.flatnonzero([mttt.bucket(len(each), LENGTHS) == n for each in sets]) for n in LENGTHS]
shares = np.array([len(group) for group in groups]) / len(sets)
rng = np.random.default_rng(0)
for _ in range(STEPS):
    rows = rng.choice(groups[rng.choice(len(groups), p=shares)], BATCH)
    tokens, mask = mttt.pad_to_bucket([sets[row] for row in rows], LENGTHS)
    model, state = step(model, state, tokens, mask, labels[rows])

test, answers = bright_pixels(splits.evaluation)
tokens, mask = mttt.pad_to_bucket(test, LENGTHS[-1:])
predicted = np.asarray(jnp.argmax(eqx.filter_jit(eqx.filter_vmap(model))(tokens, mask), axis=1))
print(f"inputs of {min(map(len, sets))} to {max(map(len, sets))} tokens; the step was compiled for {sorted(compiled)}")
print(f"accuracy after {STEPS} steps: {np.mean(predicted == answers):.1%} of {len(answers)} test images")
