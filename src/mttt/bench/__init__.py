"""Speed, memory and FLOPs, compared inside one run."""

from mttt.bench.compile import compile_bench as compile_bench
from mttt.bench.crossover import crossovers as crossovers
from mttt.bench.data import data_bench as data_bench, digits_view as digits_view, pictures_view as pictures_view
from mttt.bench.devices import CASES as CASES, MOST as MOST, devices_bench as devices_bench
from mttt.bench.devices_figure import draw_devices as draw_devices
from mttt.bench.figure import draw_layers as draw_layers
from mttt.bench.generation import generation_bench as generation_bench
from mttt.bench.gradients import gradients_bench as gradients_bench
from mttt.bench.layers import (
    LAYERS as LAYERS,
    LENGTHS as LENGTHS,
    SHAPES as SHAPES,
    at_length as at_length,
    layers_bench as layers_bench,
)
from mttt.bench.measure import Measurements as Measurements, Timing as Timing
from mttt.bench.million import million_bench as million_bench
from mttt.bench.models import MODELS as MODELS, models_bench as models_bench
from mttt.bench.page import page_bench as page_bench
from mttt.bench.sequences import DUELS as DUELS, sequences_bench as sequences_bench, sequences_json as sequences_json
