"""A language model of Shakespeare with each mixer, by nanoGPT's recipe."""

from mttt.studies.shakespeare.grid import (
    TextJob as TextJob,
    TextPlace as TextPlace,
    text_jobs as text_jobs,
    work_text as work_text,
)
from mttt.studies.shakespeare.report import write_text as write_text
from mttt.studies.shakespeare.rows import ROWS as ROWS, TextRow as TextRow
