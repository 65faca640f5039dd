"""What another tool's file describes, in the server's own words, and what could not be carried over, each with its
place.

Such files name buckets as clients create them: a name and a few limits, and a stream stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Config, Json, Where


def kv_bucket(
    name: str, config: Mapping[str, Json], where: Where, beside: Mapping[str, Json] | None = None
) -> ForeignObject:
    """Return the stream that KV clients create (ADR-8)."""
    stream = f"KV_{name}"
    usual: dict[str, Json] = {
        "subjects": [f"$KV.{name}.>"], "max_msgs_per_subject": 1, "discard": "new", "allow_rollup_hdrs": True,
        "deny_delete": True, "allow_direct": True,
    }  # fmt: skip
    if config.get("mirror"):
        del usual["subjects"]
        usual["mirror_direct"] = True
    if config.get("subject_delete_marker_ttl"):
        usual["allow_msg_ttl"] = True
    return ForeignObject(on=(stream,), config={**usual, **config, "name": stream}, where=where, beside=beside or {})


def object_store(
    name: str, config: Mapping[str, Json], where: Where, beside: Mapping[str, Json] | None = None
) -> ForeignObject:  # fmt: skip
    """Return the stream that clients of object stores create (ADR-20)."""
    stream = f"OBJ_{name}"
    usual = {
        "subjects": [f"$O.{name}.C.>", f"$O.{name}.M.>"], "discard": "new", "allow_rollup_hdrs": True,
        "allow_direct": True,
    }  # fmt: skip
    return ForeignObject(on=(stream,), config={**usual, **config, "name": stream}, where=where, beside=beside or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignObject:
    """A stream (one name) or a consumer (its stream's name and its own), as the server would describe it."""

    on: tuple[str, ...]
    config: Config
    where: Where
    beside: Config = field(default_factory=dict)
    """Fields that are written although no server holds them, or although they are the server's default."""

    @property
    def address(self) -> str:
        """Return the address in a topology: `stream/ORDERS`, `consumer/ORDERS/billing`."""
        return "/".join(("stream" if len(self.on) == 1 else "consumer", *self.on))


@dataclass(slots=True)
class Findings:
    """Everything read so far."""

    found: list[ForeignObject] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    def add_left_out(
        self, where: Where, path: str, message: str, *, about: str | None = None, fix: str | None = None
    ) -> None:
        """Add the warning IM101: something that the tool says was left out."""
        self._add(Severity.WARNING, "IM101", "not-carried-over", where, path, message, about, fix)

    def add_unreadable(
        self, where: Where, path: str, message: str, *, about: str | None = None, fix: str | None = None
    ) -> None:
        """Add the error IM103: something cannot be read as the tool writes it."""
        self._add(Severity.ERROR, "IM103", "not-readable", where, path, message, about, fix)

    def add_tools_default(self, where: Where, path: str, message: str, *, about: str, fix: str) -> None:
        """Add the warning IM105: the tool's own default applies here, and the topology has to say it."""
        self._add(Severity.WARNING, "IM105", "default-of-the-tool", where, path, message, about, fix)

    def _add(
        self, severity: Severity, code: str, name: str, where: Where, path: str, message: str,
        about: str | None, fix: str | None,
    ) -> None:  # fmt: skip
        diagnostic = Diagnostic(
            severity=severity, code=code, name=name, message=message, address=about, span=where(path), fix=fix
        )
        self.problems.append(diagnostic)


@dataclass(frozen=True, slots=True, kw_only=True)
class To:
    """Where a key of the tool goes, and how its value is read. Raises ValueError for a value it cannot read."""

    path: str = ""
    """A dotted path in the server's names; empty: it is no part of the configuration."""
    read: Callable[[Json], Json] = lambda value: value
    inside: Table | None = None
    """The keys of the mapping, or of the mappings in the list, at this place."""
    single: bool = False
    """Whether a list of one represents a mapping."""
    lost: str = ""
    """Why it cannot be carried over, where it has a value."""


Table = Mapping[str, To]
NOTHING = To()


def translate(
    values: Json, table: Table, where: Where, findings: Findings, address: str, prefix: str = ""
) -> dict[str, Json]:
    """Return the server's configuration. An empty value (null, empty, 0, false) is the default of every field."""
    config: dict[str, Json] = {}
    for key, value in values.items():
        path, to = f"{prefix}{key}", table.get(key)
        if not value or to is NOTHING:
            continue
        if to is None:
            findings.add_left_out(where, path, f"{path} is unknown here, and was left out", about=address)
        elif to.lost:
            findings.add_left_out(where, path, f"{path} was left out: {to.lost}", about=address)
        else:
            _translate_key(config, to, value, path, where, findings, address)
    return config


def _translate_key(
    config: dict[str, Json], to: To, value: Json, path: str, where: Where, findings: Findings, address: str
) -> None:  # fmt: skip
    try:
        _set_at_path(config, to.path, _translate_value(to, value, path, where, findings, address))
    except (ValueError, TypeError, AttributeError) as error:
        why = str(error) if type(error) is ValueError else "it has another shape than the tool writes"
        findings.add_unreadable(where, path, f"{path} cannot be read: {why}", about=address)


def _translate_value(to: To, value: Json, path: str, where: Where, findings: Findings, address: str) -> Json:
    if to.inside is None:
        return to.read(value)
    if to.single:
        return translate(value[0], to.inside, where, findings, address, f"{path}[0].")
    if isinstance(value, list):
        each = enumerate(value)
        return [translate(item, to.inside, where, findings, address, f"{path}[{number}].") for number, item in each]
    return translate(value, to.inside, where, findings, address, f"{path}.")


def _set_at_path(config: dict[str, Json], path: str, value: Json) -> None:
    *above, name = path.split(".")
    for step in above:
        config = config.setdefault(step, {})
    config[name] = value


def places_below(where: Where, prefix: str) -> Where:
    """Return the places of paths that begin with this prefix."""
    return lambda path: where(f"{prefix}{path}".rstrip("."))
