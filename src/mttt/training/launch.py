"""Train a run to its end."""

from contextlib import nullcontext
from typing import Any

import jax

from mttt.data import DataSet, training_batches
from mttt.devices import ALONE, Company
from mttt.outer import Evaluation, Interrupt, Training, self_check, train
from mttt.runs import Run
from mttt.training.keeper import Observer, RunKeeper
from mttt.training.prepare import Prepared
from mttt.training.shared import SharedBatches, confirm, gathered


def launch(
    prepared: Prepared, data: DataSet, run: Run, observer: Observer, *, workers: int = 0, company: Company = ALONE
) -> Evaluation:
    """Train a run to its end, from where it is, and write its result. `workers` processes prepare the examples.

    In company, every process calls it with the same prepared training, on the devices of all of them.
    """
    self_check()
    plan, placement, first = prepared.plan, prepared.placement, prepared.state()
    judged, rows, put = prepared.evaluation_batches(data), None, jax.device_put
    if placement is not None:
        rows, put = placement.own_rows(plan.batch_size), placement.put_rows
    seed = prepared.recipe.seed
    with (
        training_batches(data.train, plan.batch_size, seed=seed, workers=workers, rows=rows, put=put) as own,
        run.checkpoints(write=True, company=company) as checkpoints,
        Interrupt() as interrupt,
        nullcontext() if placement is None else placement(),
    ):
        batches = own if company.count == 1 else SharedBatches(own, company, interrupt)
        keeper = RunKeeper(run, checkpoints, batches, plan, interrupt, observer, company)
        state = keeper.resume(first)

        def evaluate(model: Any) -> Evaluation:
            evaluation, error = None, None
            try:
                evaluation = prepared.evaluate(model, judged)
            except Exception as raised:
                error = raised
            confirm(company, error)
            assert evaluation is not None
            keeper.skipped("evaluation", gathered(company, judged.skipped))
            return evaluation

        evaluation = train(Training(plan, prepared.program(), prepared.rate, evaluate, keeper), state, batches)
    if company.first:
        run.finish({"step": plan.steps, **evaluation.record(), "skipped": len(run.metrics.read("skipped"))})
    return evaluation
