"""A case: what is live before, and the one thing that is wanted then; as data, so that it can be shrunk and printed.

`@` in names and subjects stands for the case's own prefix, so that hundreds of cases share an account.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.documents.write.dump import dump
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address
from reconciler.model.written import in_units

Body = Mapping[str, Any]
SHARED = "shared"
"""The room of most cases: one account for many of them at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A stream (one name) or a consumer (stream and name) that exists before, made over the raw API."""

    on: tuple[str, ...]
    body: Body
    messages: tuple[str, ...] = ()
    """Subjects of messages published to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One transition: `body` is what the file says about the resource at `at`."""

    at: Address
    body: Body
    live: tuple[Live, ...] = ()
    edits: bool = False
    """`body` is laid over what is live there, as a file does that was exported before; `None` takes a field away."""
    removes: bool = False
    room: str = SHARED
    """Kind of account it needs: `shared`, `alone`, or one with limits (see `rooms`)."""
    listens: tuple[str, ...] = ()
    """Subjects somebody subscribes to meanwhile."""
    row: str = ""
    """The row of server-rules it was made for."""
    meant: str = ""
    """What that row says of it: refused or allowed."""

    def named(self, prefix: str) -> Case:
        """The same under names of its own."""
        return replace(
            self,
            at=Address(self.at.kind, tuple(name.replace("@", prefix) for name in self.at.names)),
            body=_renamed(self.body, prefix),
            listens=tuple(subject.replace("@", prefix) for subject in self.listens),
            live=tuple(
                Live(
                    on=tuple(name.replace("@", prefix) for name in one.on),
                    body=_renamed(one.body, prefix),
                    messages=tuple(subject.replace("@", prefix) for subject in one.messages),
                )
                for one in self.live
            ),
        )

    @property
    def streams(self) -> set[str]:
        """Every stream the case knows of."""
        own = {"kv_bucket": "KV_", "object_store": "OBJ_"}.get(self.at.kind, "") + self.at.stream
        queue = "-".join(self.at.names)
        return {own, queue, *(one.on[0] for one in self.live)}

    def __str__(self) -> str:
        lines = [
            f"live {'/'.join(o.on)}: {json.dumps(o.body)}" + (f" + {o.messages}" * bool(o.messages)) for o in self.live
        ]
        lines += [f"somebody listens on {', '.join(self.listens)}"] if self.listens else []
        what = "removes" if self.removes else "edits" if self.edits else "says"
        return "\n".join(
            [*lines, f"{what} {self.at}: {json.dumps(self.body)}" + f" (room {self.room})" * (self.room != SHARED)]
        )


def _renamed(body: Body, prefix: str) -> dict[str, Any]:
    renamed: dict[str, Any] = json.loads(json.dumps(body).replace("@", prefix))
    return renamed


MAY_GO = {"guards": [{"kind": kind.name, "upto": 1, "reason": "drawn"} for kind in REGISTRY.kinds]}


def as_file(case: Case, body: Body) -> str:
    """The topology file that wants `body`, or the removal."""
    if case.removes:
        return dump("drawn", {**MAY_GO, "removed": [{"address": str(case.at), "reason": "drawn"}]})
    kind = REGISTRY.of(case.at)
    sections: dict[str, Any] = {}
    home = sections
    if kind.place.within:
        home = sections.setdefault("streams", {}).setdefault(case.at.stream, {"external": True})
    said = {name: in_units(value, kind.fields[name]) if name in kind.fields else value for name, value in body.items()}
    home[kind.place.section] = {case.at.name: said}
    return dump("drawn", sections)
