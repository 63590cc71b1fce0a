"""Data sets, and the pipeline that makes batches of them."""

from mttt.data.batch import Batch as Batch, to_float as to_float
from mttt.data.cifar import load_cifar as load_cifar
from mttt.data.detect import detect as detect, find_data as find_data, open_data as open_data
from mttt.data.digits import load_digits as load_digits
from mttt.data.errors import BadData as BadData, BadImage as BadImage
from mttt.data.folder import load_folder as load_folder
from mttt.data.idx import find_fashion_mnist as find_fashion_mnist, load_idx as load_idx
from mttt.data.parquet import load_parquet as load_parquet
from mttt.data.pipeline import (
    Batches as Batches,
    EvaluationBatches as EvaluationBatches,
    Problem as Problem,
    evaluation_batches as evaluation_batches,
    training_batches as training_batches,
)
from mttt.data.source import Example as Example, Item as Item, Source as Source
from mttt.data.splits import Splits as Splits, split_training as split_training
from mttt.data.tar import load_tar as load_tar
from mttt.data.view import (
    DataSet as DataSet,
    OnError as OnError,
    View as View,
    describe as describe,
    described as described,
    load_picture as load_picture,
)
from mttt.data.workers import WorkerLost as WorkerLost
