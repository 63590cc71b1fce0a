"""The ways in which learning can start."""

from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from mttt.inner.carry import Begun, Carry, Lesson, Start
from mttt.inner.learner import NonParametric, answers_of
from mttt.inner.optimizer import Optimizer
from mttt.nn.axis import count_of_all, total
from mttt.nn.dense import at_least_float32
from mttt.nn.roles import Fixed


def _a_learner(learner: Any) -> Any:
    if isinstance(learner, Start | type):
        came = f"the class {learner.__name__}" if isinstance(learner, type) else f"the start {type(learner).__name__}"
        raise TypeError(
            f"a start is made of a learner, and {came} came; expected one such as MLPLearner(width, key=key)"
        )
    return learner


def _with_weights(learner: Any) -> Any:
    name = type(_a_learner(learner)).__name__
    if isinstance(learner, NonParametric):
        raise ValueError(f"{name} has no weights to descend on, it keeps its data; use start=Memory with it")
    if not any(map(eqx.is_inexact_array, leaves := jax.tree.leaves(learner))):
        whole = next((leaf.dtype for leaf in leaves if eqx.is_array(leaf)), None)
        reason = (
            f"its arrays are of dtype {whole}, and only floats can be learned"
            if whole is not None
            else "it has no arrays"
            if isinstance(learner, eqx.Module)
            else "only the arrays of an eqx.Module are found: derive it from that"
        )
        raise ValueError(f"the learner {name} would learn nothing: {reason}")
    return learner


@final
class Trained(Start):
    """W₀ is learned by the outer loop: the learner's arrays are parameters of the model.

    Arguments:
    - learner: a learner with weights

    Example:

        >>> import jax, mttt
        >>> start = mttt.Trained(mttt.LinearLearner(8, key=jax.random.key(0)))
        >>> jax.tree.leaves(mttt.trainable(start))
        [True]
    """

    learner: Any

    def __init__(self, learner: Any):
        self.learner = _with_weights(learner)

    def first(self, optimizer: Optimizer, dtype: Any) -> Carry:
        return Carry.before(self.learner, optimizer)

    def begin(self, lesson: Lesson) -> Begun:
        return Begun(Carry.at_start(self.learner, lesson), lesson.phases, [])


@final
class Frozen(Start):
    """W₀ stays as it was drawn: the outer loop does not train it.

    No gradient flows into it, and `trainable` and so weight decay leave it out.

    Arguments:
    - learner: a learner with weights

    Example:

        >>> import jax, mttt
        >>> start = mttt.Frozen(mttt.LinearLearner(8, key=jax.random.key(0)))
        >>> jax.tree.leaves(mttt.trainable(start))
        [False]
    """

    learner: Fixed

    def __init__(self, learner: Any):
        self.learner = Fixed(_with_weights(learner))

    def first(self, optimizer: Optimizer, dtype: Any) -> Carry:
        return Carry.before(self.learner.constant(), optimizer)

    def begin(self, lesson: Lesson) -> Begun:
        return Begun(Carry.at_start(self.learner.constant(), lesson), lesson.phases, [])


class AllZero(eqx.Module):
    """An array of zeros, of which only the shape has to be kept."""

    shape: tuple[int, ...] = eqx.field(static=True)


def _is_zero(node: Any) -> bool:
    return isinstance(node, AllZero)


@final
class Zeros(Start):
    """W₀ = 0, which is known when the program is built, for a learner that answers 0 there.

    The first step then needs no forward pass, only the gradient of W for a given cotangent of the answers. That is why
    MTTT-Linear costs what linear attention costs. No array of zeros is kept in the model. `MLPLearner` and
    `SwiGLULearner` have gradients of 0 there, but for a bias: take another start for them.

    Arguments:
    - learner: a learner with weights; what was drawn for them is not used

    Example:

        >>> from functools import partial
        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> task = partial(mttt.Reconstruction, decoder_norm=False)
        >>> layer = mttt.TTT(16, 2, learner=mttt.LinearLearner, start=mttt.Zeros, task=task, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape  # MTTT-Linear
        (10, 16)
    """

    structure: Any  # the learner with an `AllZero` in the place of each array of W

    def __init__(self, learner: Any):
        shape = lambda leaf: AllZero(leaf.shape) if eqx.is_inexact_array(leaf) else leaf  # noqa: E731
        self.structure = jax.tree.map(shape, _with_weights(learner))

    def written_out(self, dtype: jnp.dtype) -> Any:
        """The learner with its zeros."""
        zeros = lambda node: jnp.zeros(node.shape, dtype) if _is_zero(node) else node  # noqa: E731
        return jax.tree.map(zeros, self.structure, is_leaf=_is_zero)

    def first(self, optimizer: Optimizer, dtype: Any) -> Carry:
        return Carry.before(self.written_out(dtype), optimizer)

    def begin(self, lesson: Lesson) -> Begun:
        dtype = at_least_float32(lesson.tokens).dtype
        carry = Carry.at_start(self.written_out(dtype), lesson)
        if not lesson.phases:
            return Begun(carry, [], [])
        first, *others = lesson.phases
        content, mask, real = first.first()
        posed = lesson.pose(content.posed)
        slope = posed.slope_at_zero()
        slope = slope if content.eta is None else content.eta.astype(slope.dtype)[:, None] * slope
        slope = slope if mask is None else jnp.where(mask[:, None], slope, 0)
        gradient = self._pull_back(posed.inputs, slope, lesson.step_key(carry))
        losses = [lesson.loss(carry.learner)[None]] if lesson.traced else []
        count = count_of_all(real, lesson.axis)
        gradient = total(jax.tree.map(lambda g: lesson.share(g, count), gradient), lesson.axis)
        carry = carry.update(lesson.optimizer, gradient)
        return Begun(carry, [*first.rest(), *others], losses)

    def _pull_back(
        self, inputs: Float[Array, "n k"], cotangent: Float[Array, "n k"], key: PRNGKeyArray | None
    ) -> PyTree[Array]:
        """The gradient of W at W = 0, given the cotangent of the answers. The answers themselves are never used."""
        nowhere = jax.sharding.AbstractMesh((), ())  # under `jax.shard_map`, no number could be computed
        with jax.sharding.use_abstract_mesh(nowhere), jax.ensure_compile_time_eval():
            answers = answers_of(self.written_out(inputs.dtype), jnp.ones((2, inputs.shape[1]), inputs.dtype))
        if not isinstance(answers, Tracer) and np.any(np.asarray(answers)):
            raise ValueError(
                f"start=Zeros needs a learner that answers 0 when W is 0; {type(self.structure).__name__} does not. "
                "Use Trained, or Frozen for a W₀ that stays as it was drawn."
            )
        weights, rest = eqx.partition(self.written_out(inputs.dtype), eqx.is_inexact_array)
        _, pull = jax.vjp(lambda weights: answers_of(eqx.combine(weights, rest), inputs, key=key), weights)
        return pull(cotangent)[0]


@final
class Memory(Start):
    """For learners without weights: to learn is to keep the data. No steps are taken, and there are no losses.

    The task's problem has to have labels. The optimizer and the batching of a layer are not used then. For sequences,
    take `CausalSelfAttention`: what is kept would grow.

    Arguments:
    - learner: a `NonParametric` learner, such as `NadarayaWatson`

    Example:

        >>> from functools import partial
        >>> import equinox as eqx, jax, jax.numpy as jnp, mttt
        >>> task = partial(mttt.Reconstruction, decoder_norm=False)
        >>> layer = mttt.TTT(16, 2, learner=mttt.NadarayaWatson, start=mttt.Memory, task=task, key=jax.random.key(0))
        >>> eqx.filter_jit(layer)(jnp.ones((10, 16))).tokens.shape  # self-attention
        (10, 16)
    """

    learner: NonParametric

    def __init__(self, learner: Any):
        if not isinstance(_a_learner(learner), NonParametric):
            name = type(learner).__name__
            raise ValueError(
                f"start=Memory is for learners without weights; {name} has some: use Trained, Frozen or Zeros"
            )
        self.learner = learner

    def first(self, optimizer: Optimizer, dtype: Any) -> Carry:
        name = type(self.learner).__name__
        raise ValueError(
            f"{name} keeps all tokens that it has seen, so it takes no steps while it reads; use CausalSelfAttention, "
            "or a learner with weights"
        )

    def begin(self, lesson: Lesson) -> Begun:
        problem = lesson.task.problem(lesson.tokens)
        if problem.labels is None:
            names = type(self.learner).__name__, type(lesson.task).__name__
            raise ValueError(f"{names[0]} has to remember labels, and {names[1]} has none")
        fitted = self.learner.fit(problem.inputs, problem.labels, lesson.mask)
        return Begun(Carry(fitted, None, None), [], None)
