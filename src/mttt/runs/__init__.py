"""What a run leaves on disk."""

from mttt.runs.checkpoints import Checkpoints as Checkpoints
from mttt.runs.metrics import Metrics as Metrics, Record as Record
from mttt.runs.run import InUse as InUse, Run as Run, RunError as RunError, versions as versions
