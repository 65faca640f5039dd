"""Writes and reads a saved plan as JSON: the plan, what it takes to judge it again, and a fingerprint of both.

The file holds no secret: connections, contexts and logins never reach this module, and it leaves out who was logged in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import ValidationError
from pydantic_core import from_json

from reconciler.changes.kind import Registry
from reconciler.changes.plan import FORMAT, Plan
from reconciler.journeys.saved.saved_plan import (
    FINGERPRINT,
    AccountPlace,
    ResourceSpec,
    Saved,
    TopologyHeader,
    fingerprint,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.resource import Config
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.shape import INLINE, Count, Like
from reconciler.report.codec.json import json_of, json_text
from reconciler.report.codec.reading import Damaged, read_as
from reconciler.report.codec.schema import published_schema

Data = Mapping[str, Any]


def with_kept_count(plan: Plan, data: Data) -> Plan:
    """Return the plan with what it keeps, which stands only in the counts of its data. Raises Damaged where they are none."""
    try:
        return replace(plan, kept=data["summary"]["keep"] - plan.summary["keep"])
    except (KeyError, TypeError):
        raise Damaged("a number expected", "summary.keep") from None


def parse_plan(text: str) -> Data:
    """Parse the data of a plan in this format."""
    try:
        data = from_json(text)  # nested deeper than any plan
    except ValueError as error:
        raise not_a_plan(f"this is not JSON: {error}") from None
    if not isinstance(data, dict) or "format" not in data:
        raise not_a_plan("this JSON is not a plan", "`reconciler plan --out plan.json` writes one")
    if data["format"] != FORMAT:
        raise not_a_plan(f"this plan has format {data['format']}, this reconciler reads format {FORMAT}")
    return data


def not_a_plan(why: str, fix: str = "plan again") -> CannotContinue:
    """Return the error XX901 for a text that is no usable plan; the caller raises it."""
    return CannotContinue.because("XX901", "not-a-plan", why, fix=fix)


Digest = Annotated[str, Like(pattern="^sha256:[0-9a-f]{64}$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedOptions:
    """Options that a plan was made with."""

    only: tuple[str, ...]
    """Given with `--only`."""
    exclude: tuple[str, ...]
    """Given with `--exclude`."""
    allow: tuple[tuple[str, str], ...]
    """Given with `--allow`: code and address."""
    paths: tuple[str, ...]
    """The files and folders."""
    take_over: tuple[str, ...]
    """Given with `--take-over`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTopology(TopologyHeader):
    """Everything that the files declare."""

    resources: tuple[ResourceSpec, ...]
    """Every resource, parents first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPart:
    """What a saved plan holds besides the plan itself."""

    made_by: str
    """Version of the tool that saved it."""
    empty: bool
    """True: it creates, updates, replaces and deletes nothing."""
    blocked: Count
    """Changes that are not carried out: refused, without consent, or unknown."""
    exit_code: Count
    """The exit code that the plan ended with."""
    place: AccountPlace
    """What tells this account from every other one."""
    seen: Mapping[str, Config]
    """The objects that it touches, as they were."""
    state: str
    """Fingerprint of everything that was read."""
    terms: SavedOptions
    """Options that the plan was made with."""
    source: str | None = None
    """The repository that the files are in."""
    git_revision: str | None = None
    """The git revision of the files."""
    declared: SavedTopology
    """Everything that the files declare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument:
    """A plan as it is printed, and with `--out` as it is saved: then both `saved` and `fingerprint` are there."""

    plan: Annotated[Plan, INLINE]
    saved: SavedPart | None = None
    """What `apply` needs besides the plan; only in plans saved with `--out`."""
    fingerprint: Digest | None = None
    """A digest of all the rest, to notice edits and damage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedDocument(PlanDocument):
    """A plan as it was saved."""

    saved: SavedPart
    fingerprint: Digest


def plan_schema() -> str:
    """Return the text of `plan.schema.json`, which also describes plans saved with `--out`."""
    description = "The changes to make in one account, how they were judged, and the steps that would run."
    return published_schema("reconciler plan", description, PlanDocument)


def saved_json(saved: Saved) -> str:
    """Return the text of a plan file."""
    plan = replace(saved.plan, target=replace(saved.plan.target, user=None))
    document = json.loads(json_of(PlanDocument(plan=plan, saved=_saved_part(saved))))  # what a reader will see
    return json_text({**document, FINGERPRINT: fingerprint(document)})


def _saved_part(saved: Saved) -> SavedPart:
    plan, topology = saved.plan, saved.topology
    return SavedPart(
        made_by=saved.made_by,
        empty=plan.is_empty,
        blocked=len(plan.blocked),
        exit_code=plan.exit_code,
        place=saved.place,
        seen=saved.seen,
        state=saved.state,
        terms=_terms(saved),
        source=saved.options.came_from.repository,
        git_revision=saved.options.came_from.revision,
        declared=SavedTopology.of(topology, resources=tuple(map(ResourceSpec.of, topology.resources))),
    )


def _terms(saved: Saved) -> SavedOptions:
    options = saved.options
    return SavedOptions(
        only=options.only, exclude=options.exclude, allow=options.allow, paths=saved.paths, take_over=options.take_over
    )


def saved_from_json(text: str, registry: Registry) -> Saved:
    """Read the plan that was saved. Raises CannotContinue for a file that was altered since, and for one that is no
    saved plan."""
    data = parse_plan(text)
    if "saved" not in data or FINGERPRINT not in data:
        raise not_a_plan(
            "this plan was printed for reading, and cannot be applied",
            "save a plan to apply with `reconciler plan --out plan.json`",
        )
    if data[FINGERPRINT] != fingerprint(data):
        raise _altered_error()
    try:
        return _saved_of(read_as(SavedDocument, data), data, registry)
    except (ValueError, KeyError) as error:
        unreadable = "its declarations" if isinstance(error, ValidationError) else str(error)
        made_by = data["saved"].get("made_by") if isinstance(data["saved"], dict) else None
        by = f" by reconciler {made_by}" if made_by else ""
        raise not_a_plan(f"this plan was saved{by} in a form this version cannot read ({unreadable})") from None


def _altered_error() -> CannotContinue:
    message = (
        "Somebody changed this plan after it was saved: its fingerprint does not match its contents. "
        "Nothing was changed in the account."
    )
    fix = "plan again and apply the new plan; to change a plan, edit the topology"
    return CannotContinue.because("XX911", "plan-altered", message, fix=fix)


def _saved_of(document: SavedDocument, data: Mapping[str, Any], registry: Registry) -> Saved:
    saved, terms = document.saved, document.saved.terms
    resources = tuple(resource.declared_resource(registry) for resource in saved.declared.resources)
    return Saved(
        plan=with_kept_count(document.plan, data),
        place=saved.place,
        topology=saved.declared.topology(document.plan.topology, resources),
        seen=saved.seen,
        state=saved.state,
        options=RunOptions(
            only=terms.only,
            exclude=terms.exclude,
            may_match_nothing=True,
            allow=terms.allow,
            take_over=terms.take_over,
            origin=Origin(repository=saved.source, revision=saved.git_revision),
        ),
        paths=terms.paths,
        made_by=saved.made_by,
    )
