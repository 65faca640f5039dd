"""Compares two states of the files without an account: what would applying the newer one after the older one do?

The older state is an imagined server on which it was applied. From there on this is an ordinary plan, judged by the
rules that need no account, for the oldest server the files are written for and for the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import date

from reconciler.changes.change import Action, Consequence
from reconciler.changes.consent import bulk_consents
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.renaming import moved_section_text
from reconciler.changes.view import View
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide, unanswered_questions
from reconciler.engine.judging import verdicts_of_all
from reconciler.engine.offline import OfflineJudge, first_paragraph, without_server_data
from reconciler.journeys.plan.validate import imagined_target, softened_unless_live, tolerated_verdicts, versions
from reconciler.journeys.review.loosened_policies import Loosened, loosened_policies
from reconciler.journeys.review.other_topologies import assumed_owners
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.words import listed
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.records import BUCKET, Owned
from reconciler.model.resource import Address, Config, Declared, is_over
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Expect, Topology
from reconciler.model.wire.questions import Unanswered
from reconciler.model.wire.snapshot import Entry, Scope, Snapshot
from reconciler.model.wire.version import Version
from reconciler.report.words.values import counted
from reconciler.testbed import imagined

NOBODY_ASKED = "no server was asked"
WRONG_OWNER = "XX113"
"""The rule about used streams that somebody else owns than the file says."""

RULES = {rule.code: rule for rule in REGISTRY.rules()}
ABOUT_IT = frozenset({"live", "facts"})
"""The needs of rules that look at the object itself; other rules look at the limits of the account."""
Resources = Mapping[Address, Declared]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What the changes of one topology amount to."""

    name: str
    plan: Plan
    """The plan as the newest server sees it, with the objections of older ones."""
    versions: tuple[Version, ...]
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """The codes of rules that need an account, and the number of changes that each would have judged."""
    head: Topology | None = None
    """None: the files are gone."""
    environment: str = ""
    """The environment that the files were read for."""
    loosened: tuple[Loosened, ...] = ()
    """Policies that forbid less than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One topology before and after."""

    base: Topology | None
    head: Topology | None
    others: tuple[Topology, ...] = ()
    """Topologies of the older state that declared what this one declares now."""
    readers: tuple[Topology, ...] = ()
    """What other topologies of the same files read of its streams."""
    owners: tuple[Topology, ...] = ()
    """What other topologies of the same files declare of the streams that it uses."""
    recorded: Mapping[str, Entry] | None = None
    """What the ledger of an account knows of others that read its streams, or own those that it uses; None: not asked."""

    @property
    def name(self) -> str:
        """The topology's name; where the files are gone, the name it had."""
        return (self.head or self.base or Topology(name="")).name

    @property
    def environment(self) -> str:
        """The environment that it was read for."""
        return (self.head or self.base or Topology(name="")).environment

    @property
    def states(self) -> list[Topology]:
        """The states that there are, the older one first."""
        return [state for state in (self.base, self.head) if state]


def review(pair: Pair, today: date, server: Version | None = None) -> Review:
    """Review a topology for every version that counts. The report shows the newest."""
    head = pair.head or Topology(name=pair.name)
    versions_judged = versions(head if pair.head else pair.base or head, server)
    looked = [_plan_on_version(version, pair, head, today) for version in versions_judged]
    plan, left = looked[-1]
    for older, more in looked[:-1]:
        plan, left = _with_objections(plan, older), {**more, **left}
    diagnostics = (*plan.diagnostics, *_diagnostics_of_pair(pair, today))
    return Review(
        name=pair.name, plan=replace(plan, diagnostics=diagnostics), versions=tuple(versions_judged), unjudged=left, head=pair.head,
        environment=pair.environment, loosened=tuple(_loosened(pair, versions_judged[-1], today)),
    )  # fmt: skip


def _loosened(pair: Pair, version: Version, today: date) -> Iterator[Loosened]:
    if pair.base and pair.head:
        head = pair.head
        yield from loosened_policies(
            pair.base, head, lambda: _view(head, _snapshot_on_version(version, pair, head)[0], RunOptions(today=today))
        )


def _plan_on_version(version: Version, pair: Pair, head: Topology, today: date) -> tuple[Plan, dict[str, int]]:
    snapshot, assumed = _snapshot_on_version(version, pair, head)
    plan, left = _plan_offline(head, snapshot, today)
    return plan, {**left, **({WRONG_OWNER: len(assumed)} if assumed else {})}


def _snapshot_on_version(version: Version, pair: Pair, head: Topology) -> tuple[Snapshot, Mapping[Address, Owned]]:
    """Return the imagined account, with the owners in it that nobody knows."""
    bases = [*([pair.base] if pair.base else []), *pair.others]
    topologies = [*pair.owners, *bases, *pair.readers]
    snapshot = as_applied(topologies, head if pair.head else pair.base or head, version)
    assumed = assumed_owners(head, pair.owners) if pair.recorded is None else {}
    written = imagined.snapshot_with_records(snapshot, assumed).entries.get(BUCKET, {})
    snapshot = replace(
        snapshot,
        entries={**snapshot.entries, BUCKET: {**(pair.recorded or {}), **written}},
        unknown=dict.fromkeys(map(Scope.consumers, _group_streams(topologies)), NOBODY_ASKED),
    )
    return snapshot, assumed


def as_applied(bases: Sequence[Topology], head: Topology, version: Version) -> Snapshot:
    """Imagine the account after these topologies were applied, where `head` is to be applied."""
    return imagined.snapshot_of_topologies(
        bases, imagined_target(head, version), dict(_undeclared_streams([*bases, head]))
    )


def _group_streams(topologies: Iterable[Topology]) -> Iterator[str]:
    """Streams of groups. Their members create the consumers, so these are unknown."""
    for topology in topologies:
        for declared in topology.resources:
            kind = REGISTRY.of(declared.address)
            if kind.backing is None and (queue := kind.stream(declared.address)):
                yield queue


def _undeclared_streams(topologies: Iterable[Topology]) -> Iterator[tuple[str, Config]]:
    """Streams that others manage, as these files expect them; what the files make themselves is none of them."""
    resources = [declared for topology in topologies for declared in topology.resources]
    declared_streams = {
        REGISTRY.of(resource.address).stream(resource.address) for resource in resources if not resource.external
    }
    for declared in resources:
        if declared.address.kind == "stream" and declared.external and declared.address.stream not in declared_streams:
            config = declared.spec.model_dump(mode="json", include={"subjects", "retention"}, exclude_unset=True)
            yield declared.address.stream, config


def _view(head: Topology, snapshot: Snapshot, options: RunOptions) -> View:
    return compare(head, snapshot, remembered.read_memory(snapshot, REGISTRY), REGISTRY, options)


def _plan_offline(head: Topology, snapshot: Snapshot, today: date) -> tuple[Plan, dict[str, int]]:
    options = RunOptions(today=today)
    view = _view(head, snapshot, options)
    view = replace(view, facts=dict.fromkeys(unanswered_questions(view, REGISTRY), Unanswered(NOBODY_ASKED)))
    watched = OfflineJudge(view)
    verdicts_by_address = verdicts_of_all(without_server_data(view), REGISTRY, judge=watched)
    older = tolerated_verdicts(head, snapshot.target.version, REGISTRY)
    for address, verdicts in verdicts_by_address.items():
        if view.changes[address].action is Action.CREATE:
            verdicts_by_address[address] = [softened_unless_live(verdict, older) for verdict in verdicts]
    plan = decide(view, REGISTRY, options, verdicts_by_address, watched.left)
    changes = tuple(_as_far_as_known(change, watched, today) for change in plan.changes if not _only_renews(change))
    return replace(plan, changes=changes), {code: len(all_) for code, all_ in sorted(watched.left.items())}


def _only_renews(change: PlannedChange) -> bool:
    """The object is owned and as declared: the plan only renews its record, which no reviewer needs to know, unless a
    rule or a policy says something of it."""
    return change.action is Action.ADOPT and not (change.adopts or change.reason or change.verdicts)


def _as_far_as_known(change: PlannedChange, watched: OfflineJudge, today: date) -> PlannedChange:
    """Leave out where a replacement would resume, and what it would redeliver: nobody measured that."""
    consequences = () if change.action is Action.REPLACE else change.consequences
    address = Address.parse(change.address)
    left = [code for code, addresses in sorted(watched.left.items()) if address in addresses]
    silent = [code for code in left if RULES[code].needs & ABOUT_IT]
    more = [*map(_not_judged, silent), *_consents(watched.calm, address, silent, today)]
    verdicts = tuple(
        watched.reworded_verdict(verdict, RULES[verdict.code].doc) if verdict.code in RULES else verdict
        for verdict in change.verdicts
    )
    return replace(change, consequences=(*consequences, *more), verdicts=verdicts)


def _not_judged(code: str) -> Consequence:
    rule = RULES[code]
    return Consequence(
        message=f"Not judged offline: {code} {rule.name}, “{first_paragraph(rule.doc).removesuffix('.')}”", code=code
    )


def _consents(view: View, address: Address, codes: Sequence[str], today: date) -> Iterator[Consequence]:
    """What the files allow here already: a plan may ask for nothing more."""
    terms = view.changes[address].terms
    for consent in (*terms.allow, *bulk_consents(address, terms.labels, view.allow)):
        if consent.code in codes and not is_over(consent, today):
            value = "" if consent.to is None else f" to {consent.to}"
            yield Consequence(
                message=f"The files consent to {consent.code}{value}: {consent.reason}", code=consent.code
            )


def _with_objections(plan: Plan, older: Plan) -> Plan:
    """Return the newest version's plan, with what the older one objects to."""
    before = {change.address: change for change in older.changes}
    changes = [_with_older_verdicts(change, before.pop(change.address, None)) for change in plan.changes]
    return replace(plan, changes=tuple(sorted((*changes, *before.values()), key=lambda change: change.address)))


def _with_older_verdicts(change: PlannedChange, older: PlannedChange | None) -> PlannedChange:
    present = {(verdict.code, verdict.path, str(verdict.to)) for verdict in change.verdicts}
    more = [
        verdict
        for verdict in (older.verdicts if older else ())
        if (verdict.code, verdict.path, str(verdict.to)) not in present
    ]
    return replace(change, verdicts=(*change.verdicts, *more)) if more else change


def _diagnostics_of_pair(pair: Pair, today: date) -> Iterator[Diagnostic]:
    """What no plan shows, because nothing live would change."""
    if pair.base and pair.head:
        before = {resource.address: resource for resource in pair.base.resources}
        after = {resource.address: resource for resource in pair.head.resources}
        yield from _led_elsewhere(pair.base, pair.head)
        yield from _unseen_matches(pair.base, pair.head, today)
        yield from _dropped_protections(before, after)
        yield from _left_to_others(before, after)
        yield from _likely_renames(before, after, {(resource.origin, resource.address) for resource in pair.head.moved})


def _led_elsewhere(base: Topology, head: Topology) -> Iterator[Diagnostic]:
    """The environment leads to another place, or other places are expected."""
    if head.environment and base.environment and base.leads_to != head.leads_to:
        yield _elsewhere(
            f"environment {head.environment} leads to {head.leads_to}, and until now to {base.leads_to}", head, ""
        )
    before, after = (topology.expect.model_dump(exclude_none=True) for topology in (base, head))
    for name in (
        setting
        for setting in Expect.model_fields
        if setting != "min_server" and before.get(setting) != after.get(setting)
    ):
        now, then = after.get(name, "any"), before.get(name, "any")
        yield _elsewhere(f"the {name} that is expected is {now}, and until now {then}", head, f"expect.{name}")


def _unseen_matches(base: Topology, head: Topology, today: date) -> Iterator[Diagnostic]:
    """New entries about many may match more than the older files declare, since the account remembers older files too."""
    known = {(entry.key, entry.on, entry.upto) for entry in base.bulk}
    for entry in head.bulk:
        if (entry.key, entry.on, entry.upto) not in known and not is_over(entry, today):
            done, number = "deletes" if entry.key == "removed" else "gives up", counted(entry.upto, "object")
            yield Diagnostic(
                severity=Severity.WARNING, code="RV106", name="matches-by-records", span=entry.where("on"),
                message=f"`{entry.key}` {done} up to {number} that `{entry.on}` matches: a review sees those that the "
                "older files declare, and the account may remember more",
                fix="look at the plan, which names each object",
            )  # fmt: skip


def _elsewhere(message: str, head: Topology, path: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code="RV105", name="leads-elsewhere", span=head.where(path),
        message=f"{message}: an apply creates everything there, and what was applied before stays where it is",
        fix="make sure that this is meant; `removed`, applied to the old place first, takes it away there",
    )  # fmt: skip


def _dropped_protections(before: Resources, after: Resources) -> Iterator[Diagnostic]:
    for address, now in after.items():
        if address in before and before[address].spec.protect and not now.spec.protect:
            yield Diagnostic(
                severity=Severity.WARNING, code="RV101", name="protection-dropped", address=str(address),
                message="is no longer protected: from now on, consent is enough to delete or replace it",
                span=now.where(""), fix="keep `protect: true` unless you mean to remove it",
            )  # fmt: skip


def _left_to_others(before: Resources, after: Resources) -> Iterator[Diagnostic]:
    for address, now in after.items():
        known = before[address].spec.unmanaged if address in before else now.spec.unmanaged
        if fields := [name for name in now.spec.unmanaged if name not in known]:
            yield Diagnostic(
                severity=Severity.WARNING, code="RV107", name="left-to-others", address=str(address),
                message=f"leaves {listed(fields)} to others from now on: no plan sets that, and no look for drift compares it",
                span=now.where("unmanaged"), fix="make sure that somebody else looks after this",
            )  # fmt: skip


def _likely_renames(before: Resources, after: Resources, moved: Set[tuple[Address, Address]]) -> Iterator[Diagnostic]:
    """Pair a name that disappeared with one that appeared in the same place with exactly the same settings, unless `moved`
    says so."""
    gone = [resource for address, resource in before.items() if address not in after]
    for address, now in after.items():
        kind_and_parents = address.kind, address.names[:-1]
        same = [
            resource
            for resource in gone
            if (resource.address.kind, resource.address.names[:-1]) == kind_and_parents and resource.spec == now.spec
        ]
        if address not in before and len(same) == 1 and (same[0].address, address) not in moved:
            entry = moved_section_text(same[0].address, address)
            yield Diagnostic(
                severity=Severity.WARNING, code="RV102", name="renamed", address=str(address),
                message=f"has the settings of {same[0].address}, which is gone: this creates a new object, and the "
                "old one stays",
                span=now.where(""),
                fix=f"if it is meant to be the same one, write `{entry}` at the top level of the file; a plan then says "
                "how to copy what no server renames",
            )  # fmt: skip
