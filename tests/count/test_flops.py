"""Loops count by their length, and what is computed again is told apart."""

import jax
import jax.numpy as jnp
import pytest

from mttt.count import Flops, flops, shapes_of

M = 16
PRODUCT = 2 * M**3  # of two M × M matrices
A, B, ROWS = jnp.ones((M, M)), jnp.ones((M, M)), jnp.ones((5, M, M))


def same(number):
    return Flops(number, number)


def multiply(x, a):
    return x @ a


def repeat(x, a, length, *, reverse=False):
    """x · a · a · …, and all the powers on the way."""
    return jax.lax.scan(lambda x, _: (x @ a, x), x, None, length=length, reverse=reverse)


def test_arguments_may_be_shapes():
    assert flops(multiply, *shapes_of((A, B))) == flops(multiply, A, B) == same(PRODUCT)


def test_a_loop_counts_by_its_length():
    assert flops(lambda x, a: repeat(x, a, 7)[0], A, B) == same(7 * PRODUCT)
    rows = lambda rows, a: jax.lax.scan(lambda _, x: (None, x @ a), None, rows)[1]  # noqa: E731
    assert flops(rows, ROWS, A) == same(5 * PRODUCT)


def test_loops_in_loops():
    def nested(x, a):
        return jax.lax.scan(lambda x, _: (repeat(x, a, 3)[0], None), x, None, length=4)[0]

    assert flops(nested, A, B) == same(12 * PRODUCT)
    assert flops(jax.vmap(nested, in_axes=(0, None)), ROWS, B) == same(5 * 12 * PRODUCT)


def test_all_pairs_of_two_loops_over_the_same_rows():
    def pairs(rows):
        return jax.lax.map(lambda a: jax.lax.map(lambda b: a @ b, rows), rows)

    assert flops(pairs, ROWS) == same(25 * PRODUCT)


def test_what_iterations_share_is_useful_once():
    def shared(x, a, b):
        return jax.lax.scan(lambda x, _: (x @ (a @ b), None), x, None, length=7)[0]

    assert flops(shared, A, A, B) == Flops(8 * PRODUCT, 14 * PRODUCT)


@pytest.mark.parametrize(
    ("other", "new"),
    [
        (lambda x, a: repeat(x, a, 6), 0),
        (lambda x, a: repeat(x, a, 6, reverse=True), 6),
        (lambda x, a: repeat(x, a, 5), 5),
        (lambda x, a: repeat(a, x, 6), 6),
        (lambda x, a: jax.lax.scan(lambda x, _: (a @ x, x), x, None, length=6), 6),
    ],
    ids=["the same", "reversed", "shorter", "from elsewhere", "another step"],
)
def test_only_the_same_loop_is_the_same(other, new):
    both = lambda x, a: (repeat(x, a, 6), other(x, a))  # noqa: E731
    assert flops(both, A, B).useful == (6 + new) * PRODUCT


def test_what_nobody_uses_is_not_counted():
    def wasteful(x, a):
        (x, _), _ = jax.lax.scan(lambda c, _: ((c[0] @ a, c[1] @ c[0]), c[1] @ a), (x, a), None, length=3)
        return x, (a @ a)[:0]

    assert flops(lambda x, a: wasteful(x, a)[0], A, B) == same(3 * PRODUCT)


def layer(a, x):
    return jnp.sin(jnp.sin(x @ a) @ a)


def gradient(function):
    return jax.grad(lambda a, x: jnp.sum(function(a, x)))


def value_and_gradient(function):
    return jax.value_and_grad(lambda a, x: jnp.sum(function(a, x)))


def test_recomputation_is_told_apart():
    plain, again = (flops(value_and_gradient(each), A, B) for each in (layer, jax.checkpoint(layer)))
    assert plain.useful == plain.executed == again.useful
    assert again.executed == plain.executed + 2 * PRODUCT


def steps(wrap, a, x):
    """Learning, as an inner loop does it: several steps, each a sum of gradients over blocks of rows."""

    def step(a, _):
        # Of `block + 1`, JAX finds that no step changes it: it takes it out, with a loop over blocks of its own.
        add = wrap(lambda total, block: total + gradient(layer)(a, block + 1))
        return a - jax.lax.scan(lambda total, block: (add(total, block), None), jnp.zeros_like(a), x)[0], None

    return jax.lax.scan(step, a, None, length=3)[0]


@pytest.mark.parametrize("around", [lambda f: f, jax.vmap], ids=["plain", "vmap"])
def test_recomputation_in_loops_is_told_apart(around):
    def outer(wrap):
        learn = around(lambda a, x: steps(wrap, a, x))
        return jax.value_and_grad(lambda a, x: jnp.sum(learn(a, x)))

    arguments = (jnp.ones((4, M, M)), jnp.ones((4, 5, M, M))) if around is jax.vmap else (A, ROWS)
    plain, again = (flops(outer(wrap), *arguments) for wrap in (lambda f: f, jax.checkpoint))
    assert again.useful == plain.useful == plain.executed
    assert again.executed > 1.15 * plain.executed


def test_recomputed_loops_are_told_apart():
    def powers(a, x):
        return repeat(x, jnp.sin(a), 6)[0]

    plain, again = (flops(value_and_gradient(each), A, B) for each in (powers, jax.checkpoint(powers)))
    assert again.useful == plain.useful == plain.executed
    assert again.executed >= plain.executed + 5 * PRODUCT


def test_a_function_with_its_own_derivative_costs_what_that_costs():
    @jax.custom_vjp
    def cube(x):
        return x @ x @ x

    cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (ct @ x,))
    assert flops(cube, A) == same(2 * PRODUCT)
    step = lambda x, ct: jax.vjp(cube, x)[1](ct)  # noqa: E731
    assert flops(step, A, B) == same(PRODUCT)
    assert flops(lambda x, ct: (cube(x), step(x, ct)), A, B).useful == 3 * PRODUCT
    assert flops(jax.nn.relu, A) == same(M * M)


def test_of_branches_the_longest_counts():
    def branch(which, x, a):
        return jax.lax.cond(which, lambda: x, lambda: repeat(x, a, 3)[0] @ x)

    assert flops(branch, jnp.array(True), A, B) == same(4 * PRODUCT + 1)  # and the branch is chosen


def test_a_loop_without_a_length_is_refused():
    endless = lambda x: jax.lax.while_loop(lambda x: x[0, 0] < 5, lambda x: x @ x, x)  # noqa: E731
    for function in (endless, jax.jit(endless), lambda x: jax.lax.map(endless, x[None])):
        with pytest.raises(ValueError, match="a while loop has no known number of iterations"):
            flops(function, A)
