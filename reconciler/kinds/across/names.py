"""Names that mean something else: a plain stream under the name of a bucket or of a group's queue."""

from __future__ import annotations

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import elastic_groups
from reconciler.kinds.buckets.bucket import RESERVED_STREAMS
from reconciler.kinds.subjects.subjects import name_problem
from reconciler.model.resource import Address, Resource

ADOPTING = (Action.CREATE, Action.UPDATE, Action.ADOPT)
"""Actions that make the resource this topology's own under this name."""


@rule("XX541", "bucket-as-stream", on=(*ADOPTING, Action.REPLACE, Action.KEEP, Action.DELETE))
def bucket_as_stream(change: Change, view: View) -> Found:
    """A declared stream is a bucket by its name (`KV_…`, `OBJ_…`) and its settings.

    Clients treat it as a bucket, and only `kv_buckets` or `object_stores` judges it as one. A bucket that these cannot
    describe stays a stream: one with more subjects or other limits than any client gives it. The buckets that hold
    group records, and reconciler's own bucket, belong to no topology: deleting one would delete the groups, or the
    ownership records, of every topology.

    Instead: declare it under `kv_buckets` or `object_stores`, without the prefix.
    """
    if change.address.kind != "stream" or (change.desired and change.desired.external):
        return None
    if change.address.name in RESERVED_STREAMS:
        return _reserved_name_refusal(change)
    if change.desired is None or change.action not in ADOPTING or change.only_renews:
        return None
    buckets = (address for address in view.backed_by(change.address.name) if address.kind != "stream")
    return next((_bucket_finding(change, change.desired, bucket, view) for bucket in buckets), None)


def _reserved_name_refusal(change: Change) -> Finding:
    bucket = change.address.name.removeprefix("KV_")
    forget = f"; write forget: [{change.address}], since it was applied before" if change.owned else ""
    return refusal(
        "",
        f"this is bucket {bucket}, which all topologies of the account share and none may own",
        f"remove it from the file{forget}",
    )


def _bucket_finding(change: Change, stream: Resource, bucket: Address, view: View) -> Finding | None:
    kind = view.kinds[bucket.kind]
    odd = kind.deviations(bucket, stream.config, view.snapshot)
    if not odd:
        return refusal(
            "",
            f"a stream named {stream.address.name} with these settings is a bucket",
            f"declare it under {kind.section} as `{bucket.name}`",
        )
    subjects = kind.as_stream(Resource(address=bucket, config={})).get("subjects") or ()
    if change.action is not Action.CREATE or not set(subjects) & set(stream.config.get("subjects") or ()):
        return None
    return Finding(
        outcome=Outcome.WARNS,
        message=f"clients treat stream {stream.address.name} as a bucket, although it is not made like one: {', '.join(sorted(odd))}",
        fix=f"declare it under {kind.section} as `{bucket.name}`, unless it has to be like this",
    )


@rule(
    "XX542", "impossible-name", on=(Action.CREATE,), err_code=(10012, 10017, 10049, 10052, 10102, 10103, 10127, 10128)
)
def impossible_name(change: Change, _view: View) -> Found:
    """The server refuses the name of a stream or consumer: it is too long, or has a character that subjects and files
    cannot hold.

    A client cannot even ask for a name with white space, and nobody answers a request for a stream with a dot in its
    name. No file of the server's store can have NUL in its name.

    Servers take other characters that nobody sees, such as control characters and marks that turn the direction of
    writing. Then this is a warning: two names may look the same, and a terminal obeys some of these characters.

    Instead: choose a name of 1 to 255 bytes without spaces, `.`, `*`, `>`, `/`, `\\` and characters that nobody sees.
    """
    if change.address.kind not in ("stream", "consumer"):
        return None
    name, kind = change.address.name, change.address.kind
    if problem := name_problem(name):
        fix = "choose a name of 1 to 255 bytes without spaces, `.`, `*`, `>`, `/`, `\\` and characters that nobody sees"
        return refusal("", f"`{name}` is not a valid {kind} name: {problem}", fix)
    if unseen := [f"U+{ord(char):04X}" for char in dict.fromkeys(name) if not char.isprintable()]:
        return Finding(
            outcome=Outcome.WARNS,
            message=f"`{name}` contains {' and '.join(unseen)}, which nobody sees, and the server takes the name as it is",
            fix="choose a name of characters that everybody sees",
        )
    return None


@rule("XX543", "queue-as-stream", on=ADOPTING, needs=("neighbours",))
def queue_as_stream(change: Change, view: View) -> Found:
    """A plain stream has the name of an elastic group's own work-queue stream.

    If it is edited as a stream, it imports the source again or loses its backlog.

    Instead: choose another name; the group manages its stream.
    """
    if change.address.kind != "stream" or change.only_renews:
        return None
    group = elastic_groups(view).get(change.address.name)
    if group is None:
        return None
    return refusal(
        "",
        f"stream {change.address.name} is the work-queue stream of {group}",
        "choose another name; the group manages that stream",
    )


RULES = (bucket_as_stream, impossible_name, queue_as_stream)
