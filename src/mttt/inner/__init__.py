"""The inner loop: learner × task × optimizer × batching, and one driver for every product of them."""

from mttt.inner.batching import Batching as Batching, FullBatch as FullBatch, MiniBatches as MiniBatches
from mttt.inner.blocks import block_size as block_size, map_blocks as map_blocks
from mttt.inner.kernel import (
    ExponentialKernel as ExponentialKernel,
    GaussianKernel as GaussianKernel,
    Kernel as Kernel,
    NadarayaWatson as NadarayaWatson,
)
from mttt.inner.learner import (
    Blockwise as Blockwise,
    Learner as Learner,
    NonParametric as NonParametric,
    Zeros as Zeros,
)
from mttt.inner.linear import LinearLearner as LinearLearner, zero_linear as zero_linear
from mttt.inner.loop import Trained as Trained, inner_loop as inner_loop
from mttt.inner.mlp import MLPLearner as MLPLearner
from mttt.inner.optimizer import (
    GradientDescent as GradientDescent,
    OptaxOptimizer as OptaxOptimizer,
    Optimizer as Optimizer,
)
from mttt.inner.reconstruction import Reconstruction as Reconstruction
from mttt.inner.task import Problem as Problem, Task as Task
