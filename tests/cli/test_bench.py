"""What `mttt bench` prints, writes and refuses; and that its contestants compute the same."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from PIL import Image

from catalogue import DIM, HEADS, build, relative_error, tokens, ttt
from mttt import bench
from mttt.bench import data as data_module, layers as layers_module
from mttt.bench.crossover import crossover
from mttt.bench.layers import Shape
from mttt.bench.measure import without_compilation_cache
from mttt.bench.naive import NaiveTTT
from mttt.cli.bench import Layers
from mttt.cli.main import main

FIELDS = ("forward_ms", "step_ms", "forward_flops", "step_flops", "temp_bytes")


@pytest.mark.parametrize("kind", [("zero-linear", "plain", 1), ("mlp", "normalised", 1), ("mlp", "normalised", 2)])
def test_naive_is_the_same_function(float64, kind):
    learner, task, steps = kind
    layer, x = build(ttt(learner, task, steps=steps, block=3), DIM, HEADS), tokens()

    @eqx.filter_jit
    def gradient(mixer, x):
        return eqx.filter_value_and_grad(lambda x: jnp.sum(jnp.sin(mixer(x).tokens)))(x)

    assert relative_error(gradient(layer, x), gradient(NaiveTTT(layer), x)) < 1e-11


@pytest.fixture
def small_shapes(monkeypatch):
    monkeypatch.setitem(layers_module.SHAPES, "patches", Shape(1, 16, 8, 2))
    monkeypatch.setattr(bench, "at_length", lambda n: (f"n={n}", Shape(1, n, 8, 2)))


def test_the_papers_shapes_report_what_was_promised(tmp_path, small_shapes, here):
    path = tmp_path / "bench.json"
    words = ["--shapes", "patches", "--layers", "linear-attention", "mttt-mlp", "naive-mttt-mlp", "--repeats", "1"]
    out, _ = here("bench", "paper", *words, "--json", path)
    numbers = json.loads(path.read_text())
    names = [row["layer"] for row in numbers["rows"]]
    assert names == ["linear-attention", "mttt-mlp", "naive-mttt-mlp"]
    assert all(row[field] > 0 for row in numbers["rows"] for field in FIELDS)
    base, mlp, naive = numbers["rows"]
    for other, ratios in ((base, mlp["against_linear_attention"]), (naive, mlp["against_naive"])):
        assert {field: mlp[field] / other[field] for field in FIELDS}.items() <= ratios.items()
    speed = 1e3 * mlp["step_flops"] / mlp["step_ms"]
    assert mlp["fraction_of_peak"] * numbers["matmul_peak_flops"] == pytest.approx(speed)
    assert all(row["step_flops_executed"] >= row["step_flops"] > row["forward_flops"] for row in numbers["rows"])
    assert numbers["matmul_peak_flops"] > 0 and numbers["jax"] == jax.__version__
    assert all(name in out for name in names)


def test_layers_are_compared_with_self_attention_at_several_lengths(tmp_path, small_shapes, here):
    path, figure = tmp_path / "layers.json", tmp_path / "layers.png"
    words = ["--layers", "self-attention", "linear-attention", "--tokens", "16", "8", "--repeats", "1"]
    out, _ = here("bench", "layers", *words, "--json", path, "--figure", figure)
    numbers = json.loads(path.read_text())
    assert [row["tokens"] for row in numbers["rows"]] == [8, 8, 16, 16]
    attention, linear = numbers["rows"][2:]
    ratio = linear["step_median_ms"] / attention["step_median_ms"]
    assert linear["against_self_attention"]["step_median_ms"] == ratio
    assert set(numbers["crossover"]["linear-attention"]) == {"forward", "step", "memory"}
    assert "costs less than self-attention" in out
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert max(map(len, out.split("step: ")[0].splitlines())) <= 80


def test_what_does_not_fit_into_memory_is_not_run(small_shapes, here, monkeypatch):
    monkeypatch.setattr(layers_module, "available_bytes", lambda: 1)
    out, _ = here("bench", "layers", "--layers", "self-attention", "--tokens", "8", "--repeats", "1")
    assert out.count("needs 0.0 GiB") == 2


@pytest.mark.parametrize(
    ("ratios", "n"),
    [
        ([(100, 0.5), (400, 0.4)], 100),
        ([(100, 2.0), (400, 1.5)], None),
        ([(400, 0.5), (100, 2.0)], 200),
        ([(100, 0.5), (200, 2.0), (800, 0.5)], 400),
        ([(100, 0.5), (200, 2.0)], None),
        ([], None),
    ],
)
def test_a_crossover_is_where_the_ratio_stays_below_one(ratios, n):
    assert crossover(ratios) == (None if n is None else pytest.approx(n))


def test_default_layers_and_lengths_are_those_a_user_chooses_from():
    assert {"self-attention", "linear-attention", "mttt-linear", "mttt-mlp"} <= set(Layers().layers)
    assert Layers().tokens == (196, 784, 3136, 12_544)


def test_a_model_step_is_measured(monkeypatch, capsys):
    from mttt.models import Size

    small = bench.MODELS["raw"]._replace(size=Size(8, 2, 2), side=4)
    monkeypatch.setitem(bench.MODELS, "raw", small)
    # Optax promotes dtypes implicitly, as it may for users.
    with pytest.raises(SystemExit) as exit, jax.numpy_dtype_promotion("standard"):
        main(["bench", "model", "--repeats", "1"])
    assert exit.value.code == 0
    out = capsys.readouterr().out
    assert "n = 16" in out and "self-attention" in out and "resident" in out


def test_compile_times_are_measured(monkeypatch, capsys, tmp_path):
    from mttt.bench import compile as compile_module, gradients as gradients_module
    from mttt.models import Size

    monkeypatch.setattr(compile_module, "SMALL", Size(8, 2, 2))
    monkeypatch.setattr(compile_module, "STEPS", (1,))
    monkeypatch.setattr(compile_module, "DEPTHS", (1, 2))
    monkeypatch.setattr(gradients_module, "SHAPE", Shape(1, 4, 4, 1))
    monkeypatch.setattr(gradients_module, "CONTESTANTS", ("self-attention",))
    path = tmp_path / "compile.json"
    with pytest.raises(SystemExit) as exit, jax.numpy_dtype_promotion("standard"):
        main(["bench", "compile", "--repeats", "1", "--json", str(path)])
    assert exit.value.code == 0
    numbers = json.loads(path.read_text())
    assert all(seconds > 0 for seconds in numbers["model"]["compile_seconds"].values())
    for row in numbers["layer"]["rows"]:
        for of in (row["wall_seconds"], row["processor_seconds"]):
            assert 0 < of["trace"] < of["gradient"] == pytest.approx(of["trace"] + of["lower"] + of["compile"])
    out = capsys.readouterr().out
    assert "depth=2 T=1" in out and "self-attention" in out


def test_what_is_measured_is_compiled_anew():
    from jax._src import compilation_cache

    before, client = jax.config.jax_enable_compilation_cache, jax.devices()[0].client
    compilation_cache.is_cache_used(client)  # JAX has decided
    with without_compilation_cache():
        assert not compilation_cache.is_cache_used(client)
    assert jax.config.jax_enable_compilation_cache == before


def test_data_and_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(data_module, "SECONDS", 0.1)
    for kind in "ab":
        (tmp_path / "pictures" / kind).mkdir(parents=True)
        for number in range(16):
            Image.new("RGB", (40, 30), (number, 0, 0)).save(tmp_path / "pictures" / kind / f"{number}.jpg")
    path = tmp_path / "data.json"
    for words in (["--json", str(path)], ["--path", str(tmp_path / "pictures"), "--workers", "0"]):
        with pytest.raises(SystemExit) as exit:
            main(["bench", "data", "--repeats", "1", *words])
        assert exit.value.code == 0
        assert "images/s" in capsys.readouterr().out
    assert json.loads(path.read_text())["rows"][0]["images_per_second"] > 0
    row = bench.Timing("a", "b", 1)
    assert bench.Measurements([row], 1.0, 1).of("a", "b") is row
    assert set(FIELDS) <= {field.name for field in dataclasses.fields(row)}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["layer"], "unknown bench command 'layer'. Did you mean layers?"),
        (["paper", "--shapes", "pixel"], "unknown shape 'pixel'. Did you mean pixels?"),
        (["layers", "--layers", "mtt-mlp"], "Did you mean mttt-mlp?"),
        (["layers", "--tokens", "0"], "--tokens 0: must"),
        (["layers", "--tokens", "9999999999999"], "--tokens 9999999999999: must be at most 1,048,576"),
        (["layers", "--tokens"], "--tokens is missing: name at least one"),
        (["compile", "--parts", "layers"], "Did you mean layer?"),
        (["layers", "--repeats", "0"], "--repeats 0: must"),
        (["paper", "--block", "0"], "--block 0: must"),
        (["layers", "--json", "nowhere/a.json"], "no directory nowhere"),
        (["layers", "--json", "."], ". is a directory"),
        (["model", "--layers", "self-attention"], "unknown layer 'self-attention'"),
        (["model", "--shapes"], "--shapes is missing: name at least one"),
        (["data", "--shapes", "pixels"], "--shapes"),
        (["layers", "--path", "."], "--path"),
        (["data", "--workers", "-1"], "--workers -1: must be"),
        (["data", "--path", "nowhere"], "nowhere does not exist"),
        (["model", "--figure", "a.png"], "--figure"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, reason, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["bench", *words])
    assert exit.value.code == 2
    assert reason in capsys.readouterr().err


def test_page_asks_a_real_server_for_pictures_that_it_does_not_know(here, tmp_path, monkeypatch):
    monkeypatch.setattr("mttt.bench.page.STEPS", 4)  # the program of the trained T serves it, too
    text, _ = here("bench", "page", "--pictures", "2", "--json", "page.json", cwd=tmp_path)
    found = json.loads((tmp_path / "page.json").read_text())
    assert [row["what"] for row in found["rows"]] == ["as trained", "another η", "T = 4"]
    assert all(0 < row["median"] <= row["slowest"] for row in found["rows"])
    assert "digits-mttt-mlp" in text
    _, error = here("bench", "page", "--pictures", "1", code=2)
    assert "--pictures 1: must be 2 to 360" in error
