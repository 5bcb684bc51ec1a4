"""A TCP relay in front of PostgreSQL whose connections can be cut, or go silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self


class _Link:
    """One connection: two pumps, which stand still while it is silent."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.flows = threading.Event()
        self.flows.set()
        self._ends = (client, server)
        for source, target in (self._ends, self._ends[::-1]):
            threading.Thread(
                target=self._pump, args=(source, target), daemon=True
            ).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                target.sendall(data)
        self.cut()

    def cut(self) -> None:
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.flows.set()


class Relay:
    """Passes TCP connections to `port` on to the server's socket.

    `silence`: nothing comes through the connections there are any more, though both
    ends are still acknowledged: half open. With `is_total`, nor through new ones.
    `cut`: all of them are closed. `restore`: what was silenced is cut, new ones work.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._links: list[_Link] = []
        self._lock = threading.Lock()
        self._is_deaf = False
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._server)
                except OSError:
                    client.close()
                    server.close()
                    continue
                with self._lock:
                    link = _Link(client, server)
                    if self._is_deaf:
                        link.flows.clear()
                    self._links.append(link)

    def silence(self, *, is_total: bool = False) -> None:
        with self._lock:
            self._is_deaf = is_total
            for link in self._links:
                link.flows.clear()

    def cut(self) -> None:
        with self._lock:
            for link in self._links:
                link.cut()
            self._links.clear()

    def restore(self) -> None:
        self._is_deaf = False
        self.cut()
