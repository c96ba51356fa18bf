"""A web server on loopback with scripted replies, for tests of adapters and for plugin authors' tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request that the server received."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """A reply. ``body`` is sent as JSON unless it is bytes or text; with ``cut``, the connection ends half-way
    through it."""

    body: object = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False

    def encoded(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


Route = Callable[[Asked], Answer]


class LoopbackServer:
    """Serves routes on 127.0.0.1 while it is entered; a route is the longest prefix of the path.

    Attributes:
        asked: all requests so far, in order of arrival.
        url: ``http://127.0.0.1:PORT``.
    """

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self.routes = dict(routes)
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _request_class(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> LoopbackServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        return [a.path for a in self.asked]

    def answer(self, asked: Asked) -> Answer:
        """Return the reply to one request; 404 without a route."""
        self.asked.append(asked)
        for prefix in sorted(self.routes, key=len, reverse=True):
            if asked.path.startswith(prefix):
                return self.routes[prefix](asked)
        return Answer({"error": f"no such path: {asked.path}"}, 404)


def _request_class(server: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = Asked(unquote(parts.path), dict(parse_qsl(parts.query, keep_blank_values=True)), dict(self.headers))
            answer = server.answer(asked)
            body = answer.encoded()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if answer.cut else body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: tests print what matters."""

    return Request
