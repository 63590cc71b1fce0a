"""The server of the page, for this machine and this user's browser only."""

import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mttt.data import BadData, BadExample
from mttt.runs import RunError
from mttt.runs.document import parse
from mttt.watch.asked import Refused
from mttt.watch.document import document
from mttt.watch.pictures import UPLOAD
from mttt.watch.service import Service

HOST = "127.0.0.1"
BODY = 2 * UPLOAD
"""bytes of a request; a picture in base64 has room"""
THROWN_AWAY = 10 * BODY
"""bytes of a request that is too long, up to which it is received before it is refused; nothing of it is kept"""
PATIENCE = 20.0
"""seconds that a client may be silent in the middle of a request or an answer"""
_GONE = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError, TimeoutError)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """Listens on the loopback interface. Each request has a thread; the service lets one of them compute at a time."""

    daemon_threads = True

    def __init__(self, service: Service, port: int):
        """Port 0 is any that is free."""
        super().__init__((HOST, port), _Handler)
        self.service, self.page = service, document({"mode": "live"})
        self.hosts = [f"{name}:{self.server_port}" for name in (HOST, "localhost")]

    @property
    def address(self) -> str:
        """For a browser on this machine."""
        return f"http://{self.hosts[0]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error."""
        error = sys.exception()
        if not isinstance(error, _GONE):
            print(f"mttt: a request could not be answered: {type(error).__name__}: {error}", file=sys.stderr)


class _Handler(BaseHTTPRequestHandler):
    server: Any  # a Server
    timeout = PATIENCE
    server_version, sys_version = "mttt", ""

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is asked for is the user's own affair."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request at all, or has another method than those above, gets a sentence, too."""
        self._say(code, message or "this is no request that can be answered")

    def _respond(self, method: str) -> None:
        """Every error is a sentence; none of them reaches the client as a traceback."""
        try:
            self._check_who_asks()
            self._routed(method)()
        except Refused as refused:
            self._say(refused.status, str(refused))
        except (RunError, BadData, BadExample, ValueError) as error:
            self._say(400, str(error))
        except _GONE:
            self.close_connection = True
        except Exception as error:
            self._say(500, f"this could not be computed ({type(error).__name__}): {error}".splitlines()[0])

    def _check_who_asks(self) -> None:
        """A page of somebody else must not talk to this server, whatever name it gives to this machine."""
        allowed = " or ".join(self.server.hosts)
        if (host := self.headers.get("Host", "")) not in self.server.hosts:
            raise Refused(f"this server is {allowed}, and was asked for as {host[:80]!r}", 421)
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{host}" for host in self.server.hosts]:
            raise Refused(f"a page of {origin[:80]!r} may not ask this server", 403)

    def _routed(self, method: str) -> Callable[[], None]:
        """What answers a request."""
        service, path = self.server.service, urlsplit(self.path).path
        streams: dict[str, Callable[[Any], Iterator[Any]]] = {"/api/generate": service.generate}
        posts: dict[str, Callable[[Any], Any]] = {
            "/api/trace": service.trace,
            "/api/update": service.update,
            "/api/read": service.read,
        }
        gets: dict[str, Callable[[], Any]] = {
            "/api/models": service.models,
            "/api/status": service.status,
            "/api/training": lambda: service.training(self._query("model")),
        }
        if path not in ("/", *gets, *posts, *streams):
            raise Refused(f"there is nothing at {path[:80]!r}", 404)
        wanted = "POST" if path in posts or path in streams else "GET"
        if method != wanted:
            raise Refused(f"{path} is asked for with {wanted}, not with {method}", 405)
        if path == "/":
            return self._send_page
        if path in gets:
            return lambda: self._send(gets[path]())
        if path in streams:
            return lambda: self._stream(streams[path](self._body()))
        return lambda: self._send(posts[path](self._body()))

    def _query(self, name: str) -> str:
        return parse_qs(urlsplit(self.path).query).get(name, [""])[0]

    def _body(self) -> dict[str, Any]:
        """The request's JSON. How long it is, is known before any of it is read."""
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise Refused(f"the request is {kind[:80]}; expected application/json", 415)
        length = self.headers.get("Content-Length", "")
        if "Transfer-Encoding" in self.headers or not length.isascii() or not length.isdigit():
            raise Refused("the request does not say how long it is (Content-Length)", 411)
        if len(length) > 12 or int(length) > BODY:
            self._throw_away(int(length[:12]))
            raise Refused(f"the request has {length[:12]} bytes; at most {BODY:,} are read", 413)
        try:
            value = parse(self.rfile.read(int(length)))
        except ValueError as error:
            raise Refused(f"the request {error}") from error
        if not isinstance(value, dict):
            raise Refused("the request is not an object")
        return value

    def _throw_away(self, length: int) -> None:
        """A client that still sends when the answer comes sees a broken connection and no sentence: let it finish."""
        left = length if length <= THROWN_AWAY else 0
        while left and (part := self.rfile.read(min(left, 2**16))):
            left -= len(part)

    def _send_page(self) -> None:
        page = self.server.page
        self._begin(200, "text/html; charset=utf-8", {"Content-Security-Policy": page.policy})
        self.wfile.write(page.html.encode())

    def _send(self, value: Any, status: int = 200) -> None:
        content = json.dumps(value, allow_nan=False).encode()
        self._begin(status, "application/json", {"Content-Length": str(len(content))})
        self.wfile.write(content)

    def _stream(self, lines: Iterator[Any]) -> None:
        """One line of JSON after the other, each as soon as it is there; an error is the last of them."""
        self._begin(200, "application/x-ndjson", {})
        try:
            for line in lines:
                self._put(line)
        except _GONE:
            raise
        except Exception as error:
            self._put({"error": str(error).splitlines()[0] if str(error) else type(error).__name__})

    def _put(self, line: Any) -> None:
        self.wfile.write(json.dumps(line, allow_nan=False).encode() + b"\n")

    def _begin(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        policy = {"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'"}
        for name, value in ({"Content-Type": kind} | _HEADERS | policy | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def _say(self, status: int, sentence: str) -> None:
        self._send({"error": sentence}, status)
