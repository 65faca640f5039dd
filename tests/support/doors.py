"""Doors to a server that open when something has happened: what is done at once goes through, what waits for another does
not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(slots=True)
class Door:
    """Leads clients to a server, once `opens` lets them."""

    to: int
    opens: threading.Event
    comes: Callable[[], None] = lambda: None
    left: threading.Event = field(default_factory=threading.Event)
    """Its first client has gone."""
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    clients: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.clients.append(client)
                self.comes()
                threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        self.opens.wait()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.to)) as server:
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()
        self.left.set()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            sink.sendall(chunk)
        sink.shutdown(socket.SHUT_WR)


@contextmanager
def _open(*doors: Door) -> Iterator[None]:
    for door in doors:
        threading.Thread(target=door.serve, daemon=True).start()
    try:
        yield
    finally:
        for door in doors:
            door.opens.set()
            for one in (door.listener, *door.clients):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()


@contextmanager
def meeting(port: int, many: int) -> Iterator[list[str]]:
    """Give as many doors that open when a client waits at each of them."""
    opens, seen = threading.Event(), set[int]()

    def comes(number: int) -> Callable[[], None]:
        def came() -> None:
            seen.add(number)
            if len(seen) == many:
                opens.set()

        return came

    doors = [Door(port, opens, comes(number)) for number in range(many)]
    with _open(*doors):
        yield [door.url for door in doors]


@contextmanager
def crowd(port: int, many: int) -> Iterator[str]:
    """Give one door that opens when as many clients have come to it."""
    opens, came = threading.Event(), list[None]()

    def comes() -> None:
        came.append(None)
        if len(came) == many:
            opens.set()

    door = Door(port, opens, comes)
    with _open(door):
        yield door.url


@contextmanager
def one_after_the_other(port: int) -> Iterator[tuple[str, str]]:
    """Give two doors: the first opens when the client of the second has gone."""
    second = Door(port, threading.Event())
    second.opens.set()
    first = Door(port, second.left)
    with _open(first, second):
        yield first.url, second.url
