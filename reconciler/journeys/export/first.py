"""The first file of a topology: what an account holds and nobody owns, or a small one that shows what can be said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from reconciler.changes.kind import Registry
from reconciler.documents.write.atomic import file_names
from reconciler.documents.write.dump import dump, flow_text, scalar_text
from reconciler.journeys.export.export import ExportedAccount, Layout, account, files_apart
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.report.words.values import counted
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFiles:
    """What is written, and what it was made of."""

    files: Mapping[str, str]
    """By path inside the folder; the first one names the topology."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many objects of each kind are in them; empty for a starter."""
    owners: Mapping[str, int] = field(default_factory=dict)
    """How many objects were left to each of their owners."""
    left_out: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is taken of an account, and how it is laid out."""

    topology: str
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    layout: Layout = Layout.OWNER


async def first_files(js: JetStream, part: Part) -> FirstFiles:
    """What the account holds and nobody owns; of an empty one a starter. Raises CannotContinue where there is nothing to take."""
    return first(await observe(js), REGISTRY, part)


def first(snapshot: Snapshot, registry: Registry, part: Part) -> FirstFiles:
    """The same of an account that was read."""
    held = account(snapshot, registry, part.only, part.exclude)
    if problem := _obstacle_error(snapshot, held, part):
        raise problem
    if not (held.writer.live or part.only or part.exclude):
        return starter(part.topology, _expected_place(snapshot.target))
    owners = Counter(held.records[address].topology for address in held.chosen if address in held.records)
    owned = {str(address) for address in held.records}
    free = [address for address in held.chosen if address not in held.records]
    if not free:
        raise _nothing_free(held, owners)
    return FirstFiles(
        files=_files(held.writer.sections(set(free).__contains__), snapshot.target, part),
        counts=Counter(address.kind for address in free),
        owners=owners,
        left_out=(
            *_unknown_owners(snapshot),
            *(diagnostic for diagnostic in held.left_out if diagnostic.address not in owned),
        ),
    )


def _files(sections: Mapping[str, Json], target: Target, part: Part) -> dict[str, str]:
    main, head = main_file_name(part.topology), {"expect": _expected_place(target)}
    if part.layout is Layout.OWNER:
        return {main: dump(part.topology, {**head, **sections})}
    below = {path: dump(part.topology, inside) for path, inside in files_apart(sections).items()}
    return {main: dump(part.topology, head), **below}


def main_file_name(topology: str) -> str:
    """The name of the file that says the topology's name."""
    return f"{file_names([topology])[topology]}.yaml"


def _expected_place(target: Target) -> dict[str, Json]:
    """A cluster has a name that no other place answers by; a server of its own has none, and may be anybody's."""
    if not target.cluster:
        return {}
    domain = {"domain": target.domain} if target.domain else {}
    return {"cluster": target.cluster, **domain, "min_server": f"{target.version.major}.{target.version.minor}"}


# -- what keeps a topology from beginning here


def _obstacle_error(snapshot: Snapshot, held: ExportedAccount, part: Part) -> CannotContinue | None:
    """What is another's must not be written as if it were free, nor an unread account be taken for an empty one."""
    memory = remembered.unreadable_warning(snapshot)
    if memory and memory.is_error:
        return CannotContinue(memory)
    if not held.chosen and (wrong := [diagnostic for diagnostic in held.left_out if diagnostic.is_error]):
        return CannotContinue(*wrong)
    own = sum(record.topology == part.topology for record in held.records.values())
    return _topology_owns_objects(part.topology, own) if own else None


def _topology_owns_objects(topology: str, number: int) -> CannotContinue:
    message = f"Topology `{topology}` is at work in this account already: it owns {counted(number, 'object')} here. Nothing was written."
    fix = "Write its files again with `reconciler export --into DIR`, or begin another one: --topology NAME."
    return CannotContinue.because("XX925", "topology-at-work", message, fix=fix)


def _nothing_free(held: ExportedAccount, owners: Mapping[str, int]) -> CannotContinue:
    theirs = ", ".join(f"{number:_} of {owner}" for owner, number in sorted(owners.items()))
    owned = f"Everything that is selected here has its owner already ({theirs})"
    what = owned if owners else "The account holds no object that is selected and fits in a file"
    return CannotContinue(
        *held.left_out,
        Diagnostic(
            severity=Severity.ERROR, code="XX926", name="nothing-to-begin-with",
            message=f"{what}. Nothing was written.",
            fix="Begin with a file of your own: --starter; or write theirs: `reconciler export --into DIR`.",
        ),
    )  # fmt: skip


def _unknown_owners(snapshot: Snapshot) -> Iterator[Diagnostic]:
    if (why := snapshot.why_bucket_unknown(BUCKET)) is not None:
        yield Diagnostic(
            severity=Severity.WARNING, code="LE105", name="ledger-unreadable",
            message=f"bucket {BUCKET} could not be read ({why}), so what others own may stand in the file",
            fix="let this user read it: reconciler permissions plan PATHS",
        )  # fmt: skip


# -- from nothing

_STARTER = """\
# Keys are the server's own names, as `nats stream info EVENTS --json` prints them. What is left out has the server's
# default. Values take units, or the raw number: 30s, 7d, 20GiB, 1_000_000.

reconciler: 1                      # version of this format
{topology}# the owner's name: what it applies is its own
{expect}
streams:
  EVENTS:
    subjects: [events.>]
    max_age: 7d
    max_bytes: 256MiB
    # num_replicas: 3              # in a cluster
    # protect: true                # never deleted or replaced
    consumers:
      worker:                      # durable: it continues where it stopped
        ack_policy: explicit
        ack_wait: 30s
        max_deliver: 5
        # filter_subject: events.orders.>

# kv_buckets:
#   CONFIG: {{history: 5}}
# object_stores:
#   INVOICES: {{ttl: 30d}}

# Taking an object out of this file deletes nothing. A deletion is written down, so that a reviewer sees it:
# removed:
#   - {{address: stream/OLD, reason: "moved to EVENTS in May"}}
"""
_OPTION = "# expect: {cluster: prod-eu}       # work nowhere else\n"


def starter(topology: str, expect: Mapping[str, Json] | None = None) -> FirstFiles:
    """A stream and a consumer, with what else there is to say in comments."""
    expect_line = f"expect: {flow_text(expect)}\n" if expect else _OPTION
    text = _STARTER.format(topology=f"topology: {scalar_text(topology)}".ljust(34) + " ", expect=expect_line)
    return FirstFiles(files={main_file_name(topology): text})
