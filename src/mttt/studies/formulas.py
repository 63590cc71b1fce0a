"""FLOPs of a forward pass from formulas: what one image more in a batch costs.

XLA's rules, so that the two counts can be compared: a matmul of n × i by i × o is 2·n·i·o, an operation on m numbers is
m, a Fourier transform of N numbers is 8·N·⌊log₂ N⌋, and exp, tanh, sine and square root are not counted. What depends
on parameters alone (Hyena's filters, the small matrices of the inner loss) is made once for a batch, and not counted.

Matmuls are exact. Numbers of operations on each score, feature or hidden unit were read off the program of the layer.
"""

from functools import singledispatch
from math import floor, log2

from mttt.models import Size
from mttt.recipes.inner import (
    FullBatchRecipe,
    KeyValueRecipe,
    LearnerRecipe,
    LinearLearnerRecipe,
    MLPLearnerRecipe,
    NadarayaWatsonRecipe,
)
from mttt.recipes.mixers import (
    EluLinearAttentionRecipe,
    HyenaRecipe,
    LinearAttentionRecipe,
    LinformerRecipe,
    LongformerRecipe,
    MixerRecipe,
    SelfAttentionRecipe,
    SOFTRecipe,
)
from mttt.recipes.ttt import TTTRecipe

SOFTMAX = 6  # operations on a score: scale, maximum, difference, sum, quotient, and the guard of the maximum
GELU = 8  # on a hidden unit
GELU_SLOPE = 18  # its derivative, times what comes back
NORM_SLOPE = 16  # on a feature: layer norm, and its derivative, times what comes back
UNIT = 4  # on a feature of a row that is brought to norm 1


def matmul(n: int, inputs: int, outputs: int) -> int:
    """n rows through a matrix."""
    return 2 * n * inputs * outputs


def dense(n: int, inputs: int, outputs: int) -> int:
    """n rows through an affine map."""
    return matmul(n, inputs, outputs) + n * outputs


def norm(n: int, dim: int) -> int:
    """Layer norm: mean, difference, square, mean, quotient, scale, shift."""
    return 7 * n * dim


def block(mixer: MixerRecipe, n: int, dim: int, heads: int) -> int:
    """A transformer block: two norms, two residuals, the mixer, the MLP."""
    mlp = dense(n, dim, 4 * dim) + GELU * n * 4 * dim + dense(n, 4 * dim, dim)
    return 2 * norm(n, dim) + 2 * n * dim + mlp + mixer_flops(mixer, n, dim, heads)


def vit(mixer: MixerRecipe, size: Size, n: int, patch_values: int, classes: int) -> int:
    """A ViT: embedding and positions, blocks, norm and mean, pre-logits, head."""
    dim, depth, heads = size
    ends = dense(n, patch_values, dim) + n * dim + norm(n, dim) + n * dim + dense(1, dim, dim) + dense(1, dim, classes)
    return ends + depth * block(mixer, n, dim, heads)


def softmax_attention(n: int, keys: int, dim: int, heads: int) -> int:
    """Scores of n queries with as many keys, and the weighted values; all heads."""
    return 2 * matmul(n, dim, keys) + SOFTMAX * heads * n * keys


@singledispatch
def mixer_flops(mixer: MixerRecipe, n: int, dim: int, heads: int) -> int:
    """All heads of a mixer, from tokens to tokens."""
    raise NotImplementedError(f"no formula for {type(mixer).__name__}")


@mixer_flops.register
def _(mixer: SelfAttentionRecipe, n: int, dim: int, heads: int) -> int:
    return 4 * dense(n, dim, dim) + softmax_attention(n, n, dim, heads)


@mixer_flops.register
def _(mixer: LinearAttentionRecipe, n: int, dim: int, heads: int) -> int:
    return 4 * dense(n, dim, dim) + 2 * matmul(n, dim, dim // heads)


@mixer_flops.register
def _(mixer: EluLinearAttentionRecipe, n: int, dim: int, heads: int) -> int:
    features = 2 * 4 * n * dim  # elu + 1 of queries and keys
    normaliser = n * dim + matmul(n, dim, 1) + n * dim
    return 4 * dense(n, dim, dim) + features + 2 * matmul(n, dim, dim // heads) + normaliser


@mixer_flops.register
def _(mixer: LinformerRecipe, n: int, dim: int, heads: int) -> int:
    rank = min(mixer.rank, n)
    mixtures = 2 * matmul(rank, n, dim)
    return 2 * dense(n, dim, dim) + mixtures + 2 * dense(rank, dim, dim) + softmax_attention(n, rank, dim, heads)


@mixer_flops.register
def _(mixer: LongformerRecipe, n: int, dim: int, heads: int) -> int:
    half, few = mixer.window // 2, mixer.global_tokens
    if n <= 3 * half:
        local, masked = softmax_attention(n, n, dim, heads), n * n if n > half + 1 else 0
    else:
        rows, keys = -(-n // half) * half, 3 * half + few
        local, masked = softmax_attention(rows, keys, dim, heads), rows * keys
    to_all = dense(few, dim, dim) + 2 * dense(n, dim, dim) + softmax_attention(few, n, dim, heads) if few else 0
    return 4 * dense(n, dim, dim) + local + heads * masked + to_all


@mixer_flops.register
def _(mixer: SOFTRecipe, n: int, dim: int, heads: int) -> int:
    m = min(mixer.landmarks, n)
    views = 3 * dense(n, dim, dim) + n * dim  # scaled
    landmarks = n * dim
    kernels = matmul(n + m, dim, m) + 2 * (n + m) * dim + 4 * heads * (n + m) * m
    inverse = heads * mixer.iterations * (2 * matmul(m, m, m) + 2 * m * m)
    return views + landmarks + kernels + inverse + 2 * matmul(n, dim, m) + matmul(m, m, dim)


@mixer_flops.register
def _(mixer: HyenaRecipe, n: int, dim: int, heads: int) -> int:
    inside = (mixer.order + 1) * dim
    short = 6 * n * inside
    # To 2n frequencies and back, where only n + 1 are kept; a product of complex numbers is 6; skip and gate are 3.
    convolution = 8 * floor(log2(2 * n)) * (2 * n + n + 1) * dim + 6 * (n + 1) * dim + 3 * n * dim
    return dense(n, dim, inside) + short + mixer.order * convolution + dense(n, dim, dim)


@mixer_flops.register
def _(mixer: TTTRecipe, n: int, dim: int, heads: int) -> int:
    if isinstance(mixer.learner, NadarayaWatsonRecipe):
        gaussian = heads * n * n + 2 * n * dim if mixer.learner.kernel == "gaussian" else 0
        return 4 * dense(n, dim, dim) + softmax_attention(n, n, dim, heads) + gaussian
    forward, backward = learner_flops(mixer.learner, n, dim, heads)
    full = isinstance(mixer.batching, FullBatchRecipe)
    seen = mixer.batching.steps if full else min(mixer.batching.steps, 1)
    if isinstance(mixer.task, KeyValueRecipe):
        return key_value_flops(mixer.task, seen, forward, backward, n, dim, heads, gated=mixer.rates.kind == "gated")
    # Norms of the tokens, and two numbers a token and head (without Decoder LN, one).
    forms = 2 if mixer.task.decoder_norm else 1
    numbers = 2 * n * dim + forms * heads * matmul(n, dim, 1)
    pose = 2 * dense(n, dim, dim) + numbers if seen else 0
    loss = forms * (matmul(n, dim, dim // heads) + 6 * n * dim) + 6 * n * dim
    if mixer.start == "zeros" and seen:  # the first step needs no forward
        steps = backward + (seen - 1) * (forward + loss + backward) + n * dim
        pose -= numbers if seen == 1 else 0  # the slope at 0 asks for none of them
    else:
        steps = seen * (forward + loss + backward)
    return pose + steps + 2 * dense(n, dim, dim) + forward


def key_value_flops(
    task: KeyValueRecipe, steps: int, forward: int, backward: int, n: int, dim: int, heads: int, *, gated: bool
) -> int:
    """Views of keys and values, steps on the loss of the answers, and the answers to the queries."""
    features = n * dim
    views = 2 * dense(n, dim, dim) + (task.residual + UNIT * task.unit) * features
    gates = (dense(n, dim, heads) + features) if gated else 0
    loss = (2 + NORM_SLOPE * task.norm) * features
    answers = forward + (7 * task.norm + 7 * task.output_norm + task.residual + UNIT * task.unit) * features
    return (views + gates if steps else 0) + steps * (forward + loss + backward) + 2 * dense(n, dim, dim) + answers


@singledispatch
def learner_flops(learner: LearnerRecipe, n: int, dim: int, heads: int) -> tuple[int, int]:
    """A learner's forward and backward, of n tokens and all heads."""
    raise NotImplementedError(f"no formula for {type(learner).__name__}")


@learner_flops.register
def _(learner: LinearLearnerRecipe, n: int, dim: int, heads: int) -> tuple[int, int]:
    forward = matmul(n, dim, dim // heads)
    return forward, forward


@learner_flops.register
def _(learner: MLPLearnerRecipe, n: int, dim: int, heads: int) -> tuple[int, int]:
    width = dim // heads
    hidden = learner.factor * width
    layer = heads * matmul(n, width, hidden)
    units = heads * n * hidden
    forward = 2 * layer + (1 + GELU) * units + n * dim
    backward = 3 * layer + (1 + GELU_SLOPE) * units + n * dim  # both weights, and once through the second
    return forward, backward
