"""The dual form: a chunk is answered and learned by a few products, without the weights of any token inside it."""

from typing import Any, final

import equinox as eqx
from jaxtyping import Array, Float

from mttt.inner.adjoint import Adjoint
from mttt.inner.carry import Carry
from mttt.inner.chunks import Chunk, Portions, shares_of
from mttt.inner.forms import Course, Form, counted, slopes_of
from mttt.inner.layered import Steps, answers_after, step_back, step_by, steps_of
from mttt.inner.optimizer import GradientDescent


@final
class Dual(Form):
    """For learners made of affine maps, and gradient descent (see `layered.py`)."""

    course: Course
    size: int = eqx.field(static=True)
    undoes: bool = eqx.field(default=True, static=True)
    """whether `undo` gives the carry before a chunk, given the one after it"""

    def _shares(self, carry: Carry, chunk: Chunk) -> Portions:
        optimizer = self.course.optimizer
        assert isinstance(optimizer, GradientDescent) and carry.t is not None
        return shares_of(chunk, self.course.places, optimizer.rate_at(carry.t))

    def advance(self, carry: Carry, chunk: Chunk, kept: Any = None) -> tuple[Carry, Float[Array, "b k"], Steps]:
        course, learner, shares = self.course, carry.learner, self._shares(carry, chunk)
        slopes = lambda answers: slopes_of(course.losses, answers, chunk.targets)  # noqa: E731
        steps = steps_of(learner, chunk.inputs, slopes, shares.scale)
        new = step_by(learner, steps, shares.after, shares.scale_after)
        if not course.chunking.learns_first:
            answers = learner(chunk.queries)
        elif self.size == 1:  # the token's weights are those after the chunk, and the ones before can be overwritten
            answers = new(chunk.queries)
        else:
            answers = answers_after(learner, chunk.queries, steps, shares.of, shares.scale)
        # The inputs of the first map are the chunk's own: they need not be kept.
        return Carry(new, carry.state, counted(carry, chunk)), answers, Steps(steps.inputs[1:], steps.cotangents)

    def read(self, adjoint: Adjoint, carry: Carry, chunks: Chunk) -> tuple[Carry, Float[Array, "chunks b k"]]:
        return adjoint.read(self, carry, chunks)

    def undo(self, carry: Carry, chunk: Chunk, kept: Steps) -> Carry:
        assert carry.t is not None
        before = Carry(carry.learner, carry.state, carry.t + carry.t - counted(carry, chunk))
        shares = self._shares(before, chunk)
        steps = Steps((chunk.inputs, *kept.inputs), kept.cotangents)
        return Carry(step_back(carry.learner, steps, shares.after, shares.scale_after), carry.state, before.t)
