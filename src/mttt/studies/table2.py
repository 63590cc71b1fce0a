"""Table 2: MTTT-MLP with and without Decoder LN and trained W₀, from patches.

mttt study table2
"""

from mttt.recipes.inner import ReconstructionRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.studies.paper import accuracies
from mttt.studies.row import Row, Study
from mttt.studies.table1 import MTTT_MLP

PLAIN = ReconstructionRecipe(decoder_norm=False)

NEITHER = Row("no-norm-fixed-w0", "neither", TTTRecipe(task=PLAIN, start="frozen"))
TRAINED = Row("no-norm", "trained W₀ alone", TTTRecipe(task=PLAIN))
NORM = Row("fixed-w0", "Decoder LN alone", TTTRecipe(start="frozen"))
BOTH = MTTT_MLP

TABLE2 = Study(
    "table2",
    "Table 2: Decoder LN and trained W₀",
    "MTTT-MLP with and without Decoder LN and trained W₀, from patches.",
    (NEITHER, TRAINED, NORM, BOTH),
    {"no-norm-fixed-w0": 72.9, "no-norm": 73.0, "fixed-w0": 73.8} | accuracies([BOTH]),
    base="mttt-mlp",
)
