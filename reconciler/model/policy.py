"""House rules as people write them: a condition that no resource and no change may meet."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import OF_A_RULE, Json, Spec, Where, nowhere, text_like

CODE = r"^[A-Z]{3,12}[0-9]{3}$"
"""Three letters or more: the codes of reconciler's own rules begin with two, so the two never meet."""
HOW_TO_NAME = "three to twelve capital letters and three digits, for example ACME101"
NAME = "^[a-z0-9]+(-[a-z0-9]+)*$"
HYPHENS = "words with hyphens, for example replicas-in-production"
COMMIT = "the whole id of a commit, which has 40 digits"
REVISION = "^[0-9a-f]{40}$"


def is_policy(code: str) -> bool:
    """Is it the code of a policy, and not of a rule of reconciler's own?"""
    return code[OF_A_RULE : OF_A_RULE + 1].isalpha()


def _must_match(pattern: str, advice: str) -> AfterValidator:
    """Refuse other texts, in words."""

    def check(text: str) -> str:
        if not re.search(pattern, text):
            raise PydanticCustomError(
                "wrong_value", "`{value}` does not fit; write {what}", {"value": text, "what": advice}
            )
        return text

    return AfterValidator(check)


class PolicyCase(Spec):
    """An example beside a policy, which `reconciler policy test` judges."""

    forbidden: bool
    """Whether the policy forbids this."""
    name: str | None = None
    """Name of the resource. Left out: EXAMPLE."""
    kind: str | None = None
    """Kind of the resource, for example `stream`. Left out: the first that the policy is about."""
    resource: dict[str, Json] = Field(default_factory=dict)
    """What the file says of the resource. Left out: nothing, so everything is as servers have it by default."""
    before: dict[str, Json] | None = None
    """What is live, as a file would say it. Left out: the same as `resource`; with `action: create`, nothing."""
    stream: dict[str, Json] = Field(default_factory=dict)
    """What the file says of the stream that a consumer or group belongs to. Left out: nothing."""
    action: Literal["create", "update", "replace", "delete", "adopt", "keep", "forget"] | None = None
    """What happens to the resource. Left out: `create`, or `update` where there is a `before`."""
    environment: str = ""
    """The environment. Left out: none."""
    today: str = ""
    """The day, for example `2026-12-31`. Left out: today."""


class Policy(Spec):
    """A house rule: what it forbids, and how to say so."""

    code: Annotated[str, _must_match(CODE, HOW_TO_NAME), text_like(CODE, HOW_TO_NAME)]
    """How plans, waivers and reports call it, for example `ACME101`. Three capital letters or more, and three digits."""
    name: Annotated[str, _must_match(NAME, HYPHENS), text_like(NAME, HYPHENS)]
    """Its name, in words with hyphens, for example `replicas-in-production`."""
    on: Annotated[
        str | tuple[str, ...], WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}})
    ] = ()
    """The kind of resource that it is about, or a list of them, for example `stream`. Left out: every kind."""
    forbid: str = Field(min_length=1)
    """A condition in CEL. Where it is true, the policy is violated."""
    message: str = Field(min_length=1)
    """What is wrong, in a sentence for whoever reads the plan."""
    help: str | None = None
    """What to do instead. Left out: the message says enough."""
    severity: Literal["error", "warning"] = "error"
    """`error` refuses until the resource has a waiver; `warning` only tells. Left out: `error`."""
    cases: tuple[PolicyCase, ...] = ()
    """Examples that `reconciler policy test` judges. Left out: none."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that it is about; empty: all."""
        return (self.on,) if isinstance(self.on, str) else self.on


class PolicySource(Spec):
    """Where more policies are."""

    from_: str = Field(alias="from", min_length=1)
    """A file or folder, by its path from this file; or a git repository, where there is a `revision`."""
    revision: Annotated[str, _must_match(REVISION, COMMIT), text_like(REVISION, COMMIT)] | None = None
    """The commit of the repository, in full: nobody changes what it says afterwards. Left out: `from` is a path."""
    path: str = "."
    """The file or folder inside the repository. Left out: all of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedPolicy:
    """A policy with its place."""

    policy: Policy
    where: Where = field(default=nowhere)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedSource:
    """A `from:` entry of `policies:` with its place."""

    source: PolicySource
    where: Where = field(default=nowhere)
