"""Which mixer remembers how many pairs: associative recall, in sequences and in sets."""

from mttt.studies.recall.grid import (
    RecallPlace as RecallPlace,
    recall_jobs as recall_jobs,
    work_recall as work_recall,
)
from mttt.studies.recall.in_sequences import IN_SEQUENCES as IN_SEQUENCES
from mttt.studies.recall.in_sets import IN_SETS as IN_SETS
from mttt.studies.recall.report import write_recall as write_recall
from mttt.studies.recall.study import RecallStudy as RecallStudy
from mttt.studies.recall.training import RecallJob as RecallJob
