"""The little of GitHub that our comments need: an API that keeps comments, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Comments:
    """What stands on pull requests, by number."""

    on: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    forbidden: bool = False
    url: str = ""

    def add(self, number: int, body: str, kind: str = "Bot") -> None:
        there = self.on.setdefault(number, [])
        there.append({"id": 100 * number + len(there), "user": {"type": kind}, "body": body})

    def bodies(self, number: int) -> list[str]:
        return [one["body"] for one in self.on.get(number, [])]

    def listed(self, path: str) -> list[dict[str, Any]]:
        number, query = path.split("/issues/")[1].split("/", maxsplit=1)[0], path.partition("?")[2]
        values = dict(pair.split("=") for pair in query.split("&"))
        first = (int(values["page"]) - 1) * int(values["per_page"])
        return self.on.get(int(number), [])[first : first + int(values["per_page"])]

    def change(self, path: str, body: str) -> None:
        id_ = int(path.rsplit("/", 1)[1])
        next(one for all_ in self.on.values() for one in all_ if one["id"] == id_)["body"] = body


def _handler(comments: Comments) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self, said: Any) -> None:
            text = json.dumps(said).encode()
            self.send_response(403 if comments.forbidden else 200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def _begin(self) -> str:
            assert self.headers["Authorization"] == "Bearer token-of-the-job"
            comments.asked.append(f"{self.command} {self.path}")
            size = int(self.headers.get("Content-Length") or 0)
            return str(json.loads(self.rfile.read(size))["body"]) if size else ""

        def do_GET(self) -> None:
            self._begin()
            self._answer(comments.listed(self.path))

        def do_POST(self) -> None:
            comments.add(int(self.path.split("/issues/")[1].split("/")[0]), self._begin())
            self._answer({})

        def do_PATCH(self) -> None:
            comments.change(self.path, self._begin())
            self._answer({})

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    return Handler


@contextmanager
def api() -> Iterator[Comments]:
    comments = Comments()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(comments))
    comments.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield comments
    finally:
        server.shutdown()
        server.server_close()
