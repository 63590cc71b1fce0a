"""The inner loop: start × learner × task × optimizer × batching, and one driver for every product of them."""

from mttt.inner.adjoint import Adjoint as Adjoint, Keep as Keep, Recompute as Recompute
from mttt.inner.batching import Batching as Batching, FullBatch as FullBatch, MiniBatches as MiniBatches
from mttt.inner.carry import Carry as Carry, Start as Start
from mttt.inner.chunks import AnswerThenLearn as AnswerThenLearn, Chunking as Chunking, Chunks as Chunks
from mttt.inner.kernel import (
    ExponentialKernel as ExponentialKernel,
    GaussianKernel as GaussianKernel,
    Kernel as Kernel,
    NadarayaWatson as NadarayaWatson,
)
from mttt.inner.keyvalue import (
    DotLoss as DotLoss,
    KeyValue as KeyValue,
    RowLoss as RowLoss,
    SquaredLoss as SquaredLoss,
)
from mttt.inner.layered import LayeredLearner as LayeredLearner
from mttt.inner.learner import (
    Learner as Learner,
    NonParametric as NonParametric,
    TokenwiseLearner as TokenwiseLearner,
)
from mttt.inner.linear import AffineLearner as AffineLearner, LinearLearner as LinearLearner
from mttt.inner.loop import Learned as Learned, inner_loop as inner_loop
from mttt.inner.mlp import MLPLearner as MLPLearner
from mttt.inner.online import Read as Read, online_loop as online_loop
from mttt.inner.optimizer import (
    GradientDescent as GradientDescent,
    OptaxOptimizer as OptaxOptimizer,
    Optimizer as Optimizer,
)
from mttt.inner.random_direction import RandomDirection as RandomDirection
from mttt.inner.rates import (
    DecayingRates as DecayingRates,
    GatedRates as GatedRates,
    MeanRates as MeanRates,
    PlacedRates as PlacedRates,
    Rates as Rates,
    TokenRates as TokenRates,
)
from mttt.inner.reconstruction import Reconstruction as Reconstruction
from mttt.inner.start import Frozen as Frozen, Memory as Memory, Trained as Trained, Zeros as Zeros
from mttt.inner.swiglu import SwiGLULearner as SwiGLULearner
from mttt.inner.task import Compared as Compared, Problem as Problem, Task as Task, TokenwiseTask as TokenwiseTask
from mttt.inner.trajectory import Trajectory as Trajectory, trajectory as trajectory
from mttt.inner.undo import Undo as Undo
