"""Data sets, and the pipeline that makes batches of them."""

from mttt.data.batch import Batch as Batch, to_float as to_float
from mttt.data.digits import load_digits as load_digits
from mttt.data.pipeline import evaluation_batches as evaluation_batches, training_batches as training_batches
from mttt.data.source import DataSet as DataSet, Example as Example, Source as Source
