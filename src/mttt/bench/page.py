"""How long the page of `mttt watch` waits for a trace, over HTTP, of pictures that the server does not know yet."""

import json
import statistics
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

from mttt.bench.measure import machine
from mttt.watch.models import catalogue
from mttt.watch.server import HOST, Server
from mttt.watch.service import STEPS, Service

MOST = 0.2
"""seconds that a trace may take after the first"""


def page_bench(*, pictures: int, say: Callable[[str], None] = lambda words: None) -> dict[str, Any]:
    """Seconds of the first trace, which compiles, and of those after it: other pictures, another η, the largest T."""
    models = catalogue((), examples=pictures)
    id, entry = next((id, each) for id, each in models.items() if each.trained_steps is not None)
    server = Server(Service(models), 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    names, trained = list(entry.pictures), {"steps": entry.trained_steps, "rate": None}

    def seconds(name: str, how: dict[str, Any]) -> float:
        body = json.dumps({"model": id, "input": {"example": name}, **how})
        connection = HTTPConnection(HOST, server.server_port)
        begin = time.perf_counter()
        connection.request("POST", "/api/trace", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        taken = time.perf_counter() - begin
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"the server answered {response.status}: {content.decode()[:200]}")
        return taken

    ways = {"as trained": trained, "another η": trained | {"rate": 1.0}, f"T = {STEPS}": trained | {"steps": STEPS}}
    rows = []
    try:
        for words, how in ways.items():
            say(f"{words}: compiling")
            first = seconds(names[0], how)
            say(f"{words}: {len(names) - 1} pictures")
            later = [seconds(name, how) for name in names[1:]]
            rows.append({"what": words, "first": first, "median": statistics.median(later), "slowest": max(later)})
    finally:
        server.shutdown()
        server.server_close()
    return {"model": id, "pictures": len(names), "rows": rows, "target": MOST, **machine()}
