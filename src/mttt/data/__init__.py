"""Data sets, and the pipeline that makes batches of them. Kinds of data are rooms of their own: `pictures`, `text`."""

from mttt.data.batch import Batch as Batch
from mttt.data.buckets import Padded as Padded, bucket as bucket, pad_to_bucket as pad_to_bucket
from mttt.data.collate import Skipped as Skipped
from mttt.data.dataset import DataSet as DataSet, describe as describe
from mttt.data.errors import BadData as BadData, BadExample as BadExample
from mttt.data.pipeline import (
    Batches as Batches,
    EvaluationBatches as EvaluationBatches,
    training_batches as training_batches,
)
from mttt.data.source import Source as Source, Subset as Subset, hold_out as hold_out
from mttt.data.spec import Spec as Spec
from mttt.data.view import Example as Example, OnError as OnError, View as View
from mttt.data.workers import WorkerLost as WorkerLost
