"""Plain formulas, written as the paper writes them: slow, obvious, and differentiated by nesting."""

import equinox as eqx
import jax
import jax.numpy as jnp

import mttt


class PlainReconstruction(mttt.Task):
    """Eq. 1 with the d-wide reconstruction made: ½‖LN(g(z)) − x‖² / features."""

    inner: mttt.Reconstruction

    def __call__(self, tokens):
        task = self.inner

        def losses(answers, targets):
            output = answers @ task.g.weight + task.g.bias.value[None, :]
            if task.decoder_norm is not None:
                centred = output - jnp.mean(output, axis=1, keepdims=True)
                sigma = jnp.sqrt(jnp.mean(centred**2, axis=1, keepdims=True) + task.decoder_norm.eps)
                output = centred / sigma * task.decoder_norm.scale[None, :] + task.decoder_norm.shift[None, :]
            return 0.5 * jnp.sum((output - targets) ** 2, axis=1) / task.divisor

        inputs = tokens @ task.phi.weight + task.phi.bias[None, :]
        labels = (tokens - task.g.bias.value[None, :]) @ task.g.weight.T
        return mttt.Problem(inputs, tokens, losses, labels)

    def report(self, losses):
        return self.inner.report(losses)


def plain_steps(learner, task, tokens, steps, rate):
    """Eq. 2 in a Python loop: the learner's losses before each step and after the last, and the trained learner."""
    problem = task(tokens)

    def loss(learner):
        return jnp.mean(problem.losses(learner(problem.inputs), problem.targets))

    losses = [loss(learner)]
    for _ in range(steps):
        gradient = jax.grad(loss)(learner)
        learner = jax.tree.map(lambda w, g: w - rate * g, learner, gradient)
        losses.append(loss(learner))
    return learner, jnp.stack(losses)


def recurrence(learner, task, rates, optimizer, chunks, given, queries):
    """Eq. 2 token by token: every token has weights of its own, and the loop is differentiated as it stands."""
    problem, each, places = task(given), rates.of(given), rates.places(chunks.size)
    scaled = lambda scale, tree: jax.tree.map(lambda a: scale * a, tree)  # noqa: E731
    first, rest = eqx.partition(learner, eqx.is_inexact_array)

    def loss(weights, s):
        row = lambda a: a[s][None]  # noqa: E731
        answer = eqx.combine(weights, rest)(row(problem.inputs))
        return problem.losses(answer, jax.tree.map(row, problem.targets))[0]

    def token(carry, s):
        """Carried: W and the optimizer's state before the chunk, the chunk's gradients, what is left of W."""
        weights, state, total, left = carry
        alpha = 1.0 if each.log_decay is None else jnp.exp(each.log_decay[s])
        left, place = left * alpha, s % chunks.size
        gradient = jax.grad(loss)(scaled(left, weights), s)
        total = jax.tree.map(lambda a, g: alpha * a + each.eta[s] * g, total, gradient)
        now, next_state = optimizer.step(scaled(places[place], total), state, scaled(left, weights), s // chunks.size)
        answer = eqx.combine(now if chunks.learns_first else weights, rest)(queries[s][None])[0]
        new_chunk = (now, next_state, scaled(0.0, total), jnp.ones_like(left))
        last = place == chunks.size - 1
        carry = jax.tree.map(lambda a, b: jnp.where(last, a, b), new_chunk, (weights, state, total, left))
        return carry, answer

    begin = (first, optimizer.init(first), scaled(0.0, first), jnp.ones((), given.dtype))
    (weights, *_), answers = jax.lax.scan(token, begin, jnp.arange(len(given)))
    return answers, eqx.combine(weights, rest)
