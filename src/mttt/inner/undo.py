"""Undo instead of store: memory for one W, however many steps a sequence takes.

"JAX saves every intermediate W_t, taking O(TD) memory … in principle, only O(D) memory is needed" (Sun et al., 2023,
section 6). The gradient of one token by an affine map is an outer product. Its two vectors are kept, not the weights:
the backward pass walks from W_T to W₀ and adds each product again. Sums and differences of the same numbers differ by
rounding alone.
"""

from collections.abc import Callable
from typing import Any, TypeVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from mttt.inner.adjoint import Adjoint, Content, Recompute
from mttt.inner.batching import Phase, Rows

C = TypeVar("C")
R = TypeVar("R")


@final
class Undo(Adjoint):
    """Walk back through the steps of a sequence: O(D) + O(n·k) memory for D weights, for learners made of affine maps.

    The gradient of one token by an affine map is an outer product. Its two vectors are kept, not W: the backward pass
    adds each product again. It pays for chunks of fewer tokens than a head is wide. Steps that cannot be undone are
    done as `other` does them: those of other optimizers than gradient descent; W that decays, because what was
    forgotten is lost; losses that are no `eqx.Module`; and inner loops on all tokens at once, whose gradients are not
    smaller than W.

    Arguments:
    - other: the adjoint of what cannot be undone; `Recompute()` by default

    Example:

        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> how = {"chunks": mttt.Chunks(2), "adjoint": mttt.Undo()}
        >>> layer = mttt.CausalTTT(16, 2, learner=mttt.AffineLearner, **how, key=jax.random.key(0))
        >>> loss = lambda layer: jnp.sum(layer(jnp.ones((10, 16))).tokens ** 2)
        >>> eqx.filter_jit(eqx.filter_grad(loss))(layer).psi.weight.shape
        (2, 16, 8)
    """

    other: Adjoint = Recompute()

    def keeps_problem(self, tokens: int) -> bool:
        return self.other.keeps_problem(tokens)

    def sum(self, function: Callable[[Content], R], content: Content, learner: Any, *, tokens: int, alone: bool) -> R:
        return self.other.sum(function, content, learner, tokens=tokens, alone=alone)

    def map(self, function: Callable[[Content], Array], content: Content, learner: Any) -> Array:
        return self.other.map(function, content, learner)

    def repeat(self, step: Callable[[C, Rows], tuple[C, Any]], carry: C, phase: Phase) -> tuple[C, Any]:
        return self.other.repeat(step, carry, phase)

    def read(self, form: Any, carry: C, chunks: Any) -> tuple[C, Array]:
        if not getattr(form, "undoes", False) or chunks.log_decay is not None:
            return self.other.read(form, carry, chunks)
        # What the form computes with besides carry and chunk (norms, rates), as arrays to differentiate by.
        forms, static_form = eqx.partition(form, eqx.is_array)
        carries, static_carry = eqx.partition(carry, eqx.is_array)

        def advance(forms: Any, carries: Any, chunk: Any, kept: Any = None) -> tuple[Any, Any, Any]:
            form, carry = eqx.combine(forms, static_form), eqx.combine(carries, static_carry)
            new, answers, kept = form.advance(carry, chunk, kept)
            return eqx.filter(new, eqx.is_array), answers, kept

        def undo(forms: Any, carries: Any, chunk: Any, kept: Any) -> Any:
            old = eqx.combine(forms, static_form).undo(eqx.combine(carries, static_carry), chunk, kept)
            return eqx.filter(old, eqx.is_array)

        carries, answers = _undone(advance, undo, forms, carries, chunks)
        return eqx.combine(carries, static_carry), answers


def _undone(advance: Callable[..., Any], undo: Callable[..., Any], forms: Any, carries: Any, chunks: Any) -> Any:
    @jax.custom_vjp
    def run(forms: Any, carries: Any, chunks: Any) -> Any:
        return keep(forms, carries, chunks)[0]

    def keep(forms: Any, carries: Any, chunks: Any) -> Any:
        def body(carries: Any, chunk: Any) -> Any:
            carries, answers, kept = advance(forms, carries, chunk)
            return carries, (answers, kept)

        last, (answers, kept) = jax.lax.scan(body, carries, chunks)
        return (last, answers), (forms, last, chunks, kept)

    def back(residuals: Any, cotangents: Any) -> Any:
        forms, last, chunks, kept = residuals
        ct_last, ct_answers = cotangents
        whole = lambda tree: eqx.partition(tree, eqx.is_inexact_array)  # noqa: E731
        float_forms, other_forms = whole(forms)

        def body(state: Any, xs: Any) -> Any:
            carries, ct_carries, ct_forms = state
            chunk, kept, ct_answer = xs
            carries = undo(forms, carries, chunk, kept)
            (floats, others), (rows, marks) = whole(carries), whole(chunk)

            def step(float_forms: Any, floats: Any, rows: Any) -> Any:
                new, answers, _ = advance(
                    eqx.combine(float_forms, other_forms), eqx.combine(floats, others), eqx.combine(rows, marks), kept
                )
                return eqx.filter(new, eqx.is_inexact_array), answers

            _, pull = jax.vjp(step, float_forms, floats, rows)
            more, ct_carries, ct_rows = pull((ct_carries, ct_answer))
            return (carries, ct_carries, jax.tree.map(jnp.add, ct_forms, more)), ct_rows

        zeros = jax.tree.map(jnp.zeros_like, float_forms)
        # Integers have cotangents of a type of their own, which holds nothing.
        start = (last, eqx.filter(ct_last, eqx.is_inexact_array), zeros)
        (_, ct_carries, ct_forms), ct_chunks = jax.lax.scan(body, start, (chunks, kept, ct_answers), reverse=True)
        return ct_forms, ct_carries, ct_chunks

    run.defvjp(keep, back)
    return run(forms, carries, chunks)
