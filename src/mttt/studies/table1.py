"""Table 1: every drop-in layer, from patches.

    mttt study table1

The paper's accuracies are those of ViT-Small on ImageNet after 90 epochs.
"""

from mttt.recipes import ttt
from mttt.recipes.mixers import (
    EluLinearAttentionRecipe,
    HyenaRecipe,
    LinearAttentionRecipe,
    LinformerRecipe,
    LongformerRecipe,
    SelfAttentionRecipe,
    SOFTRecipe,
)
from mttt.studies.paper import accuracies
from mttt.studies.row import Row, Study

LINFORMER = Row("linformer", "Linformer", LinformerRecipe(rank=16))
LONGFORMER = Row("longformer", "Longformer", LongformerRecipe())
SOFT = Row("soft", "SOFT", SOFTRecipe())
HYENA = Row("hyena", "Hyena", HyenaRecipe())
ATTENTION = Row("self-attention", "Self-attention", SelfAttentionRecipe())
ELU = Row("elu-linear-attention", "Linear attention (Katharopoulos et al.)", EluLinearAttentionRecipe())
LINEAR_ATTENTION = Row("linear-attention", "Linear attention, identity map", LinearAttentionRecipe())
MTTT_LINEAR = Row("mttt-linear", "MTTT-Linear", ttt.MTTT_LINEAR)
MTTT_MLP = Row("mttt-mlp", "MTTT-MLP", ttt.MTTT_MLP, probe=(0, 1, 2, 4, 8))

ROWS = (LINFORMER, LONGFORMER, SOFT, HYENA, ATTENTION, ELU, LINEAR_ATTENTION, MTTT_LINEAR, MTTT_MLP)
TABLE1 = Study(
    "table1",
    "Table 1: drop-in layers, from patches",
    "Every drop-in layer of the paper's table 1, from patches.",
    ROWS,
    accuracies(ROWS),
    base="linear-attention",
    notes="Longformer's window of 512 is wider than these inputs, at all scales: it is self-attention. SOFT has 49 "
    "landmarks, or n if that is less: at the small scale that is every token, and costs more than attention does. "
    "Hyena's filters are a larger part of a small model.",
)
