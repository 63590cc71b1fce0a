"""Which mixer remembers how many pairs: multi-query associative recall."""

from mttt.studies.recall.grid import (
    PAIRS as PAIRS,
    RecallPlace as RecallPlace,
    recall_jobs as recall_jobs,
    work_recall as work_recall,
)
from mttt.studies.recall.report import write_recall as write_recall
from mttt.studies.recall.rows import ROWS as ROWS, RecallRow as RecallRow
from mttt.studies.recall.training import STEPS as STEPS, RecallJob as RecallJob
