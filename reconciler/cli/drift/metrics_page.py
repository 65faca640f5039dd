"""Metrics for others to fetch: a file that is never half written, and a page on a port of this machine."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from reconciler.cli.shared import common
from reconciler.documents.write.atomic import write_whole
from reconciler.journeys.drift.metrics import CONTENT_TYPE
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity


def write_metrics_file(path: Path, text: str) -> None:
    """Replace the file in one step, so that a reader gets the old file or the new one. A collector takes only names
    that end in `.prom`."""
    try:
        write_whole({path: text.encode()})
    except OSError as error:
        raise common.write_error(path, error) from None


_ADDRESS = re.compile(r"(\[(?P<six>[^\[\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})")


def parse_address(text: str) -> tuple[str, int]:
    """Parse `127.0.0.1:9099`, `:9099` or `[::1]:9099`."""
    address = _ADDRESS.fullmatch(text)
    if not address or int(address["port"]) > 65_535:
        raise common.Misused(f"--listen {text}: write HOST:PORT, for example 127.0.0.1:9099 or [::1]:9099.")
    return address["six"] or address["host"] or "127.0.0.1", int(address["port"])


@contextmanager
def serve_metrics(address: tuple[str, int], metrics: Callable[[], str]) -> Iterator[str]:
    """Serve a page of metrics while the block lasts, and yield its URL. Port 0 takes a free one."""

    class Page(BaseHTTPRequestHandler):
        timeout = 5.0
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_there = self.path.partition("?")[0] in ("/metrics", "/")
            body = metrics().encode() if is_there else b"Only /metrics is here.\n"
            self.send_response(200 if is_there else 404)
            self.send_header("Content-Type", CONTENT_TYPE if is_there else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Log nothing: a fetch of metrics is no news."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        daemon_threads = True

    try:
        server = Server(address, Page)
    except (OSError, TypeError) as error:  # the latter where no host can have the name
        raise CannotContinue(_listen_diagnostic(address, error)) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{_host_and_port(address[0], server.server_port)}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen_diagnostic(address: tuple[str, int], error: OSError | TypeError) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="DR112", name="cannot-listen",
        message=f"Cannot listen on {_host_and_port(*address)}: {(getattr(error, 'strerror', None) or str(error)).lower()}.",
        fix="Choose another port, or end the process that uses it.",
    )  # fmt: skip
