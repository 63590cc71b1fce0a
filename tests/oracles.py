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
    """Eq. 2 token by token, in a Python loop, differentiated by nesting."""
    problem, each, places = task(given), rates.of(given), rates.places(chunks.size)
    scaled = lambda scale, tree: jax.tree.map(lambda a: scale * a, tree)  # noqa: E731
    weights, rest = eqx.partition(learner, eqx.is_inexact_array)
    state, answers = optimizer.init(weights), []

    def loss(weights, s):
        targets = jax.tree.map(lambda a: a[s : s + 1], problem.targets)
        return problem.losses(eqx.combine(weights, rest)(problem.inputs[s : s + 1]), targets)[0]

    for begin in range(0, len(given), chunks.size):
        total, left = scaled(0.0, weights), 1.0
        for place, s in enumerate(range(begin, min(begin + chunks.size, len(given)))):
            alpha = 1.0 if each.log_decay is None else jnp.exp(each.log_decay[s])
            left = left * alpha
            gradient = jax.grad(loss)(scaled(left, weights), s)
            total = jax.tree.map(lambda a, g: alpha * a + each.eta[s] * g, total, gradient)  # noqa: B023
            now, next_state = optimizer.step(
                scaled(places[place], total), state, scaled(left, weights), begin // chunks.size
            )
            answer = eqx.combine(now if chunks.learns_first else weights, rest)
            answers.append(answer(queries[s : s + 1])[0])
            if place == chunks.size - 1:
                weights, state = now, next_state
    return jnp.stack(answers), eqx.combine(weights, rest)
