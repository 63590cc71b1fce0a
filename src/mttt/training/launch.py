"""Train a run to its end."""

from typing import Any

from mttt.data import DataSet, training_batches
from mttt.outer import Evaluation, Interrupt, Training, self_check, train
from mttt.runs import Run
from mttt.training.keeper import Observer, RunKeeper
from mttt.training.prepare import Prepared


def launch(prepared: Prepared, data: DataSet, run: Run, observer: Observer, *, workers: int = 0) -> Evaluation:
    """Train a run to its end, from where it is, and write its result. `workers` processes prepare the examples."""
    self_check()
    plan, first = prepared.plan, prepared.state()
    judged = prepared.evaluation_batches(data)
    with (
        training_batches(data.train, plan.batch_size, seed=prepared.recipe.seed, workers=workers) as batches,
        run.checkpoints(write=True) as checkpoints,
        Interrupt() as interrupt,
    ):
        keeper = RunKeeper(run, checkpoints, batches, plan, interrupt, observer)
        state = keeper.resume(first)

        def evaluate(model: Any) -> Evaluation:
            evaluation = prepared.evaluate(model, judged)
            keeper.skipped("evaluation", judged.skipped)
            return evaluation

        evaluation = train(Training(plan, prepared.program(), prepared.rate, evaluate, keeper), state, batches)
    run.finish({"step": plan.steps, **evaluation.record(), "skipped": len(run.metrics.read("skipped"))})
    return evaluation
