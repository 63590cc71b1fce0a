"""The outer loop: an objective says how well a model predicts, a rule how it changes."""

from mttt.outer.classification import Classification as Classification, score as score
from mttt.outer.confusion import Confusion as Confusion
from mttt.outer.evaluate import (
    Evaluation as Evaluation,
    NothingToEvaluate as NothingToEvaluate,
    evaluate as evaluate,
)
from mttt.outer.evolution import EvolutionStrategies as EvolutionStrategies
from mttt.outer.exact import ExactGradient as ExactGradient
from mttt.outer.interrupt import Interrupt as Interrupt, Interrupted as Interrupted
from mttt.outer.loop import (
    Keeper as Keeper,
    NotFinite as NotFinite,
    Plan as Plan,
    Record as Record,
    Training as Training,
    train as train,
)
from mttt.outer.mixup import Mixup as Mixup
from mttt.outer.next_token import NextToken as NextToken
from mttt.outer.objective import Answers as Answers, Judged as Judged, Objective as Objective, Score as Score
from mttt.outer.optimizer import (
    constant_schedule as constant_schedule,
    outer_optimizer as outer_optimizer,
    schedule as schedule,
)
from mttt.outer.rule import Rule as Rule, Stepped as Stepped
from mttt.outer.selfcheck import WrongNumbers as WrongNumbers, self_check as self_check
from mttt.outer.state import State as State
from mttt.outer.step import Program as Program, train_step as train_step
