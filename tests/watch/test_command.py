"""mttt watch on the command line."""

import socket
from pathlib import Path

import pytest

from mttt.watch.export import Exported
from mttt.watch.models import Entry
from mttt.watch.server import Server
from watch.small import Drawn


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C as soon as the server serves; the addresses that were opened in the browser."""
    opened = []

    def stop(self, poll_interval=0.5):
        raise KeyboardInterrupt

    monkeypatch.setattr(Server, "serve_forever", stop)
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address))
    return opened


def test_without_a_run_it_shows_what_ships(here, tmp_path, interrupted):
    out, err = here("watch", "--port", "0", cwd=tmp_path)
    assert "Watching digits-mttt-mlp, digits-self-attention, shakespeare-ttt-mlp at http://127.0.0.1:" in out
    assert len(interrupted) == 1 and interrupted[0] in out and err == ""
    out, _ = here("watch", "--port", "0", "--no-browser", cwd=tmp_path)
    assert len(interrupted) == 1


def test_ctrl_c_ends_it_also_in_the_middle_of_a_computation(here, tmp_path, interrupted, monkeypatch):
    codes = []
    monkeypatch.setattr("mttt.watch.service.Service.stop", lambda self: False)
    monkeypatch.setattr("os._exit", codes.append)
    here("watch", "--port", "0", cwd=tmp_path)
    assert codes == [0]


def test_what_cannot_be_meant_is_one_sentence(here, tmp_path, interrupted):
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    (tmp_path / "folder").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = {
            ("nothing",): "nothing does not exist",
            ("folder",): "folder is not a run",
            ("--port", "70000"): "--port 70000: expected a port",
            ("--port", str(port)): f"--port {port} cannot be used (Address already in use)",
            ("--examples", "0"): "--examples 0: expected a whole number from 1 to 200",
            ("--export", "folder"): "folder is a directory",
            ("--export", "mine.html"): "mine.html is there and was not made by this command",
            ("--export", "no/page.html"): "there is no directory no",
        }
        for words, why in cases.items():
            _, err = here("watch", *words, cwd=tmp_path, code=2)
            assert why in err and err.count("\n") == 1
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"


def test_an_export_is_of_the_runs_that_were_named_and_of_models_with_examples(here, tmp_path, monkeypatch):
    exported = []

    def export(path, chosen, *, say):
        say("computing")
        exported.append((path, list(chosen)))
        return Exported(2, 1_500_000)

    models = {"mine": Entry("mine", Drawn("full"), 1), "shipped": Entry("shipped", Drawn("full"), 1)}
    monkeypatch.setattr("mttt.cli.watch.catalogue", lambda *_, **__: models)
    monkeypatch.setattr("mttt.cli.watch.export", export)
    out, err = here("watch", "runs/mine", "--export", "page.html", cwd=tmp_path)
    assert (out, err) == ("page.html: 2 answers, 1.5 MB; open it in any browser\n", "")
    here("watch", "--export", "page.html", cwd=tmp_path)
    assert exported == [(Path("page.html"), ["mine"]), (Path("page.html"), ["mine", "shipped"])]
    models["mine"].no_examples = "The evaluation data cannot be read: they moved"
    _, err = here("watch", "runs/mine", "--export", "page.html", cwd=tmp_path, code=2)
    assert err == "mttt: mine cannot be exported. The evaluation data cannot be read: they moved\n"
    assert len(exported) == 2


def test_it_is_told_apart_in_the_help(here):
    out, _ = here("watch", "--help")
    assert "--no-browser" in out and "--export FILE.html" in out
