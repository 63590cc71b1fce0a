"""What a run leaves on disk."""

from mttt.runs.checkpoints import Checkpoints as Checkpoints, steps_in as steps_in
from mttt.runs.directory import alone as alone
from mttt.runs.errors import (
    DamagedCheckpoint as DamagedCheckpoint,
    InUse as InUse,
    NotWritten as NotWritten,
    RunError as RunError,
)
from mttt.runs.extend import (
    history as history,
    lengthen as lengthen,
    origin as origin,
    record_origin as record_origin,
)
from mttt.runs.metrics import Metrics as Metrics, Record as Record
from mttt.runs.names import short_names as short_names
from mttt.runs.origin import versions as versions
from mttt.runs.run import Run as Run
from mttt.runs.summary import Summary as Summary, find_runs as find_runs, in_use as in_use, summary as summary
