"""A proxy in front of PostgreSQL that loses the answer to a chosen statement."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

READY_FOR_QUERY = b"Z\x00\x00\x00\x05"


class CuttingProxy:
    """Listens in `folder` as PostgreSQL would, and passes on what it hears.

    `cut(text)`: the connections are closed in place of the answer to the next statement
    that holds the text, which is carried out, or never arrives.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self._server = server
        self._text: bytes | None = None
        self._is_carried_out = True
        self.cut_count = 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(folder / ".s.PGSQL.5432"))
        self._socket.listen()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def cut(self, text: str, *, is_carried_out: bool = True) -> None:
        self._is_carried_out = is_carried_out
        self._text = text.encode()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                is_cut = threading.Event()
                for pump, source, target in (
                    (self._ask, client, server),
                    (self._answer, server, client),
                ):
                    threading.Thread(
                        target=pump, args=(source, target, is_cut), daemon=True
                    ).start()

    def _ask(
        self, client: socket.socket, server: socket.socket, is_cut: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self._text and self._text in data:
                    self._text = None
                    is_cut.set()
                    if not self._is_carried_out:
                        self.cut_count += 1
                        client.shutdown(socket.SHUT_RDWR)
                        break
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(
        self, server: socket.socket, client: socket.socket, is_cut: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if not is_cut.is_set():
                    client.sendall(data)
                elif READY_FOR_QUERY in data[-6:]:
                    self.cut_count += 1
                    client.shutdown(socket.SHUT_RDWR)
                    server.shutdown(socket.SHUT_RDWR)
            client.shutdown(socket.SHUT_WR)
