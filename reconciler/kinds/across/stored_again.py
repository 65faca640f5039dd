"""Messages that one stream republishes, or a push consumer delivers, and that another stream stores as its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.across.republishing import SHAPES_FLOW, loops, republished_subject
from reconciler.kinds.across.subjects import captured_subjects
from reconciler.kinds.afterwards.readers import (
    consumer_readers,
    copying_readers,
    stored_subjects_afterwards,
    stored_subjects_now,
)
from reconciler.kinds.afterwards.stored import StoredSubjects, narrowed_subjects
from reconciler.kinds.afterwards.streams import GONE, afterwards, live_streams
from reconciler.kinds.fields.words import few, listed, some, verb, written_size
from reconciler.kinds.losses.dependants import consumers, everybody, streams
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_part import PartList, SubjectPart
from reconciler.kinds.subjects.subjects import collide, intersection, is_subset, storable_subjects
from reconciler.model.resource import Address, Config

NAMED = 3


@rule("XX244", "captured-by-another-stream", needs=("neighbours",), reaction=Reaction.HARMS)
def captured_by_another_stream(change: Change, view: View) -> Iterator[Finding]:
    """A stream captures subjects to which another stream republishes, or to which a push consumer of another one delivers.

    From then on, the server stores each of these messages in the capturing stream as well, and its consumers get them. If
    that stream has a limit, it deletes its own oldest messages for them, or refuses its own publishers. Headers count as
    with every publish: a `Nats-Rollup` deletes stored messages, and of messages with the same `Nats-Msg-Id` the first is
    stored. Deliveries and heartbeats of a push consumer are sent only while a client is subscribed, and a capturing stream
    is no client.

    The rule judges changes of those that send and of those that capture. It needs consent if a limit then deletes or
    refuses, or if the capturing stream belongs to another topology or to none. If the capturing stream is new and its own
    topology sends, this is a warning: the stream has no messages yet. XX241 tells of messages that go round.

    Instead: republish or deliver to subjects that no other stream captures; or let a stream of its own capture them.
    """
    if view.is_stream(change.address) or change.address.kind == "consumer":
        yield from _findings_about_capturers(change, view)
    if view.is_stream(change.address):
        yield from _findings_about_senders(change, view)


def _findings_about_capturers(change: Change, view: View) -> Iterator[Finding]:
    """One finding for each stream that captures what this one sends."""
    sender = _sender_of(change, view)
    if not _changes_sending(change) or not (sent := list(_sent_afterwards(sender, view))):
        return
    path, does, to = _words_of(sender, view)
    for name in dict.fromkeys(name for messages in sent for name, _ in captured_subjects(view).near(messages.to)):
        if not _is_new(sender, name, view):
            continue
        address = _address_of(name, view)
        called = address.name if address else name
        effects = list(_effect_texts(sender, name, view, f" of {called}", f"{called}'s own"))
        made_by = afterwards(view).made_by.get(name)
        is_meant = not effects or (made_by is not None and made_by.action is Action.CREATE)
        yield Finding(
            outcome=Outcome.WARNS if is_meant else Outcome.NEEDS_CONSENT,
            path=path,
            to=to,
            message=f"{_label(name, address)} captures {_captured_subjects_text(sender, name, view)} and also stores each message that "
            f"this {_kind_noun(change.address)} {does} there{_while_subscribed_text(sender)}{_interest_clause(name, view)}"
            + "".join(f"; {text}" for text in (*_readers_text(sender, name, view), *effects)),
            affects=[*([address] if address else []), *(everybody(name, view) if effects else [])],
            fix=f"{'deliver' if sender.consumer else 'republish'} to subjects that no other stream captures"
            + (f"; leave it if {called} is to hold these messages" if is_meant else ""),
        )


def _findings_about_senders(change: Change, view: View) -> Iterator[Finding]:
    """One finding about everything that this stream captures besides, and whose senders do not tell it themselves."""
    name = view.stream_of(change.address) or ""
    if not (change.action is Action.CREATE or change.touches("subjects")):
        return
    near = _senders_to(_own_subjects(name, view), view)
    senders = [sender for sender in near if not _reports_itself(sender, view) and _is_new(sender, name, view)]
    if not senders:
        return
    effects = list(dict.fromkeys(effect for sender in senders for effect in _effect_texts(sender, name, view)))
    others = [f"{more:_} more of them send to it"] if (more := len(senders) - NAMED) > 0 else []
    is_own = not any(_owner_text(sender, view) for sender in senders)
    is_meant = not effects or (change.action is Action.CREATE and is_own)
    path = "subjects" if change.becomes("subjects") else ""
    yield Finding(
        outcome=Outcome.WARNS if is_meant else Outcome.NEEDS_CONSENT,
        path=path,
        to=change.becomes("subjects") if path else None,
        message=f"this {_kind_noun(change.address)} also stores each message that "
        f"{listed([*(_sending_text(sender, name, view) for sender in senders[:NAMED]), *others])}{_interest_clause(name, view)}"
        + "".join(f"; {effect}" for effect in effects),
        affects=everybody(name, view) if effects else [],
        fix=("write subjects that leave these out" if path else "let these messages go to other subjects first")
        + ("; leave it if this one is to hold them" if is_meant else ""),
    )


def _sender_of(change: Change, view: View) -> _Sender:
    if change.address.kind == "consumer":
        return _Sender(*change.address.names)
    return _Sender(view.stream_of(change.address) or "")


def _changes_sending(change: Change) -> bool:
    """Does this change decide what is sent, or where to?"""
    fields = ("deliver_subject",) if change.address.kind == "consumer" else SHAPES_FLOW
    return change.action is Action.CREATE or (change.action is Action.UPDATE and change.touches(*fields))


def _reports_itself(sender: _Sender, view: View) -> bool:
    change = _change_of(sender, view)
    return change is not None and _changes_sending(change)


def _words_of(sender: _Sender, view: View) -> tuple[str, str, str]:
    """The field that says where to, what the sender does, and the value of that field."""
    if sender.consumer:
        return "deliver_subject", "delivers", next(_sent_afterwards(sender, view)).to
    return "republish.dest", "republishes", afterwards(view).streams[sender.stream]["republish"]["dest"]


def _own_subjects(name: str, view: View) -> Iterable[str]:
    return storable_subjects(afterwards(view).streams.get(name, {})).values()


def _is_new(sender: _Sender, name: str, view: View) -> bool:
    """Does this stream store anything of it that it does not store now? A loop is for another rule to tell."""
    if name == sender.stream or afterwards(view).streams[name].get("sealed"):
        return False
    if not sender.consumer and any({name, sender.stream} <= {*way} for way in loops(view)):
        return False
    live = live_streams(view).get(_former_name(name, view), {}).get("subjects") or ()
    before = list(_arriving_messages(_sent_now(sender, view), live))
    return any(
        not any(is_subset(sent.stored, old.stored) and is_subset(sent.to, old.to) for old in before)
        for sent in _arriving_messages(_sent_afterwards(sender, view), _own_subjects(name, view))
    )


def _effect_texts(sender: _Sender, name: str, view: View, of: str = "", own: str = "its own") -> Iterator[str]:
    """What the capturing stream then does to its own messages and publishers. `of` and `own` name it, if it is not the one
    that changes."""
    config, sends = afterwards(view).streams[name], afterwards(view).streams.get(sender.stream, {})
    refuses = config.get("discard") == "new"
    for field in ("max_msgs", "max_bytes"):
        if limit := _limit_text(field, name, view, of):
            if refuses:
                yield f"once {limit} is reached, the server refuses {own} publishers (10077)"
            else:
                yield f"{limit} then deletes {own} oldest messages"
    if limit := _limit_text("max_msgs_per_subject", name, view, of):
        if refuses and config.get("discard_new_per_subject"):
            yield f"once a subject holds {limit}, the server refuses {own} publishers there (10077)"
        else:
            yield f"{limit} then deletes {own} older messages of the same subject"
    if config.get("allow_rollup_hdrs") and sends.get("allow_rollup_hdrs"):
        yield f"a message with `Nats-Rollup` deletes {own} older messages"


def _limit_text(field: str, name: str, view: View, of: str) -> str:
    """`max_msgs (20) of S`, `its history (1)`; empty if there is no such limit."""
    most, address = afterwards(view).streams[name].get(field) or 0, _address_of(name, view)
    if most <= 0:
        return ""
    own_field = view.kinds[address.kind].own_name(field) if address else field
    limit = f"{own_field} ({written_size(most) if field == 'max_bytes' else some(most)})"
    return f"{limit}{of}" if of else f"its {limit}"


def _captured_sent_subjects(sender: _Sender, name: str, view: View) -> tuple[str, ...]:
    """The subjects on which it captures what is sent."""
    met = _arriving_messages(_sent_afterwards(sender, view), _own_subjects(name, view))
    return tuple(dict.fromkeys(sent.to for sent in met))


def _captured_subjects_text(sender: _Sender, name: str, view: View) -> str:
    return few([f"`{subject}`" for subject in _captured_sent_subjects(sender, name, view)], NAMED)


def _readers_text(sender: _Sender, name: str, view: View) -> Iterator[str]:
    """Who gets these messages now, and did not before."""
    met = _captured_sent_subjects(sender, name, view)
    is_renamed = bool((afterwards(view).streams[name].get("subject_transform") or {}).get("dest"))
    readers = [
        reader
        for reader in (*consumer_readers(name, view), *copying_readers(name, view))
        if is_renamed or reader.wants_any(PartList(map(SubjectPart, met)))
    ]
    if readers:
        yield f"{few([reader.label for reader in readers], NAMED)} {verb(len(readers), 'get')} it as well"


def _interest_clause(name: str, view: View) -> str:
    return ", if a consumer wants it" if afterwards(view).streams[name].get("retention") == "interest" else ""


def _while_subscribed_text(sender: _Sender) -> str:
    return " while a client is subscribed" if sender.consumer else ""


def _sending_text(sender: _Sender, name: str, view: View) -> str:
    """`stream RA (owned by `audit`) republishes to `rb.>``."""
    to, who = _captured_subjects_text(sender, name, view), _owner_text(sender, view)
    if sender.consumer:
        return f"consumer {sender.consumer} of {sender.stream}{who} delivers to {to}{_while_subscribed_text(sender)}"
    return f"{_label(sender.stream, _address_of(sender.stream, view))}{who} republishes to {to}"


def _owner_text(sender: _Sender, view: View) -> str:
    """Whose it is, if it does not belong to this topology."""
    if sender.consumer:
        addresses = consumers(sender.stream, [sender.consumer], view) or [Address.of("consumer", *sender)]
    else:
        addresses = [address] if (address := _address_of(sender.stream, view)) else []
    for other in view.others(addresses):
        nobody = "owned by no topology" if view.ledger_known else "owner unknown"
        return f" ({f'owned by `{other.owner}`' if other.owner else nobody})"
    return ""


def _address_of(name: str, view: View) -> Address | None:
    change = afterwards(view).made_by.get(name)
    return change.address if change else next(iter(streams([name], view)), None)


def _label(name: str, address: Address | None) -> str:
    """`stream S`, `bucket B`, `object store O`."""
    return f"{_kind_noun(address)} {address.name}" if address and address.kind != "stream" else f"stream {name}"


def _kind_noun(address: Address) -> str:
    return address.kind.removeprefix("kv_").replace("_", " ")


class _Sender(NamedTuple):
    """A stream that republishes, or one of its push consumers."""

    stream: str
    consumer: str = ""


class _SentMessages(NamedTuple):
    """Messages that are sent, by the subject they are stored under and the subject they are sent to."""

    stored: str
    to: str


def _change_of(sender: _Sender, view: View) -> Change | None:
    """What this plan does to the sender; None: it does not belong to this topology."""
    if sender.consumer:
        return view.changes.get(Address.of("consumer", *sender))
    return afterwards(view).made_by.get(sender.stream)


def _sent_afterwards(sender: _Sender, view: View) -> Iterator[_SentMessages]:
    """What is sent once the plan is applied."""
    if sender.consumer:
        return _delivered_messages(_consumers_afterwards(view).get(sender))
    return _republished_messages(sender.stream, afterwards(view).streams, stored_subjects_afterwards(view))


def _sent_now(sender: _Sender, view: View) -> Iterator[_SentMessages]:
    """What is sent already, perhaps under an old name."""
    change = _change_of(sender, view)
    if not sender.consumer:
        return _republished_messages(_former_name(sender.stream, view), live_streams(view), stored_subjects_now(view))
    if change is not None:
        return _delivered_messages(change.live.config if change.live else None)
    return _sent_afterwards(sender, view)


def _former_name(stream: str, view: View) -> str:
    """The live name of a stream that gets another one, else its own."""
    change = afterwards(view).made_by.get(stream)
    return (view.stream_of(change.origin) if change and change.origin else None) or stream


def _republished_messages(
    name: str, all_streams: Mapping[str, Config], stored: StoredSubjects
) -> Iterator[_SentMessages]:
    republish = all_streams.get(name, {}).get("republish")
    if republish and republish.get("dest"):
        for subject in narrowed_subjects(stored.by(name) or (">",), republish.get("src") or ">"):
            yield _SentMessages(subject, republished_subject(subject, republish))


def _delivered_messages(config: Config | None) -> Iterator[_SentMessages]:
    if config and config.get("deliver_subject"):
        yield _SentMessages(">", config["deliver_subject"])


@lru_cache(maxsize=4)
def _consumers_afterwards(view: View) -> Mapping[_Sender, Config]:
    """Every push consumer as it will be; computed once per view."""
    configs: dict[_Sender, Config] = {}
    for stream in afterwards(view).streams:
        for name, info in view.snapshot.consumers.get(stream, {}).items():
            configs[_Sender(stream, name)] = info["config"]
        for change in view.children(stream, "consumer"):
            sender = _Sender(stream, change.address.name)
            if change.action in GONE:
                configs.pop(sender, None)
            elif change.desired:
                configs[sender] = change.desired.config
    return {sender: config for sender, config in configs.items() if config.get("deliver_subject")}


def _senders_to(subjects: Iterable[str], view: View) -> list[_Sender]:
    """Those that send to subjects that may collide with these; some of them do not."""
    near = (sender for subject in subjects for sender, _ in _all_sent(view).near(subject))
    return [_Sender(*address.split("/")) for address in dict.fromkeys(near)]


@lru_cache(maxsize=4)
def _all_sent(view: View) -> SubjectIndex[str]:
    """Every subject that messages will be sent to, by `stream/` or `stream/consumer`; computed once per view."""
    republishing = (_Sender(name) for name, config in afterwards(view).streams.items() if config.get("republish"))
    return SubjectIndex(
        ("/".join(sender), sent.to)
        for sender in (*republishing, *_consumers_afterwards(view))
        for sent in _sent_afterwards(sender, view)
    )


def _arriving_messages(sent: Iterable[_SentMessages], subjects: Iterable[str]) -> Iterator[_SentMessages]:
    """The part of it that somebody with these subjects captures."""
    theirs = list(subjects)
    for messages in sent:
        for subject in theirs:
            if collide(messages.to, subject) and (both := intersection(messages.to, subject)):
                yield _SentMessages(messages.stored, both)


RULES = (captured_by_another_stream,)
