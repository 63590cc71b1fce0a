"""The server: who may ask, what may be asked, and that it answers while it computes."""

import json
import socket
import threading
import time

import pytest

from mttt.watch import server as module
from mttt.watch.service import Service
from watch.small import RECIPES, asked, entry, service, serving


@pytest.fixture(scope="module")
def page():
    """A server that computes nothing unless it is asked to."""
    with serving(service()) as served:
        yield served


def test_the_page_may_run_its_own_scripts_only(page):
    _, ask = page
    status, html, headers = ask("/")
    policy = headers["Content-Security-Policy"]
    assert status == 200 and "<title>mttt watch</title>" in html
    assert '{"mode":"live"}' in html and "mttt:" not in html
    for rule in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'"):
        assert rule in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


def test_models_are_described(page):
    _, ask = page
    status, text, _ = ask("/api/models")
    models = {one["id"]: one for one in json.loads(text)["models"]}
    assert status == 200 and list(models) == list(RECIPES)
    full, kernel, text = models["full"], models["kernel"], models["text"]
    assert (full["kind"], full["learns"], full["steps"], full["rate"]) == ("pictures", True, 2, 8.0)
    assert full["picture"] == {"height": 8, "width": 8, "channels": 1} and full["draws"]
    assert [one["label"] for one in full["examples"]] == ["0", "1", "2"]
    assert (
        full["about"]
        == "mttt-mlp, T = 2, η = 8; 2 blocks of width 8, 2 heads; trained for 0.891 epochs; accuracy 50.0%"
    )
    assert (kernel["learns"], kernel["steps"], kernel["rate"], kernel["task"]) == (False, None, None, "reconstruction")
    assert models["linear"]["rate"] is None and models["linear"]["learns"]
    assert (text["kind"], text["context"], text["learns"], len(text["examples"])) == ("text", 64, True, 3)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_another_name_for_this_machine_gets_nothing(page, host):
    for path in ("/", "/api/models"):
        status, text, _ = page[1](path, Host=host)
        assert status == 421 and "this server is 127.0.0.1:" in json.loads(text)["error"]


def test_a_page_of_somebody_else_gets_nothing(page):
    server, ask = page
    port = server.server_port
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{port}",
        "http://127.0.0.1:1",
        f"127.0.0.1:{port}",
    ):
        status, text, _ = ask("/api/trace", asked("full"), Origin=origin)
        assert status == 403 and "may not ask" in json.loads(text)["error"]
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.server_port}"
        assert ask("/api/trace", asked("nobody"), Origin=f"http://{host}", Host=host)[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "why"),
    [
        ("/api/nothing", None, {}, 404, "there is nothing at '/api/nothing'"),
        ("/../../etc/passwd", None, {}, 404, "there is nothing at"),
        ("/api/trace", None, {}, 405, "is asked for with POST"),
        ("/api/models", {}, {}, 405, "is asked for with GET"),
        ("/api/read", {"model": "text", "text": "ab"}, {"method": "PUT"}, 501, "Unsupported method ('PUT')"),
        ("/api/trace", asked("full", rate=10**400), {}, 400, "expected a number from -1e+06"),
        ("/api/trace", {}, {"Content_Type": "text/plain"}, 415, "expected application/json"),
        ("/api/trace", b"{", {}, 400, "the request is not JSON"),
        ("/api/trace", b"[1]", {}, 400, "the request is not an object"),
        ("/api/trace", b'{"rate": NaN}', {}, 400, "NaN is no number of JSON"),
        ("/api/trace", b"[" * 100_000, {}, 400, "is nested too deeply"),
        ("/api/trace", b"\xff", {}, 400, "is not UTF-8"),
        ("/api/trace", {}, {"Content_Length": "-1"}, 411, "does not say how long it is"),
        ("/api/trace", {}, {"Content_Length": "99999999999"}, 413, "at most 20,000,000 are read"),
        ("/api/trace", {"model": "full"}, {}, 400, "input is missing"),
        ("/api/training?model=full", None, {}, 404, "full is not a run"),
        ("/api/training", None, {}, 404, "there is no model ''"),
        ("/api/generate", {"model": "text", "prompt": "a", "count": 0}, {}, 400, "count = 0: expected"),
    ],
)
def test_what_is_wrong_is_one_sentence(page, path, body, headers, status, why):
    got, text, _ = page[1](path, body, **headers)
    error = json.loads(text)["error"]
    assert (got, why in error, "\n" in error) == (status, True, False), text


def test_who_sends_too_much_is_told_so(page):
    status, text, _ = page[1]("/api/trace", b" " * (module.BODY + 2**20))
    assert status == 413 and "at most 20,000,000 are read" in json.loads(text)["error"]


def test_a_body_without_a_length_is_refused_before_it_is_read(page):
    server, _ = page
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        lines = ["POST /api/trace HTTP/1.1", f"Host: 127.0.0.1:{server.server_port}", "Content-Type: application/json"]
        client.sendall("\r\n".join([*lines, "Transfer-Encoding: chunked", "", "5\r\n"]).encode())
        assert client.recv(100).startswith(b"HTTP/1.0 411")


def test_a_client_that_says_nothing_is_given_up(page, monkeypatch):
    server, _ = page
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
        client.sendall(b"POST /api/trace HTTP/1.1\r\nHost:")
        assert client.recv(100) == b""


def test_status_is_answered_while_something_is_computed(monkeypatch):
    entered, leave = threading.Event(), threading.Event()

    def slow(self, asked):
        entered.set()
        assert leave.wait(30)
        raise RuntimeError("the device is on fire\nat line 1")

    monkeypatch.setattr(Service, "_look", slow)
    mine = Service({"full": entry("full")})
    with serving(mine) as (_, ask):
        answers = []
        clients = [threading.Thread(target=lambda: answers.append(ask("/api/trace", asked("full")))) for _ in range(2)]
        for client in clients:
            client.start()
        assert entered.wait(30)
        begin = time.monotonic()
        assert json.loads(ask("/api/status")[1])["busy"] == "tracing full"
        assert ask("/api/models")[0] == 200
        assert time.monotonic() - begin < 5 and not answers
        assert not mine.stop()
        leave.set()
        for client in clients:
            client.join()
        assert json.loads(ask("/api/status")[1]) == {"busy": None, "seconds": 0}
    assert [status for status, _, _ in answers] == [500, 500]
    assert "RuntimeError): the device is on fire" in answers[0][1] and "line 1" not in answers[0][1]


def test_writing_comes_line_by_line(monkeypatch):
    def written(*_, count, **__):
        yield {"byte": 65}
        raise ValueError("no more\nof this")

    monkeypatch.setattr("mttt.watch.service.written", written)
    with serving(service()) as (_, ask):
        body = {"model": "text", "prompt": "", "count": 3, "temperature": 1, "seed": 0}
        status, text, headers = ask("/api/generate", body)
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line) for line in text.splitlines()] == [{"byte": 65}, {"error": "no more"}]


def test_a_client_that_went_away_is_no_error(monkeypatch, capfd):
    def written(*_, **__):
        while True:
            yield {"byte": 65}

    monkeypatch.setattr("mttt.watch.service.written", written)
    mine = Service({"text": entry("text")})
    with serving(mine) as (server, ask):
        body = json.dumps({"model": "text", "prompt": "", "count": 3, "temperature": 1, "seed": 0}).encode()
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as client:
            head = f"POST /api/generate HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            client.sendall(head.encode() + body)
            assert client.recv(10)
        end = time.monotonic() + 10
        while json.loads(ask("/api/status")[1])["busy"] and time.monotonic() < end:
            time.sleep(0.01)
        assert json.loads(ask("/api/status")[1])["busy"] is None
    assert capfd.readouterr().err == ""
