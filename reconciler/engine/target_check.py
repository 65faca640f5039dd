"""Is this the account that the files are for? If it is another one, nothing is compared at all."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.model.topology import Expect, Topology
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import SUPPORTED, Version, unsupported_version_sentence

ASK = "allow this user to publish to $SYS.REQ.USER.INFO, by which a server tells the account, or correct `expect`"


def check_place(topology: Topology, target: Target) -> None:
    """Refuse to work against the wrong account or cluster before anything is compared."""
    if wrong := unexpected_of_target(topology.expect, target):
        raise CannotContinue(
            *(
                Diagnostic(
                    severity=Severity.ERROR,
                    code="XX105",
                    name="wrong-place",
                    message=f"{mismatch}. Nothing was changed.",
                    span=topology.where(f"expect.{key}"),
                    fix=ASK
                    if key == "account" and target.account is None
                    else "check the context or URL, or correct `expect`",
                )
                for key, mismatch in wrong
            )
        )


def unexpected_of_target(expect: Expect, target: Target) -> list[tuple[str, str]]:
    """(key of `expect`, what is wrong) for everything about this target that is not as the files expect."""
    wrong = []
    for key, wanted, actual in (
        ("cluster", expect.cluster, target.cluster),
        ("domain", expect.domain, target.domain),
        ("account", expect.account, target.account),
    ):
        if wanted is not None and wanted != actual:
            wrong.append((key, f"expected {key} `{wanted}`, but {f'`{actual}`' if actual else 'none'} answered"))
    if expect.min_server is not None and target.version < Version.parse(expect.min_server):
        wrong.append(
            ("min_server", f"expected nats-server {expect.min_server} or newer, but {target.version} answered")
        )
    return wrong


def version_warnings(version: Version, span: SourceSpan | None = None) -> Iterator[Diagnostic]:
    """Warn of a version that no rule was measured on; `span` is where the files name it."""
    if message := unsupported_version_sentence(version):
        known = ", ".join(supported.short for supported in SUPPORTED)
        yield Diagnostic(
            severity=Severity.WARNING, code="XX114", name="unknown-version", message=message, span=span,
            fix=f"check on such a server what matters to you; the rules were measured on {known}",
        )  # fmt: skip
