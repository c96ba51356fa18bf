"""Servers on loopback that answer with any bytes, and may never finish."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable


class RawServer:
    """Serves each connection in a thread of its own: reads a request, and sends what ``answer`` gives for its bytes.

    Args:
        answer: request -> reply.
        trickle: after the reply, a byte each so many seconds until the server is closed; None ends the connection.
    """

    def __init__(self, answer: Callable[[bytes], bytes], trickle: float | None = None) -> None:
        self.asked = threading.Event()
        self._answer = answer
        self._trickle = trickle
        self._ended = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.sendall(self._answer(_whole_request(connection)))
                self.asked.set()
                while self._trickle is not None and not self._ended.wait(self._trickle):
                    connection.sendall(b"a")
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                return

    def close(self) -> None:
        self._ended.set()
        self._socket.close()


def _whole_request(connection: socket.socket) -> bytes:
    request = connection.recv(1 << 20)
    head, _, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    missing = int(length[1]) - len(body) if length else 0
    while missing > 0 and (more := connection.recv(missing)):
        request, missing = request + more, missing - len(more)
    return request
