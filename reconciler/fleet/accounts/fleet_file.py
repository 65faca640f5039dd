"""Reads fleet.yaml into targets; one run finds every error in it, each at its place."""

from __future__ import annotations

import re
from collections import abc
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import Field

from reconciler.documents.fill.environments import FileEnvironment, environments_in
from reconciler.documents.fill.values import Filled
from reconciler.documents.parse.explain_error import read_spec
from reconciler.documents.parse.files import read_text
from reconciler.documents.parse.nodes import (
    Mapping,
    Node,
    Place,
    Scalar,
    did_you_mean,
    error_at,
    node_to_show,
    shape_in_words,
    span,
)
from reconciler.documents.parse.plain_values import NodeProblem, needs_quotes_as_name
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.read.header import FORMAT
from reconciler.documents.schema.for_editors import Schema
from reconciler.documents.schema.topology import spec_schema
from reconciler.fleet.accounts.targets import DEADLINE, Fleet, FleetTarget
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, SourceSpan, ordered
from reconciler.model.resource import Json, Spec
from reconciler.model.units import Duration
from reconciler.server.connect.options import parse_servers
from reconciler.server.connect.settings import Settings, is_literal_secret


class TargetSpec(Spec):
    """An account: how to reach it, what it should hold, and what people call it."""

    context: str | None = None
    """Context of the `nats` CLI, by name or as the path of a `.json` file. The machine that connects looks it up.
    Left out: `server` says where."""
    server: str | None = None
    """URLs of the servers, separated by commas, without a login. Left out: `context` says where."""
    creds: str | None = None
    """Credentials: a path, or `env://NAME`. Left out: none."""
    nkey: str | None = None
    """NKey seed: a path, or `env://NAME`. Left out: none."""
    user: str | None = None
    """Name of the user. Needs `password`. Left out: none."""
    password: Json = None
    """A reference to the password, never the password itself: `env://NAME` or `file://PATH`. Left out: none."""
    token: Json = None
    """A reference to the token, never the token itself: `env://NAME` or `file://PATH`. Left out: none."""
    tlscert: str | None = None
    """Path of the client's certificate. Left out: none."""
    tlskey: str | None = None
    """Path of the key of that certificate. Left out: none."""
    tlsca: str | None = None
    """Path of the certificate authority to trust. Left out: those of the machine."""
    tlsfirst: bool | None = None
    """Do the TLS handshake before the server's greeting. Left out: false."""
    js_domain: str | None = None
    """JetStream domain to work in. Left out: none."""
    js_api_prefix: str | None = None
    """Subject prefix of an imported JetStream API. Left out: `$JS.API`."""
    inbox_prefix: str | None = None
    """Prefix of the subjects that replies come back on. Left out: `_INBOX`."""
    timeout: Duration | None = Field(default=None, gt=0)
    """How long to wait for the connection, and for each answer. Left out: 5s."""
    deadline: Duration | None = Field(default=None, gt=0)
    """How long reading all of the account may take. Left out: 1m."""
    parts: int | None = Field(default=None, ge=1, le=16)
    """How many tasks share the reading of a large account, 1 to 16. Left out: 1."""
    topology: str | tuple[str, ...] = ()
    """Files and folders of the topology that the account should hold, a path or a list of them. Left out: none; the
    account is only read."""
    environment: str | None = None
    """The environment of that topology, with its values, its overlay, and its `context` or `server` where this target
    names none. Left out: none."""
    values: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Values of `${name}` in the topology. Left out: none."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Key-value pairs to select targets by, to compare peers by, and to report by. Left out: none."""


class FleetSpec(Spec):
    """A fleet of NATS accounts that are looked at together, as reconciler reads it."""

    reconciler: int = Field(ge=FORMAT, le=FORMAT)
    """Version of this file format, which is 1."""
    fleet: str = Field(min_length=1)
    """Name of the fleet."""
    defaults: TargetSpec = Field(default_factory=TargetSpec)
    """Settings for every target that does not have its own. Values and labels are added to those of the target. Left
    out: nothing."""
    targets: dict[str, TargetSpec] = Field(min_length=1)
    """The accounts, each under its name."""


def load_fleet(path: Path) -> Fleet:
    """Load the fleet. Raises CannotContinue with everything that is wrong with the file."""
    reading = _Reading(path)
    fleet = reading.fleet()
    if fleet is None:
        raise CannotContinue(*ordered(reading.problems))
    return fleet


def fleet_file_schema() -> Schema:
    """Return the contents of `schemas/fleet.schema.json`."""
    return spec_schema(FleetSpec)


LOGIN = ("creds", "nkey", "user", "password", "token")
WAY = (
    "context",
    "server",
    *LOGIN,
    "tlscert",
    "tlskey",
    "tlsca",
    "tlsfirst",
    "js_domain",
    "js_api_prefix",
    "inbox_prefix",
)
_PATHS = {
    "context": "a name or the path of a .json file",
    "creds": "a path or env://NAME",
    "nkey": "a path or env://NAME",
    **dict.fromkeys(("tlscert", "tlskey", "tlsca", "topology"), "a path"),
}
"""Keys that refer to something, and how."""
_REFERENCE = re.compile(r"(?i)(env|file)://.+")
_FOUND_THERE = re.compile(r"(?i)env://|[~$/]")
"""Beginnings of references that do not depend on where fleet.yaml is."""


Environments = abc.Mapping[str, FileEnvironment]


@dataclass(slots=True)
class _Reading:
    path: Path
    problems: list[Diagnostic] = field(default_factory=list)
    environments: dict[tuple[Path, ...], Environments] = field(default_factory=dict)
    """Those of each topology."""

    def fleet(self) -> Fleet | None:
        text, self.problems = read_text(self.path)
        root = None
        if not self.problems:
            root, self.problems = read_tree(str(self.path), text)
        if not isinstance(root, Mapping):
            if not self.problems:
                what = shape_in_words(root) if root else "empty"
                message = f"the document is {what}; write a mapping (`fleet: NAME`, `targets:` …)"
                at = span(root) if root else SourceSpan(str(self.path), 1, 1, 1, 1)
                self.problems.append(error_at("XX504", "wrong-shape", message, at))
            return None
        spec = self._spec(root)
        return None if spec is None else self._with_defaults(spec, root)

    def _spec(self, root: Mapping) -> FleetSpec | None:
        spec, findings = read_spec(FleetSpec, root)
        for finding in findings:
            self._add_error(finding)
        return None if findings else spec

    def _with_defaults(self, spec: FleetSpec, root: Mapping) -> Fleet | None:
        """Complete each target with the defaults; errors in the defaults are reported where the defaults stand."""
        defaults, targets = root.get("defaults"), root.entries["targets"][1]
        assert isinstance(targets, Mapping)
        if isinstance(defaults, Mapping):
            self._refuse_secrets("defaults", spec.defaults, defaults)
        fleet_targets = [
            self._target(key, node, spec.targets[name], spec.defaults)
            for name, (key, node) in targets.entries.items()
        ]  # fmt: skip
        if self.problems:
            return None
        return Fleet(name=spec.fleet, file=self.path, targets=tuple(fleet_targets))

    def _target(self, key: Scalar, node: Node, spec: TargetSpec, defaults: TargetSpec) -> FleetTarget:
        name = key.text
        if wrong := _why_bad_name(key):
            self._add_error(NodeProblem(key, "506", "bad-name", wrong))
        if isinstance(node, Mapping):
            self._refuse_secrets(f"targets.{name}", spec, node)
        settings = _merged_settings(spec, defaults)
        topology = tuple(self.path.parent / part for part in _as_tuple(settings.get("topology")))
        if settings.get("environment"):
            own = node.entries.get("environment") if isinstance(node, Mapping) else None
            settings |= self._environment_connection(
                f"targets.{name}", node_to_show(*own) if own else key, settings, topology
            )
        if not (settings.get("context") or settings.get("server") or settings.get("environment")):
            message = f"targets.{name} does not say how to reach it; write context: NAME or server: URL"
            self._add_error(NodeProblem(key, "503", "missing-key", message))
        return FleetTarget(
            name=name,
            settings=_connection_settings(settings, self.path.parent),
            topology=topology,
            environment=settings.get("environment"),
            values={**_as_yaml_writes(defaults.values), **_as_yaml_writes(spec.values)},
            own=tuple(spec.values),
            labels={**defaults.labels, **spec.labels},
            deadline=settings["deadline"] / 1e9 if settings.get("deadline") else DEADLINE,
            parts=settings.get("parts") or 1,
            where=Place(key, node),
        )

    def _environment_connection(
        self, path: str, node: Node, settings: dict[str, Any], topology: tuple[Path, ...]
    ) -> dict[str, Any]:
        """Return the context or server of an environment, for a target that names none."""
        wanted = str(settings["environment"])
        if topology not in self.environments:
            self.environments[topology] = environments_in(topology, Filled()) if topology else {}
        environments = self.environments[topology]
        if wanted not in environments:
            message = f"{path}.environment `{wanted}` is none of its topology{did_you_mean(wanted, environments)}"
            self._add_error(NodeProblem(node, "502", "wrong-value", message))
            return {}
        if settings.get("context") or settings.get("server"):
            return {}
        environment = environments[wanted].says
        ways = {"context": environment.context, "server": environment.server}
        if not any(ways.values()):
            message = f"{path}.environment `{wanted}` has no context or server, and this target names none; write one"
            self._add_error(NodeProblem(node, "503", "missing-key", message))
        return {name: way for name, way in ways.items() if way is not None}

    def _refuse_secrets(self, path: str, spec: TargetSpec, node: Mapping) -> None:
        """Refuse secrets: this file is shared, and its contents go to other machines. A secret is never repeated in a
        message."""
        for name in ("password", "token"):
            if name in node.entries and not _REFERENCE.fullmatch(str(getattr(spec, name))):
                message = f"{path}.{name} must refer to the secret, not contain it; write env://NAME or file://PATH"
                self._add_error_at(node, name, "502", "wrong-value", message)
        for name, instead in _PATHS.items():
            if any(map(is_literal_secret, _as_tuple(getattr(spec, name)))):
                message = f"{path}.{name} must refer to it, not contain it; write {instead}"
                self._add_error_at(node, name, "502", "wrong-value", message)
        if spec.server is not None:
            self._check_server(path, spec.server, node)
        for key, other in (("user", "password"), ("password", "user")):
            if getattr(spec, key) is not None and getattr(spec, other) is None:
                self._add_error_at(node, key, "503", "missing-key", f"{path}.{key} also needs `{other}`")

    def _check_server(self, path: str, urls: str, node: Mapping) -> None:
        try:
            has_login = any(server.user is not None for server in parse_servers(urls))
        except CannotContinue as error:
            why = error.diagnostics[0]
            self._add_error_at(node, "server", "502", "wrong-value", f"{path}.server: {why.message} {why.fix}")
            return
        if has_login:
            message = (
                f"{path}.server contains a login; write user: NAME and password: env://NAME instead, or creds: PATH"
            )
            self._add_error_at(node, "server", "502", "wrong-value", message)

    def _add_error_at(self, node: Mapping, name: str, number: str, code_name: str, message: str) -> None:
        key, value = node.entries[name]
        self._add_error(NodeProblem(node_to_show(key, value), number, code_name, message))

    def _add_error(self, finding: NodeProblem) -> None:
        self.problems.append(finding.diagnostic())


def _why_bad_name(key: Scalar) -> str | None:
    if not key.text or "/" in key.text:
        return f"`{key.text}` cannot be the name of a target; a name is not empty, and has no slash"
    if key.plain and (other := needs_quotes_as_name(key.text)):
        return f'`{key.text}` is {other} to YAML readers; put it in quotes: "{key.text}"'
    return None


def _merged_settings(spec: TargetSpec, defaults: TargetSpec) -> dict[str, Any]:
    """Merge defaults: a target that names its context, its server or its login does not get those of the defaults as
    well."""
    own, lower = spec.model_dump(exclude_unset=True), defaults.model_dump(exclude_unset=True)
    replaced: tuple[str, ...] = ()
    if "context" in own:
        replaced = WAY
    elif any(name in own for name in LOGIN):
        replaced = LOGIN
    if "server" in own:
        replaced = (*replaced, "context")
    return {**{name: value for name, value in lower.items() if name not in replaced}, **own}


def _connection_settings(settings: dict[str, Any], folder: Path) -> Settings:
    def resolved_setting(name: str) -> str | None:
        text: str | None = settings.get(name)
        is_name = name == "context" and not (text or "").endswith(".json")
        return _path_from_folder(folder, text) if text and not is_name else text

    timeout = settings.get("timeout")
    return Settings(
        url=settings.get("server"), context=resolved_setting("context"), no_context="context" not in settings or None,
        user=settings.get("user"), password=resolved_setting("password"), token=resolved_setting("token"),
        creds=resolved_setting("creds"), nkey=resolved_setting("nkey"),
        cert=resolved_setting("tlscert"), key=resolved_setting("tlskey"), ca=resolved_setting("tlsca"), tls_first=settings.get("tlsfirst"),
        js_domain=settings.get("js_domain"), js_api_prefix=settings.get("js_api_prefix"), inbox_prefix=settings.get("inbox_prefix"),
        timeout=f"{timeout / 1e9:.9f}s" if timeout else None,
    )  # fmt: skip


def _path_from_folder(folder: Path, text: str) -> str:
    """Resolve a path of fleet.yaml from the folder of fleet.yaml."""
    scheme, path = ("file://", text[7:]) if text.lower().startswith("file://") else ("", text)
    return text if _FOUND_THERE.match(path) else f"{scheme}{folder.resolve() / path}"


def _as_tuple(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """A single value counts as a list of one."""
    return (value,) if isinstance(value, str) else value or ()


def _as_yaml_writes(values: dict[str, Any]) -> dict[str, str]:
    """Return values as YAML writes them."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}
