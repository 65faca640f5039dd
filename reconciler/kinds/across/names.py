"""Names that mean something else: a plain stream where a bucket or a group's queue lives."""

from __future__ import annotations

from functools import lru_cache

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address
from reconciler.core.rule import Finding, Found, Outcome, View, rule
from reconciler.kinds.primitives.subjects import name_problem

SECTIONS = {"KV_": ("kv_buckets", "$KV."), "OBJ_": ("object_stores", "$O.")}


@rule("XX541", "bucket-as-stream")
def bucket_as_stream(change: Change, _view: View) -> Found:
    """A plain stream has the name of a bucket's stream (`KV_…`, `OBJ_…`).

    Clients take it for a bucket and rely on fields it may lack.

    Instead: declare it under `kv_buckets` or `object_stores`, without the prefix.
    """
    if change.address.kind != "stream":
        return None
    for prefix, (section, subject) in SECTIONS.items():
        bucket = change.address.name.removeprefix(prefix)
        subjects = change.becomes("subjects") or []
        if bucket != change.address.name and any(s.startswith(f"{subject}{bucket}.") for s in subjects):
            return Finding(
                outcome=Outcome.REFUSED,
                message=f"a stream named {change.address.name} with these subjects is a bucket",
                fix=f"declare it under {section} as `{bucket}`",
            )
    return None


@rule("XX542", "impossible-name", on=(Action.CREATE,), err_code=(10017, 10052, 10102, 10103, 10127, 10128))
def impossible_name(change: Change, _view: View) -> Found:
    """A stream or consumer name that the server refuses: too long, or with a character subjects and files cannot hold.

    White space cannot even be asked for, and a stream with a dot is asked for in vain: nobody answers.

    Instead: choose a name of 1 to 255 bytes without spaces, `.`, `*`, `>`, `/` and `\\`.
    """
    if change.address.kind not in ("stream", "consumer"):
        return None
    if (problem := name_problem(change.address.name)) is None:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"`{change.address.name}` is no name for a {change.address.kind}: {problem}",
        fix="choose a name of 1 to 255 bytes without spaces, `.`, `*`, `>`, `/` and `\\`",
    )


@rule("XX543", "queue-as-stream", needs=("neighbours",))
def queue_as_stream(change: Change, view: View) -> Found:
    """A plain stream has the name of an elastic group's own work-queue stream.

    Editing it as a stream imports the source again or loses its backlog.

    Instead: choose another name; the group manages its stream.
    """
    if change.address.kind != "stream":
        return None
    group = _queues(view).get(change.address.name)
    if group is None:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        message=f"stream {change.address.name} is the work-queue stream of {group}",
        fix="choose another name; the group manages that stream",
    )


@lru_cache(maxsize=4)
def _queues(view: View) -> dict[str, Address]:
    """Names of the groups' own streams; computed once per view."""
    return {"-".join(a.names): a for a in (*view.live, *view.desired) if a.kind == "elastic_group"}


RULES = (bucket_as_stream, impossible_name, queue_as_stream)
