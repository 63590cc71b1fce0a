"""A recipe becomes a training, a training becomes a run, and a run becomes a model again."""

from mttt.training.begin import (
    DoesNotFit as DoesNotFit,
    Taken as Taken,
    begin_from as begin_from,
    create_from as create_from,
)
from mttt.training.context import in_context as in_context
from mttt.training.data import (
    check_data as check_data,
    default_workers as default_workers,
    load_data as load_data,
    load_test as load_test,
)
from mttt.training.extend import CannotExtend as CannotExtend, as_extended as as_extended, extend as extend
from mttt.training.keeper import Observer as Observer
from mttt.training.launch import launch as launch
from mttt.training.load import Loaded as Loaded, load as load, prepared_of as prepared_of
from mttt.training.memory import memory_limit as memory_limit
from mttt.training.prepare import Prepared as Prepared, prepare as prepare, prepare_for as prepare_for
