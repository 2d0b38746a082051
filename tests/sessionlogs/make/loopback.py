"""Models on loopback for the programs of others: what they are sent is kept, what they answer is in
the script.
"""

import json
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from trimpoint_protocol.lenient import as_dict


class Model:
    """Counts requests and keeps their bodies. `input_tokens` is what the next answers report."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.input_tokens = 1000
        self._numbers = count(1)
        self._failures: Counter[str] = Counter()

    def fails(self, name: str, times: int) -> bool:
        """Returns whether the next answer is an error: so many of that name are."""
        self._failures[name] += 1
        return self._failures[name] <= times

    def number(self, body: dict[str, Any]) -> int:
        """Keeps a request and returns its number."""
        self.requests.append(body)
        return next(self._numbers)


class Handler(BaseHTTPRequestHandler):
    """A request for nothing that is known gets an empty object."""

    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def do_HEAD(self) -> None:
        """Answers."""
        self.answer({})

    def do_GET(self) -> None:
        """Answers."""
        self.answer({})

    def do_POST(self) -> None:
        """Answers what the subclass says."""
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body: Any = json.loads(data)
        except ValueError:
            body = {}
        self.post(as_dict(body))

    def post(self, body: dict[str, Any]) -> None:
        """Answers a request with a body."""
        raise NotImplementedError

    def answer(self, value: Any, kind: str = "application/json", status: int = 200) -> None:
        """Sends one whole answer."""
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def serving(handler: type[Handler]) -> Generator[tuple[Model, int]]:
    """Serves while the block lasts; yields the model and its port."""
    model = Model()
    bound = type("Bound", (handler,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model, server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
