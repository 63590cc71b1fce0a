"""Table 3: from raw pixels, in two sizes.

    mttt study table3

Self-attention does not fit at the paper's n = 50,176, so the paper has no accuracy for it; at the small scale it does.
"""

from mttt.recipes import ttt
from mttt.recipes.mixers import EluLinearAttentionRecipe, LinearAttentionRecipe, SelfAttentionRecipe
from mttt.studies.paper import accuracies
from mttt.studies.row import Row, Study

ATTENTION = Row("pixels-self-attention", "Self-attention", SelfAttentionRecipe(), "pixels", "tiny")
ELU = Row(
    "pixels-elu-linear-attention",
    "Linear attention (Katharopoulos et al.)",
    EluLinearAttentionRecipe(),
    "pixels",
    "tiny",
)
LINEAR_ATTENTION = Row(
    "pixels-linear-attention", "Linear attention, identity map", LinearAttentionRecipe(), "pixels", "tiny"
)
MTTT_LINEAR = Row("pixels-mttt-linear", "MTTT-Linear", ttt.MTTT_LINEAR, "pixels", "tiny")
MTTT_MLP = Row("pixels-mttt-mlp", "MTTT-MLP", ttt.MTTT_MLP, "pixels", "tiny")
SGD = Row("pixels-mttt-mlp-sgd4", "MTTT-MLP SGD T=4", ttt.MTTT_MLP_SGD4, "pixels", "tiny", curves=True)
SMALL_ELU = Row(
    "pixels-small-elu-linear-attention",
    "Linear attention (Katharopoulos et al.)",
    EluLinearAttentionRecipe(),
    "pixels",
    "small",
)
SMALL_LINEAR_ATTENTION = Row(
    "pixels-small-linear-attention", "Linear attention, identity map", LinearAttentionRecipe(), "pixels", "small"
)

# The same pictures in few tokens: is the gain of MTTT-MLP over MTTT-Linear larger from pixels?
COARSE_LINEAR = Row("coarse-mttt-linear", "MTTT-Linear, from patches", ttt.MTTT_LINEAR, "coarse", "tiny")
COARSE_MLP = Row("coarse-mttt-mlp", "MTTT-MLP, from patches", ttt.MTTT_MLP, "coarse", "tiny")

ROWS = (
    ATTENTION,
    ELU,
    LINEAR_ATTENTION,
    MTTT_LINEAR,
    MTTT_MLP,
    SGD,
    SMALL_ELU,
    SMALL_LINEAR_ATTENTION,
    COARSE_LINEAR,
    COARSE_MLP,
)
TABLE3 = Study(
    "table3",
    "Table 3: from raw pixels",
    "Layers of the paper's table 3 from raw pixels, Tiny and Small.",
    ROWS,
    accuracies(ROWS),
    base="pixels-linear-attention",
    notes="Parameters include the learned positions (n × d of them), which the paper's leave out. Self-attention does "
    "not fit at the paper's n = 50,176: it has no accuracy there, and its 200× is the paper's estimate.",
)
