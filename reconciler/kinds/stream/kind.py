"""What a stream is: how it is recognised, settled, changed and written down.

Notes on streams with interest retention: what they take and do not store, and what a change of retention means later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.kind import Bound, Context, FilePlace, Kind, Raw, declared_config
from reconciler.changes.view import View
from reconciler.kinds.fields.known import NAME
from reconciler.kinds.losses.copied_headers import new_copy_consequences
from reconciler.kinds.losses.made_again import initial_copy_consequences
from reconciler.kinds.losses.unwanted import is_unused, unwanted_subjects
from reconciler.kinds.stream.another_name import recipe
from reconciler.kinds.stream.retention import kept_until_restart_text, turns_to_interest
from reconciler.kinds.stream.rules import EFFECTS, RULES, questions
from reconciler.kinds.stream_config import advisories, calls
from reconciler.kinds.stream_config.new_copies import with_waits_for_copies
from reconciler.kinds.stream_config.origins import origin_names, origin_of_mirror, reads_by_copying
from reconciler.kinds.stream_config.stream_config import (
    FIELD_INFOS,
    STOCK,
    StreamConfig,
    canonical,
    lasting_config,
    settle,
)
from reconciler.model.resource import Address, Config, Declared, OtherOwner, Resource
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step


class StreamSpec(StreamConfig):
    """A stream stores the messages that are published on its subjects."""

    external: bool | OtherOwner = False
    """Another owner manages this stream: `true`, or `{from: topology/NAME}`, which a plan checks against the ledger. The
    file may state only its consumers, its groups, and what you expect of `subjects` and `retention`; nothing else of it
    is sent to a server. Left out: false."""


def _recognise(snapshot: Snapshot) -> Iterable[Resource]:
    for name, info in snapshot.streams.items():
        yield Resource(
            address=Address.of("stream", name), config=lasting_config(info["config"]), stock=STOCK, state=info
        )


def _settle(declared: Declared, context: Context) -> Resource:
    spec, name = declared.spec, declared.address.name
    body = declared_config(spec)
    if isinstance(spec, StreamSpec) and spec.external:
        return Resource(
            address=declared.address, config=canonical(body), terms=spec, where=declared.where, external=True
        )
    settled = settle(body, context.target, name=name, origin=origin_of_mirror(body, context))
    return settled.resource(declared, STOCK)


def _steps(change: Change, view: View) -> Sequence[Step]:
    name = change.address.name
    if change.action is Action.CREATE and change.desired:
        return with_waits_for_copies((calls.create_stream(change, name, change.desired.sent),), change, view)
    if change.action is Action.UPDATE:
        return with_waits_for_copies(calls.update_stream(change, name, view), change, view)
    return (calls.delete_stream(change, name),) if change.action is Action.DELETE else ()


def _lends(declared: Declared) -> Mapping[str, Config]:
    """A mirror answers direct reads where its origin does."""
    spec = declared.spec
    assert isinstance(spec, StreamSpec)
    return {} if spec.external else {declared.address.name: {"allow_direct": bool(spec.allow_direct)}}


STREAM = Kind(
    name="stream",
    family="ST",
    title="Streams",
    recipe=recipe,
    backing="",
    bound=Bound(floor=5, percent=20),
    place=FilePlace("streams", names=NAME),
    spec=StreamSpec,
    fields=FIELD_INFOS,
    recognise=_recognise,
    claims=lambda snapshot: (Raw("stream", (name,)) for name in snapshot.streams),
    settle=_settle,
    steps=_steps,
    starts=("first_seq",),
    primary=lambda address: Raw("stream", (address.name,)),
    needs=lambda resource: origin_names(resource.config),
    reads=reads_by_copying,
    lends=_lends,
    questions=lambda change, view: (*questions(change, view), *EFFECTS.questions(change, view)),
    consequences=lambda change, view: (
        *initial_copy_consequences(change, view),
        *new_copy_consequences(change, view, "ST"),
        *advisories.consequences(change, view),
        *EFFECTS.consequences(change, view),
        *interest_consequences(change, view),
    ),
    unknown=lambda address, snapshot: snapshot.why_stream_unknown(address.name),
    rules=RULES,
)


def interest_consequences(change: Change, view: View) -> Iterator[Consequence]:
    """What hurts nobody who publishes or reads now; rules say the rest."""
    if change.action not in (Action.CREATE, Action.UPDATE):
        return
    name, turns = change.address.name, change.action is Action.UPDATE and change.touches("retention")
    unwanted = unwanted_subjects(name, view)
    if parts := [*unwanted.new, *(unwanted.lost if turns and is_unused(change) else ())]:
        yield _note(unwanted.text(parts, name), "XX245")
    if turns and change.was("retention") == "interest":
        text = "from then on the stream keeps what consumers have acknowledged, and what none wants, until a limit deletes it"
        yield _note(text, "ST302")
    elif turns and not turns_to_interest(change) and (text := kept_until_restart_text(change, view)):
        yield _note(text, "ST302")


def _note(text: str, code: str) -> Consequence:
    return Consequence(message=f"{text} ({code})", code=code)
