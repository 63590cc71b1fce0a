"""Two controls that later work calls for: no learning at test time, and learning in the wrong direction.

    mttt study controls

With one step the outer loop can undo much of the sign: the part of the gradient at W₀ that has the target x in it,
−hᵀx, turns around with the decoder h. (With W₀ = 0 and a linear learner that is all of it.) With four steps that may be
harder. So both are trained.
"""

from mttt.recipes.inner import FullBatchRecipe
from mttt.recipes.inner_optimizers import FixedRateRecipe
from mttt.recipes.ttt import TTTRecipe
from mttt.studies.figure1 import FULL4
from mttt.studies.paper import accuracies
from mttt.studies.row import Row, Study
from mttt.studies.table1 import MTTT_MLP

UP = FixedRateRecipe(-1.0)

NO_STEPS = Row("mttt-mlp-t0", "MTTT-MLP T=0", TTTRecipe(batching=FullBatchRecipe(0)))
ASCENT = Row("mttt-mlp-ascent", "MTTT-MLP, ascent (η = −1)", TTTRecipe(optimizer=UP))
ASCENT4 = Row(
    "mttt-mlp-t4-ascent", "MTTT-MLP T=4, ascent (η = −1)", TTTRecipe(optimizer=UP, batching=FullBatchRecipe(4))
)

CONTROLS = Study(
    "controls",
    "Controls: no learning, and learning upwards",
    "MTTT-MLP trained without inner steps, and with gradient ascent in the inner loop.",
    (NO_STEPS, MTTT_MLP, ASCENT, FULL4, ASCENT4),
    accuracies([MTTT_MLP]),
    base="mttt-mlp",
    notes="Without an inner step (T = 0) no token sees another before the head takes their mean. With one step the "
    "outer loop can undo much of the sign of η: the part of the inner gradient that has the target in it turns around "
    "with the decoder h. With four steps that may be harder. Ascent with T = 4 was added after the first results with "
    "T = 1 were known.",
)
