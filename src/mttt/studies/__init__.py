"""The paper's tables and figures, with its own numbers beside ours."""

from mttt.studies.all import ALL_ROWS as ALL_ROWS, STUDIES as STUDIES
from mttt.studies.costs import Cost as Cost, costs as costs
from mttt.studies.grid import Grid as Grid, Job as Job, Place as Place, jobs_of as jobs_of
from mttt.studies.lengths import measure_lengths as measure_lengths
from mttt.studies.measured import SPEEDS as SPEEDS, known_speeds as known_speeds, runs_of as runs_of
from mttt.studies.reports import (
    LENGTHS as LENGTHS,
    Findings as Findings,
    find as find,
    write_claims as write_claims,
    write_report as write_report,
)
from mttt.studies.row import Row as Row, Study as Study
from mttt.studies.scale import SCALES as SCALES
from mttt.studies.speeds import measure_speeds as measure_speeds
from mttt.studies.watch import Watcher as Watcher, Work as Work
