"""Reads topologies from texts and tells what was said about them, one line for each problem."""

from __future__ import annotations

from pathlib import Path

from reconciler.changes.kind import Registry
from reconciler.documents.read.load import Loaded, load
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.topology import Topology
from tests.documents.kinds import REGISTRY

HEAD = "reconciler: 1\ntopology: orders\n"
STREAM = HEAD + "streams:\n  ORDERS:\n"
"""What is added to this stands in lines 5 and following, by convention indented by 4."""


class Folder:
    """A folder for the files of one test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def load(self, content: str | bytes, registry: Registry = REGISTRY) -> Loaded:
        return load([self.write("t.yaml", content)], registry)

    def load_all(self, **contents: str) -> Loaded:
        for name, content in contents.items():
            self.write(f"{name}.yaml", content)
        return load([self.path], REGISTRY)

    def topology(self, content: str | bytes) -> Topology:
        loaded = self.load(content)
        assert loaded.topology is not None, self.lines(loaded)
        return loaded.topology

    def problems(self, content: str | bytes) -> list[str]:
        """`5:14 ST502 max_age …` for every problem, in reading order."""
        return self.lines(self.load(content))

    def in_stream(self, *lines: str) -> list[str]:
        """Problems of a stream that holds these lines; the first of them is line 5 and begins at column 5."""
        return self.problems(STREAM + "".join(f"    {line}\n" for line in lines))

    def lines(self, loaded: Loaded) -> list[str]:
        return [self.line(problem) for problem in loaded.diagnostics]

    def line(self, problem: Diagnostic) -> str:
        place = f"{problem.span.line}:{problem.span.column} " if problem.span else ""
        return f"{place}{problem.code} {problem.message}".replace(f"{self.path}/", "")
