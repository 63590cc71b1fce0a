"""Test-time-training layers in JAX: drop-in replacements for attention that learn on every input.

The inner loop is learner × task × optimizer × batching (`mttt.inner`); a `TTT` layer is an inner loop in the place of
attention (`mttt.mixers`); `ViT` is a model around any mixer (`mttt.models`).
"""

from mttt.data import Padded as Padded, bucket as bucket, pad_to_bucket as pad_to_bucket
from mttt.inner import (
    Adjoint as Adjoint,
    Batching as Batching,
    Carry as Carry,
    ExponentialKernel as ExponentialKernel,
    Frozen as Frozen,
    FullBatch as FullBatch,
    GaussianKernel as GaussianKernel,
    GradientDescent as GradientDescent,
    Keep as Keep,
    Kernel as Kernel,
    Learned as Learned,
    Learner as Learner,
    LinearLearner as LinearLearner,
    Memory as Memory,
    MiniBatches as MiniBatches,
    MLPLearner as MLPLearner,
    NadarayaWatson as NadarayaWatson,
    NonParametric as NonParametric,
    OptaxOptimizer as OptaxOptimizer,
    Optimizer as Optimizer,
    Problem as Problem,
    Recompute as Recompute,
    Reconstruction as Reconstruction,
    Start as Start,
    Task as Task,
    TokenwiseLearner as TokenwiseLearner,
    TokenwiseTask as TokenwiseTask,
    Trained as Trained,
    Zeros as Zeros,
    inner_loop as inner_loop,
)
from mttt.mixers import (
    SOFT as SOFT,
    TTT as TTT,
    EluLinearAttention as EluLinearAttention,
    Hyena as Hyena,
    LinearAttention as LinearAttention,
    Linformer as Linformer,
    Longformer as Longformer,
    Mixed as Mixed,
    Mixer as Mixer,
    SelfAttention as SelfAttention,
    with_inner_loop as with_inner_loop,
)
from mttt.models import (
    MICRO_L as MICRO_L,
    MICRO_M as MICRO_M,
    MICRO_S as MICRO_S,
    SMALL as SMALL,
    TINY as TINY,
    Block as Block,
    LearnedPositions as LearnedPositions,
    LinearHead as LinearHead,
    SinCosPositions as SinCosPositions,
    Size as Size,
    Stack as Stack,
    Stacked as Stacked,
    TanhHead as TanhHead,
    Traced as Traced,
    ViT as ViT,
    mean_of_real as mean_of_real,
)
from mttt.nn import Fixed as Fixed, Shared as Shared, kernels as kernels, trainable as trainable
from mttt.version import __version__ as __version__
