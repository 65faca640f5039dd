"""What is recorded of every apply, as plain data: who, from where, how much, and the result of each step.

Four sorts of keys make up a run: `begun` and, in chunks, `changes` when it starts; then `steps` in chunks, and `ended`
last. Times are the server's own, from when it stored the entries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field
from itertools import islice
from typing import Literal, get_args

from reconciler.changes.events import Failed, Finished, InDoubt, StepOutcome
from reconciler.changes.plan import Plan
from reconciler.memory.lease import Holder
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.fields import Unit
from reconciler.model.ledger.entries import (
    FORMAT,
    Fits,
    Unusable,
    are_texts,
    is_number,
    is_text,
    is_true_or_false,
    json_object,
)
from reconciler.model.resource import Json

PREFIX = "journal"
CHUNK = 256 << 10
"""Bytes of one entry at most."""
RUNS_PER_TOPOLOGY = 50
"""How many runs of one topology are remembered."""
MAX_RUNS = 500
"""How many runs of all topologies together are remembered: short-lived topologies have names of their own."""
MAX_CHANGE_CHUNKS = 16
"""How many chunks of changes are kept of one run. If there are more, the journal says that they are not kept."""
MAX_NAMED_STEPS = 20_000
"""How many steps with the same result are named; beyond that only the number is kept. Failures are never left out."""

OUTCOMES = ("done", "failed", "in_doubt", "skipped", "not_started", "left_alone")
"""Results of steps, and of changes without steps."""


RunOutcome = Literal["applied", "incomplete", "stopped", "running", "cut off", "unknown"]
UNKNOWN: Literal["unknown"] = "unknown"
"""Outcome of a run whose end somebody deleted, or wrote in a way that nobody can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One apply as the journal records it."""

    number: int
    begun: Mapping[str, Json]
    at: str
    """When it began, by the server's clock."""
    ended: Mapping[str, Json] | None = None
    until: str | None = None
    is_running: bool = False
    """It has no end yet, and still holds its lease."""
    steps: Mapping[str, Json] = field(default_factory=dict)
    """The results of its steps; read only for a single run."""
    changes: Mapping[str, Json] | None = None
    """What it was to change, by address; None: that is not kept, or was not read."""

    @property
    def topology(self) -> str:
        """The topology that was applied; empty if the entry does not name it."""
        return str(self.begun.get("topology", ""))

    @property
    def later_format(self) -> int | None:
        """The format of the writer, if it is not this version's: its words may mean something else."""
        number: int = self.begun.get("format", FORMAT)
        return number if number != FORMAT else None

    @property
    def outcome(self) -> RunOutcome:
        """The outcome in one word or two."""
        if self.ended is None:
            return "running" if self.is_running else "cut off"
        if self.ended.get("stopped"):
            return "stopped"
        if (counts := self.ended.get("counts")) is None:
            return UNKNOWN
        return "incomplete" if any(counts.get(name) for name in OUTCOMES if name != "done") else "applied"


EVERY_BEGUN = f"{PREFIX}.*.begun"


def begun_key(number: int) -> str:
    """Key of the entry that a run writes first."""
    return f"{PREFIX}.{number}.begun"


def ended_key(number: int) -> str:
    """Key of the entry that a run writes last; while it does not exist, the run is still going or was interrupted."""
    return f"{PREFIX}.{number}.ended"


def steps_key(number: int, chunk: int) -> str:
    """Key of one chunk of the results of a run's steps, counted from 0."""
    return f"{PREFIX}.{number}.steps.{chunk}"


def changes_key(number: int, chunk: int) -> str:
    """Key of one chunk of what a run was to change, counted from 0."""
    return f"{PREFIX}.{number}.changes.{chunk}"


def run_number(key: str) -> int | None:
    """The run a key belongs to; None: it is no key of the journal."""
    prefix, _, rest = key.partition(".")
    number = rest.partition(".")[0]
    return int(number) if prefix == PREFIX and number.isdecimal() else None


def outdated_keys(keys: Iterable[str], topologies: Mapping[int, str], kept: int = RUNS_PER_TOPOLOGY) -> list[str]:
    """Keys of all runs but the newest of each topology."""
    runs = [(number, key) for key in keys if (number := run_number(key)) is not None]
    left: Counter[str] = Counter()
    newest = set()
    for number in sorted({number for number, _ in runs}, reverse=True)[:MAX_RUNS]:
        left[topology := topologies.get(number, "")] += 1
        if left[topology] <= kept:
            newest.add(number)
    return [key for number, key in runs if number not in newest]


def begun_entry(holder: Holder, plan: Plan, changes: int | None = None) -> dict[str, Json]:
    """The entry written when a run starts. `changes`: how many chunks of changes are kept; None: there were too
    many."""
    counts = {name: count for name, count in plan.summary.items() if count}
    holder_fields = {name: value for name, value in asdict(holder).items() if value}
    steps = sum(step.undoes is None for step in plan.steps)
    left_out = {"left_out": number} if (number := len(plan.blocked)) else {}
    return {"format": FORMAT, **holder_fields, "counts": counts, **left_out, "steps": steps, "changes": changes}


def ended_entry(finished: Finished, chunks: int) -> dict[str, Json]:
    """How many steps had which result, and why the run stopped early; `chunks`: how many chunks hold its steps."""
    counts = {name: len(settled) for name in OUTCOMES if (settled := getattr(finished, name))}
    return {"format": FORMAT, "counts": counts, "stopped": finished.stopped, "chunks": chunks}


def step_results_entry(finished: Finished) -> dict[str, Json]:
    """The result of each step: names by result and call, and failures in full."""
    results: dict[str, Json] = {
        "done": _names_by_call(finished.done),
        "failed": [_failure_entry(failure) for failure in finished.failed],
        "in_doubt": [_failure_entry(doubt) for doubt in finished.in_doubt],
        "skipped": {because: _names_by_call([skipped for skipped in finished.skipped if skipped.because == because])
                    for because in dict.fromkeys(skipped.because for skipped in finished.skipped)},
        "not_started": _names_by_call(finished.not_started),
        "unfinished": list(dict.fromkeys((
            *(outcome.step.address for outcome in (*finished.went_wrong, *finished.skipped, *finished.not_started)),
            *finished.unrecorded, *(diagnostic.address for diagnostic in finished.left_alone if diagnostic.address),
        ))),
        "warnings": [_diagnostic_entry(diagnostic) for diagnostic in finished.warnings],
    }  # fmt: skip
    return {name: result for name, result in results.items() if result}


def _names_by_call(settled: Sequence[StepOutcome]) -> dict[str, Json]:
    """`{"stream.create": ["A", "B"]}`"""
    named: dict[str, Json] = {}
    for result in islice(settled, MAX_NAMED_STEPS):
        named.setdefault(result.step.call.value, []).append("/".join(result.step.on))
    return named | ({"not named": len(settled) - MAX_NAMED_STEPS} if len(settled) > MAX_NAMED_STEPS else {})


def _failure_entry(failure: Failed | InDoubt) -> dict[str, Json]:
    return {
        "step": failure.step.id,
        "call": failure.step.call.value,
        "on": "/".join(failure.step.on),
    } | _diagnostic_entry(failure.reason)


def _diagnostic_entry(diagnostic: Diagnostic) -> dict[str, Json]:
    values = {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "address": diagnostic.address,
        "message": diagnostic.message,
        "fix": diagnostic.fix,
    }
    return {name: value for name, value in values.items() if value}


def split_chunks(value: bytes, size: int = CHUNK) -> list[bytes]:
    """Parts of at most `size` bytes. A character may be split between two, so only all parts together are text."""
    return [value[start : start + size] for start in range(0, len(value), size)]


def _is_count(value: Json) -> bool:
    return is_number(value) and value >= 0


def _are_counts(value: Json) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


_TEXTS = ("topology", "run", "user", "account_user", "host", "since", "git_revision", "source", "tool", "stopped")
_NUMBERS = ("pid", "left_out", "steps", "changes", "chunks")
_RUN_ENTRY: Mapping[str, Fits] = {
    "format": is_number, "counts": _are_counts, **dict.fromkeys(_TEXTS, is_text), **dict.fromkeys(_NUMBERS, _is_count)
}  # fmt: skip
MAX_CHUNKS_READ = 1_024
"""How many chunks are read of one run, whatever its entry says: a quarter of a gigabyte."""


def decode_run_entry(value: bytes) -> dict[str, Json]:
    """A `begun` or `ended` entry, without names that are unknown here and values of the wrong type: a later format, or
    somebody by hand, may have written them."""
    return _fitting_values(decode_object(value), _RUN_ENTRY)


def _fitting_values(values: Mapping[str, Json], shapes: Mapping[str, Fits]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if name in shapes and shapes[name](value)}


_FINDING = dict.fromkeys(("code", "name", "address", "message", "fix"), is_text)
_FAILURE = _FINDING | dict.fromkeys(("step", "call", "on"), is_text)


def _readable_failures(values: Json, shapes: Mapping[str, Fits] = _FAILURE) -> Json:
    return [_fitting_values(value, shapes) for value in values if isinstance(value, dict)]


def _readable_calls(by_call: Json) -> Json:
    """`{"stream.create": ["A"]}`; a number replaces names that were too many."""
    return {call: names for call, names in by_call.items() if are_texts(names) or _is_count(names)}


_STEPS: Mapping[str, tuple[type, Callable[[Json], Json]]] = {
    "done": (dict, _readable_calls), "not_started": (dict, _readable_calls),
    "skipped": (dict, lambda said: {because: _readable_calls(one) for because, one in said.items() if isinstance(one, dict)}),
    "failed": (list, _readable_failures), "in_doubt": (list, _readable_failures),
    "warnings": (list, lambda said: _readable_failures(said, _FINDING)),
    "unfinished": (list, lambda said: [one for one in said if isinstance(one, str)]),
}  # fmt: skip


def decode_step_results(value: bytes) -> dict[str, Json]:
    """The results of the steps, as `step_results_entry` writes them, without names and values of another shape."""
    results = decode_object(value)
    return {name: part(results[name]) for name, (shape, part) in _STEPS.items() if isinstance(results.get(name), shape)}


def decode_changes(value: bytes) -> dict[str, Json]:
    """The changes that a run was to make, likewise."""
    return {
        address: _decode_change(change) for address, change in decode_object(value).items() if isinstance(change, dict)
    }


def _is_unit(value: Json) -> bool:
    return value in get_args(Unit)


_SIDES: Mapping[str, Fits] = {
    **dict.fromkeys(("from", "to", "default"), lambda _: True), "left_out": is_text, "long": is_true_or_false, "unit": _is_unit,
    "units": lambda value: isinstance(value, dict) and all(map(_is_unit, value.values())),
}  # fmt: skip


def _decode_change(change: Mapping[str, Json]) -> dict[str, Json]:
    fields = change.get("fields")
    every = fields.items() if isinstance(fields, dict) else ()
    sides = {path: _fitting_values(side, _SIDES) for path, side in every if isinstance(side, dict)}
    old = change.get("renamed_from")
    return {
        "action": str(change.get("action")), "adopts": change.get("adopts") is True, "fields": sides,
        "renamed_from": old if isinstance(old, str) else None,
    }  # fmt: skip


def chunks_of(entry: Mapping[str, Json] | None, name: str) -> range:
    """Numbers of the chunks that an entry counts under `name`, at most LONGEST; none if it counts none."""
    return range(min((entry or {}).get(name) or 0, MAX_CHUNKS_READ))


def decode_object(value: bytes) -> dict[str, Json]:
    """The entry as an object; empty if it cannot be read, so that the rest of the journal still can."""
    try:
        return json_object(value)
    except Unusable:
        return {}
