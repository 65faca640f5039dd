"""Rules that every family shares: fields and values that the target's version does not know, which 2.11 silently drops, and
metadata keys that belong to the server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pydantic import BaseModel

from reconciler.changes.change import Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.known import unknown_fields, unknown_values
from reconciler.model.resource import Config
from reconciler.model.wire.version import Version


def reserved_metadata_rule(family: str) -> Rule:
    """The 508 of a family."""

    def judge(change: Change, _view: View) -> Found:
        """Metadata keys that begin with `_nats.` belong to the server, which overwrites them.

        Instead: choose another key.
        """
        return [
            _finding_about_key(key) for key in getattr(change.terms, "metadata", None) or {} if key.startswith("_nats.")
        ]

    return rule(f"{family}508", "reserved-metadata", reaction=Reaction.DROPS)(judge)


def _finding_about_key(key: str) -> Finding:
    return Finding(
        outcome=Outcome.REFUSED,
        path=f"metadata.{key}",
        message=f"metadata key `{key}` belongs to the server, which overwrites it",
        fix="choose another key",
    )


STRICT = Version(2, 12)
"""From this version on, servers refuse fields that they do not know, unless configured otherwise; before, they drop
them."""


def too_young_rule(family: str, model: type[BaseModel]) -> Rule:
    """The 401 of a family: a field or value of its model that the target's version does not know."""

    def judge(change: Change, view: View) -> Found:
        """The target's nats-server version does not know a field or value that the file uses.

        Servers from 2.12 on refuse unknown fields (10025). Server 2.11 answers ok and drops them: the setting never takes effect,
        and the difference never ends.

        Instead: upgrade the servers, or leave the field out.
        """
        return list(_findings(change.desired.sent if change.desired else {}, view.target.version))

    def _findings(config: Config, version: Version) -> Iterator[Finding]:
        for path in unknown_fields(model, config, version):
            message = f"nats-server {version.short} does not know {path}, and {_reaction_in_words(version)}"
            yield replace(_finding_about_version(path, message), reaction=None if version >= STRICT else Reaction.DROPS)
        for young in unknown_values(model, config, version):
            yield _finding_about_version(
                young.path,
                f"{young.path} `{young.value}` needs nats-server {young.since.major}.{young.since.minor}, and this server is "
                f"{version.short}",
            )

    return rule(f"{family}401", "field-too-young", err_code=10025)(judge)


def _reaction_in_words(version: Version) -> str:
    return "would silently drop it" if version < STRICT else "would refuse it"


def _finding_about_version(path: str, message: str) -> Finding:
    return Finding(
        outcome=Outcome.REFUSED, path=path, message=message, fix="upgrade the servers first, or leave the field out"
    )
