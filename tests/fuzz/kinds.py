"""The kinds of cases, by name. All is imported here, once, and nothing computed: JAX's threads die in a fork."""

import importlib
import logging
import warnings

import jax

from fuzz.data import Data
from fuzz.library import Library
from fuzz.lines import Lines
from fuzz.runs import Runs

for command in ("train", "evaluate", "predict", "runs", "data", "presets", "bench", "study", "main"):
    importlib.import_module(f"mttt.cli.{command}")
importlib.import_module("mttt.report.plots")
logging.getLogger("absl").setLevel(logging.ERROR)
jax.config.update("jax_logging_level", "CRITICAL")  # remarks on kept programs
warnings.filterwarnings("ignore", message=".*fork.*")

KINDS = {"lines": Lines, "runs": Runs, "data": Data, "library": Library}
