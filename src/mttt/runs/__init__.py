"""What a run leaves on disk."""

from mttt.runs.checkpoints import Checkpoints as Checkpoints
from mttt.runs.extend import (
    history as history,
    lengthen as lengthen,
    origin as origin,
    record_origin as record_origin,
)
from mttt.runs.metrics import Metrics as Metrics, Record as Record
from mttt.runs.run import InUse as InUse, Run as Run, RunError as RunError, versions as versions
from mttt.runs.summary import Summary as Summary, find_runs as find_runs, summary as summary
