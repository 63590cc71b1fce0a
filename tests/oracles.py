"""Plain formulas, written as the paper writes them: slow, obvious, and differentiated by nesting."""

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
