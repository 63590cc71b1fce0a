"""Figure 1, and its like for all layers: more steps in the inner loop, and what its loss does.

    mttt study figure1-left      accuracy against T, full batch and SGD, from patches
    mttt study figure1-right     inner losses over the training, full batch from patches and SGD from pixels

The paper draws its accuracies and prints one of them, that of T = 1.
"""

from mttt.recipes.inner import FullBatchRecipe, MiniBatchesRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.studies.paper import accuracies
from mttt.studies.row import Row, Study
from mttt.studies.table1 import MTTT_MLP
from mttt.studies.table3 import SGD as PIXELS_SGD

FULL = {t: TTTRecipe(batching=FullBatchRecipe(t)) for t in (2, 3, 4, 6)}
SGD = {t: TTTRecipe(batching=MiniBatchesRecipe(t)) for t in (2, 4)}

FULL2, FULL3, FULL6 = (Row(f"mttt-mlp-t{t}", f"MTTT-MLP T={t}", FULL[t]) for t in (2, 3, 6))
FULL4 = Row("mttt-mlp-t4", "MTTT-MLP T=4", FULL[4], curves=True, probe=(0, 1, 2, 4, 8))
SGD2, SGD4 = (Row(f"mttt-mlp-sgd{t}", f"MTTT-MLP SGD T={t}", SGD[t]) for t in (2, 4))

LEFT = Study(
    "figure1-left",
    "Figure 1, left: accuracy against the number of inner steps",
    "Accuracy of MTTT-MLP against T, full batch and SGD, from patches.",
    (MTTT_MLP, FULL2, FULL3, FULL4, FULL6, SGD2, SGD4),
    accuracies([MTTT_MLP]),
    base="mttt-mlp",
)
RIGHT = Study(
    "figure1-right",
    "Figure 1, right, and all layers: the inner loss over the training",
    "Inner losses at t = 0 … T in every layer over the training, T = 4.",
    (FULL4, PIXELS_SGD),
    accuracies([PIXELS_SGD]),
    base="mttt-mlp-t4",
)
