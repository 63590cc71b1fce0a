"""Every causal mixer: its formula, what it does not see, and that any cut of a sequence gives what one pass gives."""

import copy
import pickle
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mttt
from catalogue import CAUSAL, DIM, GROWING, HEADS, SOFTMAX, build, made as make, relative_error, tokens
from mttt.mixers import frozen
from oracles import recurrence

LONG = 11


def pieces(seed):
    """A random cut into pieces of few sizes: each size is compiled once."""
    rng, sizes = np.random.default_rng(seed), []
    while (left := LONG - sum(sizes)) > 0:
        sizes.append(int(rng.choice([size for size in (1, 3, 7) if size <= left])))
    return tuple(sizes)


CUTS = [(1,) * LONG, *map(pieces, range(5))]


def exact(name):
    return 1e-5 if name in SOFTMAX else 1e-10


@eqx.filter_jit
def go_on(mixer, state, rows):
    return mixer.go_on(state, rows)


@eqx.filter_jit
def one_pass(mixer, x, weights):
    """What comes out, and the gradient of a weighted sum of it by parameters and tokens: one program for many tests."""

    def loss(variables):
        mixer, x = variables
        out = mixer(x).tokens
        return jnp.sum(weights[:, None] * jnp.sin(3 * out)), out

    (_, out), gradient = eqx.filter_value_and_grad(loss, has_aux=True)((mixer, x))
    return out, gradient


def exactly(name, x):
    """What comes out in float64."""
    with jax.enable_x64(True):
        out, _ = one_pass(make(name), jnp.asarray(np.asarray(x, float)), np.ones(LONG))
        return jnp.asarray(np.asarray(out, np.float32))


def read(mixer, x, sizes, room=LONG):
    """Of pieces of these sizes: what comes out, and the last state. Without room at first, it grows."""
    state, out, at = mixer.make_room(mixer.start(x.dtype), room), [], 0
    for size in sizes:
        state = mixer.make_room(state, size)  # jitted functions below cannot
        piece, state = go_on(mixer, state, x[at : at + size])
        out, at = [*out, piece], at + size
    return jnp.concatenate(out), state


def plain(mixer, x):
    """The formula, token by token, in NumPy."""
    if isinstance(mixer, mttt.CausalTTT):
        return plain_ttt(mixer, jnp.asarray(x))
    mixer = jax.tree.map(np.asarray, mixer)
    if isinstance(mixer, mttt.Gated):
        return np.asarray(jax.nn.gelu(x @ mixer.gate.weight + mixer.gate.bias)) * plain(mixer.mixer, x)
    if isinstance(mixer, mttt.Convolved):
        return plain(mixer.mixer, short(x, mixer.taps))
    if isinstance(mixer, mttt.CausalHyena):
        return plain_hyena(mixer, x)
    views = mixer.views
    q, k, v = (np.einsum("nd,hdk->hnk", x, p.weight) + p.bias[:, None] for p in (views.query, views.key, views.value))
    out = np.zeros_like(q)
    for h, t in np.ndindex(q.shape[:2]):
        seen = slice(max(0, t + 1 - getattr(mixer, "window", len(x))), t + 1)
        out[h, t] = token(mixer, q[h, t], k[h, seen], v[h, seen])
    return np.einsum("hnk,hkd->nd", out, mixer.merge.weight) + mixer.merge.bias


def token(mixer, q, k, v):
    """One query, and all keys and values it sees; its own are the last."""
    if isinstance(mixer, mttt.CausalLinearAttention):
        return q @ sum(np.outer(a, b) for a, b in zip(k, v, strict=True)) / (len(k) * mixer.divisor)
    if isinstance(mixer, mttt.CausalEluLinearAttention):
        feature = lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))  # noqa: E731
        weights = feature(k) @ feature(q)
    else:
        if mixer.positions is not None:
            half = len(q) // 2
            turn = mixer.positions.base ** -(np.arange(half) / half)
            distance = np.arange(len(k))[::-1, None]
            pair = lambda x: x[..., :half] + 1j * x[..., half:]  # noqa: E731
            scores = np.real(pair(k) * np.conj(pair(q)) * np.exp(-1j * distance * turn)).sum(1)
        else:
            scores = k @ q
        weights = np.exp(scores / len(q) ** 0.5)
    return weights @ v / weights.sum()


def short(x, taps):
    return np.stack([sum(taps[-1 - s] * x[t - s] for s in range(min(t + 1, len(taps)))) for t in range(len(x))])


def plain_ttt(mixer, x):
    """Head by head, token by token."""

    def head(h):
        is_shared = lambda node: isinstance(node, mttt.Shared)  # noqa: E731
        own = lambda tree: jax.tree.map(lambda leaf: leaf if is_shared(leaf) else leaf[h], tree, is_leaf=is_shared)  # noqa: E731
        psi, task, start, rates = map(own, (mixer.psi, mixer.task, mixer.initial, mixer.rates))
        queries = task.queries(psi(x))
        learner = start.first(mixer.optimizer, x.dtype).learner
        answers, _ = read(learner, task, rates, mixer.optimizer, mixer.chunks, x, queries)
        return task.outputs(answers, queries) @ mixer.merge.weight[h]

    read = eqx.filter_jit(recurrence)  # one program for both heads
    return np.asarray(sum(map(head, range(HEADS))) + mixer.merge.bias[None, :])


def plain_hyena(mixer, x):
    z, *gates = (short(x @ p.weight + p.bias, taps) for p, taps in zip(mixer.inside, mixer.short, strict=True))
    filters = np.asarray(jax.tree.map(jnp.asarray, mixer.filters).sided(mixer.context, jnp.dtype(float))[0])
    for gate, filter, skip in zip(gates, filters, mixer.skip, strict=True):
        z = gate * (short(z, filter[::-1]) + skip * z)
    return z @ mixer.out.weight + mixer.out.bias


@pytest.mark.parametrize("name", CAUSAL)
def test_one_pass_is_the_formula_and_any_cut_is_one_pass(name, float64):
    mixer, x = make(name), tokens(LONG)
    whole, _ = one_pass(mixer, x, np.ones(LONG))
    assert relative_error(whole, jnp.asarray(plain(mixer, np.asarray(x)))) < exact(name)
    _, last = read(mixer, x, CUTS[0])
    for sizes, room in [((3, 7, 1), 0), *((sizes, LONG) for sizes in CUTS)]:
        out, state = read(mixer, x, sizes, room)
        assert relative_error(out, whole) < exact(name), sizes
        assert relative_error(state, last) < 1e-10, sizes
        assert [a.dtype for a in jax.tree.leaves(state)] == [a.dtype for a in jax.tree.leaves(last)]


@pytest.mark.parametrize("name", CAUSAL)
def test_no_token_sees_the_ones_after_it(name, float64):
    mixer, x = make(name), tokens(LONG)

    early = np.arange(LONG) < 5
    out, (_, slope) = one_pass(mixer, x, 1.0 * early)
    same, _ = one_pass(mixer, jnp.concatenate([x[:5], tokens(LONG - 5, seed=9)]), 1.0 * early)
    assert relative_error(same[:5], out[:5]) < 1e-12
    assert jnp.max(jnp.abs(slope[5:])) < 1e-12 < 1e-3 < jnp.max(jnp.abs(slope[4]))


@pytest.mark.parametrize("name", CAUSAL)
def test_gradients_through_states_are_those_of_one_pass(name, float64):
    """By parameters and tokens."""
    mixer, x = make(name), tokens(LONG)

    def pieces(variables):
        mixer, x = variables
        state = mixer.make_room(mixer.start(x.dtype), LONG)
        first, state = mixer.go_on(state, x[:4])
        # The rest one by one: a state is what a scan carries.
        _, rest = jax.lax.scan(lambda state, one: mixer.go_on(state, one[None])[::-1], state, x[4:])
        return jnp.sum(jnp.sin(3 * jnp.concatenate([first, rest[:, 0]])))

    _, expected = one_pass(mixer, x, np.ones(LONG))
    assert relative_error(eqx.filter_jit(eqx.filter_grad(pieces))((mixer, x)), expected) < exact(name)


def test_frozen_layers_answer_with_the_first_weights():
    """Not with ones that decayed, either."""
    parts = {"learner": mttt.LinearLearner, "task": mttt.KeyValue, "rates": mttt.DecayingRates}
    layer, x = build(partial(mttt.CausalTTT, **parts, chunks=mttt.Chunks(4)), DIM, HEADS), tokens(LONG)
    still = frozen(layer)
    _, state = go_on(still, still.start(x.dtype), x)
    assert jnp.array_equal(state.carries.learner.weight, layer.initial.learner.weight)
    _, state = go_on(layer, layer.start(x.dtype), x)
    assert not jnp.allclose(state.carries.learner.weight, layer.initial.learner.weight)


@pytest.mark.parametrize("name", CAUSAL)
def test_states_are_of_a_fixed_size_and_dtype(name):
    """Also where many tokens came; self-attention's keys and values aside."""
    mixer = make(name)
    after = eqx.filter_eval_shape(
        lambda: mixer.go_on(mixer.make_room(mixer.start(), 5 + 300), jnp.zeros((300, DIM)))[1]
    )
    start = eqx.filter_eval_shape(mixer.start)
    assert jax.tree.structure(after) == jax.tree.structure(start)
    assert (after == start) == (name not in GROWING)


@pytest.mark.parametrize("name", CAUSAL)
def test_bfloat16_tokens_are_mixed_in_bfloat16(name):
    mixer, x = make(name), tokens(LONG)

    @eqx.filter_jit
    def whole_and_pieces(mixer, x):
        state = mixer.make_room(mixer.start(x.dtype), LONG)
        first, state = mixer.go_on(state, x[:4])
        rest, state = mixer.go_on(state, x[4:])
        return mixer(x).tokens, jnp.concatenate([first, rest]), state

    half, out, state = whole_and_pieces(mixer, x.astype(jnp.bfloat16))
    assert half.dtype == out.dtype == jnp.bfloat16
    full = exactly(name, x)
    assert relative_error(half.astype(jnp.float32), full) < 0.05
    assert relative_error(out.astype(jnp.float32), full) < 0.05
    kinds = {leaf.dtype for leaf in jax.tree.leaves(state)} - {jnp.dtype(jnp.int32)}
    sums = name in ("causal-linear-attention", "causal-elu-linear-attention")
    assert (jnp.dtype(jnp.bfloat16) in kinds) != sums, "sums of many tokens are float32"


@pytest.mark.parametrize("name", CAUSAL)
def test_batches_of_states_and_of_tokens(name):
    """In float32, each as one input in float64."""
    mixer, x = make(name), tokens(LONG, batch=(3,))

    @eqx.filter_jit
    def batched(mixer, x):
        start = jax.vmap(lambda _: mixer.start())(x)
        states = mixer.make_room(start, LONG)
        first, states = jax.vmap(mixer.go_on)(states, x[:, :5])
        return jnp.concatenate([first, jax.vmap(mixer.go_on)(states, x[:, 5:])[0]], axis=1)

    one_by_one = jnp.stack([exactly(name, one) for one in x])
    assert relative_error(batched(mixer, x), one_by_one) < 1e-5


@pytest.mark.parametrize("name", CAUSAL)
def test_a_state_is_kept_copied_and_branched(name, float64):
    mixer, x, other = make(name), tokens(LONG), tokens(3, seed=5)
    _, state = read(mixer, x, (7, 1))
    copies = [state, copy.deepcopy(state), pickle.loads(pickle.dumps(state)), jax.lax.stop_gradient(state)]
    go_on(mixer, mixer.make_room(state, 3), other)
    first, *rest = (go_on(mixer, mixer.make_room(one, 3), x[8:])[0] for one in copies)
    assert all(np.array_equal(first, out) for out in rest)
    assert relative_error(first, one_pass(mixer, x, np.ones(LONG))[0][8:]) < exact(name)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("name", CAUSAL)
def test_a_state_of_another_layer_is_refused(name):
    mixer, x = make(name), tokens(3)
    strangers = {
        "a batch": jax.tree.map(lambda a: jnp.stack([a, a]), mixer.start()),
        "nothing": None,
        "another dtype": mixer.start(jnp.float16),
        "another width": jax.eval_shape(lambda: CAUSAL[name](24, HEADS, key=jax.random.key(0)).start()),
    }
    if "linear" in name:
        del strangers["another dtype"]  # sums of float16 are float32
    for state in strangers.values():
        with pytest.raises(ValueError, match=rf"this state is not one of this {type(mixer).__name__}: .*start\("):
            mixer.go_on(state, x)
    with pytest.raises(ValueError, match=r"use jax\.vmap"):
        mixer.go_on(mixer.start(), x[None])
    with pytest.raises(ValueError, match="there is no token"):
        mixer.go_on(mixer.start(), x[:0])


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("name", CAUSAL)
def test_tokens_of_another_width_are_refused(name):
    mixer = make(name)
    for call in (mixer, partial(mixer.go_on, mixer.start())):
        with pytest.raises(ValueError, match=r"tokens of shape \(7, 10\): this layer was built for tokens of width 12"):
            call(tokens(dim=10))


@pytest.mark.parametrize("name", CAUSAL)
def test_every_leaf_is_a_parameter(name):
    assert all(map(eqx.is_inexact_array, jax.tree.leaves(make(name))))
    with jax.enable_x64(True):  # drawn as one that is wide
        wide = eqx.filter_eval_shape(CAUSAL[name], DIM, HEADS, key=jax.random.key(0))
        assert {leaf.dtype for leaf in jax.tree.leaves(wide)} == {jnp.dtype(float)}


def test_a_cache_grows_by_powers_of_two_and_says_when_it_cannot():
    mixer, x = make("causal-attention"), tokens(LONG)
    _, state = mixer.go_on(mixer.start(), x[:3])
    assert state.keys.shape[1] == 4 and state.seen == 3
    assert mixer.make_room(state, 1) is state
    assert mixer.make_room(state, 2).keys.shape[1] == 8
    assert mixer.go_on(state, x[3:6])[1].values.shape[1] == 8
    with pytest.raises(ValueError, match=r"room for 4 tokens, and more came.*call state = make_room\(state, count\)"):
        go_on(mixer, state, x[:5])
    with pytest.raises(Exception, match=r"room for 4 tokens, and more came.*call state = make_room\(state, count\)"):
        jax.block_until_ready(go_on(mixer, state, x[:2]))
    roomy = mixer.make_room(state, 8)
    assert roomy.values.shape[1] == 16
    assert relative_error(go_on(mixer, roomy, x[3:])[0], exactly("causal-attention", x)[3:]) < 1e-5


def test_what_wraps_begins_as_what_is_inside():
    x, key = tokens(LONG), jax.random.key(0)
    inside = mttt.CausalLinearAttention(DIM, HEADS, key=key)
    layer = mttt.Convolved(DIM, HEADS, mixer=mttt.CausalLinearAttention, key=key)
    out, (slope, _) = one_pass(layer, x, np.ones(LONG, np.float32))
    assert relative_error(out, eqx.filter_jit(inside)(x).tokens) < 1e-6
    assert jnp.all(jnp.any(slope.taps != 0, axis=1)), "all taps learn"


@pytest.mark.parametrize("name", ["sliding-window", "causal-linear-attention", "causal-elu-linear-attention"])
def test_they_are_linear_in_the_number_of_tokens(name, cost):
    make = partial(CAUSAL[name].func, **({"window": 32} if name == "sliding-window" else {"chunk": 32}))
    (flops, memory), (double_flops, double_memory) = (cost(make, n) for n in (1024, 2048))
    assert double_flops / flops < 2.1
    assert double_memory / memory < 2.1
    assert memory < 4 * 1024**2, "not even one n × n array"


KEY = jax.random.key(0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: mttt.SlidingWindow(DIM, 2, window=1, key=KEY), "window=1: expected a whole number from 2"),
        (lambda: mttt.CausalLinearAttention(DIM, 2, chunk=0, key=KEY), "chunk=0: expected a whole number from 1"),
        (lambda: mttt.CausalLinearAttention(DIM, 2, divisor=0, key=KEY), "divisor=0: expected a finite number above 0"),
        (lambda: mttt.CausalHyena(DIM, 2, context=1, key=KEY), "context=1: expected a whole number from 2"),
        (
            lambda: mttt.Convolved(DIM, 2, mixer=mttt.CausalSelfAttention, width=1, key=KEY),
            "width=1: expected a whole number from 2",
        ),
        (
            lambda: mttt.Convolved(DIM, 2, mixer=mttt.SelfAttention, key=KEY),
            "the maker given as mixer made a SelfAttention; expected a CausalMixer",
        ),
        (
            lambda: mttt.Gated(DIM, 2, mixer=mttt.CausalSelfAttention(DIM, 2, key=KEY), key=KEY),
            "mixer is an instance of CausalSelfAttention; expected a class or a function",
        ),
        *((partial(make, DIM, HEADS, key=3), "key=3: expected a random key") for make in CAUSAL.values()),
    ],
)
@pytest.mark.usefixtures("as_users_run_it")
def test_what_cannot_be_meant_is_refused(make, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        make()
