"""The outer loop."""

from mttt.outer.evaluate import Evaluation as Evaluation, evaluate as evaluate
from mttt.outer.interrupt import Interrupted as Interrupted
from mttt.outer.loop import (
    NotFinite as NotFinite,
    Observer as Observer,
    Plan as Plan,
    Training as Training,
    train as train,
)
from mttt.outer.loss import outer_loss as outer_loss, score as score
from mttt.outer.optimizer import outer_optimizer as outer_optimizer, schedule as schedule
from mttt.outer.selfcheck import WrongNumbers as WrongNumbers, self_check as self_check
from mttt.outer.state import State as State
from mttt.outer.step import train_step as train_step
