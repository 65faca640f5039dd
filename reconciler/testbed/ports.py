"""Ports that stay reserved before a server starts on them and while it is stopped."""

from __future__ import annotations

import socket
import sys


class ReservedPort:
    """A loopback port chosen by the OS and kept by a bound socket that never listens: on Linux a server (they all set
    SO_REUSEADDR) can listen there all the same, while nobody else gets it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self.release()  # elsewhere the bound socket would be in the server's way

    def release(self) -> None:
        """Release the port: from now on the OS may give it to anybody."""
        self._socket.close()
