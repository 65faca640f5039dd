"""One apply's exclusive use of its topologies in an account, with its lease and its entry in the journal.

Others see who runs it: the actor that a CI names, otherwise the user of this machine, never a secret. Steps also reach
streams through subjects: those they copy from, republish into, or share subjects with."""

from __future__ import annotations

import asyncio
import getpass
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field, replace
from datetime import UTC, datetime

from reconciler import __version__
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.plan.plan import Planned
from reconciler.journeys.plan.preflight import memory_warning, needs_memory
from reconciler.kinds import REGISTRY
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide
from reconciler.memory.lease import Free, Holder, lease_key, read_lease
from reconciler.memory.run_changes import changes_entry
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.ledger.records import BUCKET, Owned, decode_owned, encode_key
from reconciler.model.resource import Address, Config
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Call, Step
from reconciler.server.remember import journal, ledger
from reconciler.server.remember.capacity import make_room
from reconciler.server.remember.lease import LeaseTerms, Unavailable, lease_needed_error, leased, no_lease_warning
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import Unless, allow_always

ACTORS = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BITBUCKET_STEP_TRIGGERER_UUID", "CIRCLE_USERNAME", "BUILD_REQUESTEDFOR",
          "BUILDKITE_BUILD_CREATOR", "BUILD_USER_ID")  # fmt: skip


def holder(topology: str, target: Target, source: str | None, git_revision: str | None, tool: str) -> Holder:
    """Return what a lease tells others about this run, under a run id that is drawn for each call; `since` is in
    UTC."""
    return Holder(
        topology=topology,
        run=secrets.token_hex(8),
        user=_user_name(os.environ),
        account_user=target.user or "",
        host=socket.gethostname(),
        pid=os.getpid(),
        since=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        git_revision=git_revision or "",
        source=source or "",
        tool=tool,
    )


def _user_name(environment: Mapping[str, str]) -> str:
    if actor := next((name for variable in ACTORS if (name := environment.get(variable))), None):
        return actor
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"user {os.getuid()}"


def streams_touched(steps: Iterable[Step], snapshot: Snapshot) -> set[str]:
    """Return the names of live streams that these steps reach. A step that only removes subjects from its own stream
    reaches no other stream."""
    configs = [_config_of_step(step) for step in steps if step.call in (Call.STREAM_CREATE, Call.STREAM_UPDATE)]
    names = {name for config in configs for name in _origin_names(config)} & snapshot.streams.keys()
    subjects = {subject for config in configs for subject in _subjects(config)}
    return names | (_streams_storing(subjects, snapshot) if subjects else set())


def _config_of_step(step: Step) -> Config:
    return step.body if step.call is Call.STREAM_CREATE else step.set


def _origin_names(config: Config) -> Iterator[str]:
    """Origins in this account; those of another account are behind `external`."""
    for origin in (config.get("mirror"), *(config.get("sources") or ())):
        if isinstance(origin, Mapping) and not origin.get("external"):
            yield str(origin.get("name"))


def _subjects(config: Config) -> Iterator[str]:
    yield from config.get("subjects") or ()
    if isinstance(republish := config.get("republish"), Mapping):
        yield _subject_pattern(str(republish.get("dest", "")))


def _subject_pattern(mapping: str) -> str:
    """The subjects that a mapping may lead to: each placeholder stands for any token."""
    return ".".join("*" if token[:1] in ("{", "$") else token for token in mapping.split("."))


def _streams_storing(subjects: Iterable[str], snapshot: Snapshot) -> set[str]:
    index = SubjectIndex(
        (name, subject)
        for name, info in snapshot.streams.items()
        for subject in (info.get("config") or {}).get("subjects") or ()
    )
    return {name for subject in subjects for name, other in index.near(subject) if collide(subject, other)}


ShowProgress = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class ExclusiveAccess:
    """What a run may use while it lasts."""

    js: JetStream
    """Sends no write once the lease is lost."""
    may_write: Unless = allow_always
    waited: bool = False
    """Somebody else worked here while this run planned or waited, so its plan may be out of date."""
    remembers: bool = False
    """The account has a bucket for records."""
    number: int = 0
    """The number of this run in the journal; 0: the journal does not have it."""
    us: Holder | None = None
    warnings: list[Diagnostic] = field(default_factory=list)

    async def began(self, planned: Planned) -> None:
        """Write the run to the journal with what it is going to do, which is known once nobody else is at work."""
        if not (self.number and self.us):
            return
        changes = changes_entry(planned.plan, planned.snapshot, REGISTRY)
        if unwritten := await journal.begin(self.js, self.number, self.us, planned.plan, changes):
            self.warnings.append(
                unwritten
            )  # the end is written all the same: without it the run would count as cut off

    async def record_end(self, finished: Finished) -> Finished:
        """Add why the run ended early and the other warnings, and write the end to the journal, unless nothing may be
        written any more."""
        if not finished.is_complete:
            finished = replace(finished, stopped=finished.stopped or self.may_write())
        finished = replace(finished, warnings=tuple(self.warnings))
        with_left_alone = replace(finished, warnings=(*finished.left_alone, *finished.warnings))
        if (
            self.number
            and self.may_write() is None
            and (unwritten := await journal.end(self.js, self.number, with_left_alone))
        ):
            once = dict.fromkeys((*finished.warnings, unwritten))  # the beginning may have failed for the same reason
            return replace(finished, warnings=tuple(once))
        return finished


@asynccontextmanager
async def exclusive_access(
    planned: Planned, js: JetStream, *, stop: asyncio.Event, tell: ShowProgress, terms: LeaseTerms | None = None
) -> AsyncIterator[ExclusiveAccess]:
    """Wait for other runs of the same topologies, then take their leases. Losing a lease sets `stop`. Where the
    account's bucket cannot be used, the run has no lease and no journal."""
    plan, js = planned.plan, js.for_a_run()
    if not (plan.steps or plan.records):
        yield ExclusiveAccess(js=js)
        return
    if unusable := memory_warning(plan, planned.snapshot, js) or await ledger.ensure_bucket(js, planned.snapshot):
        if needs_memory(plan):
            raise CannotContinue(lease_needed_error(Unavailable(unusable.message)))
        yield ExclusiveAccess(js=js, warnings=[unusable])
        return
    await make_room(js, planned.snapshot)
    came_from = planned.options.came_from
    us = holder(plan.topology, plan.target, came_from.repository, came_from.revision, __version__)
    holders = [us, *(replace(us, topology=other) for other in other_topologies(plan, planned.snapshot))]
    async with leased(js, holders, terms=terms, tell=tell, stop=stop) as leases:
        if isinstance(leases, Unavailable):
            if needs_memory(plan) and not stop.is_set():
                raise CannotContinue(lease_needed_error(leases))
            yield ExclusiveAccess(js=js, remembers=True, warnings=[] if stop.is_set() else [no_lease_warning(leases)])
            return
        guarded = js.writing_unless(leases.why_not_now)
        undisturbed = is_undisturbed(planned.snapshot, [owner.topology for owner in holders], leases.number)
        yield ExclusiveAccess(
            js=guarded,
            may_write=leases.why_lost,
            waited=leases.waited or not undisturbed,
            remembers=True,
            number=leases.number,
            us=us,
        )


def is_undisturbed(snapshot: Snapshot, topologies: Iterable[str], number: int) -> bool:
    """Was nobody at work on these topologies when the account was read, nor since? Every run takes a lease, which is an
    entry of the bucket; so the run is undisturbed if its number is the very next revision."""
    entries = snapshot.entries.get(BUCKET, {})
    leases = (read_lease(entries.get(lease_key(topology)), topology) for topology in topologies)
    return all(isinstance(lease, Free) for lease in leases) and number == ledger.next_revision(snapshot)


def other_topologies(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Other topologies whose objects or subjects these steps touch: one owns the stream of a consumer or group, or a
    stream that these steps copy from or republish into."""
    entries = snapshot.entries.get(BUCKET, {})
    touched = {encode_key(address) for step in plan.steps for address in _addresses_touched(step)}
    touched |= {
        encode_key(address) for name in streams_touched(plan.steps, snapshot) for address in REGISTRY.backed_by(name)
    }
    touched |= {encode_key(address) for address in plan.records}  # a record that is taken over has no step
    records = (decode_owned(entries[key]) for key in touched if key in entries and not entries[key].deleted)
    return sorted({record.topology for record in records if isinstance(record, Owned)} - {plan.topology})


def _addresses_touched(step: Step) -> Iterator[Address]:
    yield Address.parse(step.address)
    if step.call not in (Call.ENTRY_PUT, Call.ENTRY_DELETE):
        yield from REGISTRY.backed_by(step.on[0])
