"""Everything that sends messages to subjects which streams may capture: streams that republish, and push consumers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.across.republishing import republished_subject
from reconciler.kinds.afterwards.readers import stored_afterwards, stored_now
from reconciler.kinds.afterwards.stored import StoredSubjects, narrowed
from reconciler.kinds.afterwards.streams import GONE, afterwards, live_streams
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, meet
from reconciler.model.resource import Address, Config


class Sender(NamedTuple):
    """A stream that republishes, or one of its push consumers."""

    stream: str
    consumer: str = ""


class SentMessages(NamedTuple):
    """Messages that are sent, by the subject they are stored under and the subject they are sent to."""

    stored: str
    to: str


def change_of(sender: Sender, view: View) -> Change | None:
    """What this plan does to the sender; None: it does not belong to this topology."""
    if sender.consumer:
        return view.changes.get(Address.of("consumer", *sender))
    return afterwards(view).made_by.get(sender.stream)


def sent_afterwards(sender: Sender, view: View) -> Iterator[SentMessages]:
    """What is sent once the plan is applied."""
    if sender.consumer:
        return _delivered(_consumers_afterwards(view).get(sender))
    return _republished(sender.stream, afterwards(view).streams, stored_afterwards(view))


def sent_now(sender: Sender, view: View) -> Iterator[SentMessages]:
    """What is sent already, perhaps under an old name."""
    change = change_of(sender, view)
    if not sender.consumer:
        return _republished(former_name(sender.stream, view), live_streams(view), stored_now(view))
    if change is not None:
        return _delivered(change.live.config if change.live else None)
    return sent_afterwards(sender, view)


def former_name(stream: str, view: View) -> str:
    """The live name of a stream that gets another one, else its own."""
    change = afterwards(view).made_by.get(stream)
    return (view.stream_of(change.origin) if change and change.origin else None) or stream


def _republished(name: str, all_streams: Mapping[str, Config], stored: StoredSubjects) -> Iterator[SentMessages]:
    republish = all_streams.get(name, {}).get("republish")
    if republish and republish.get("dest"):
        for subject in narrowed(stored.by(name) or (">",), republish.get("src") or ">"):
            yield SentMessages(subject, republished_subject(subject, republish))


def _delivered(config: Config | None) -> Iterator[SentMessages]:
    if config and config.get("deliver_subject"):
        yield SentMessages(">", config["deliver_subject"])


@lru_cache(maxsize=4)
def _consumers_afterwards(view: View) -> Mapping[Sender, Config]:
    """Every push consumer as it will be; computed once per view."""
    found: dict[Sender, Config] = {}
    for stream in afterwards(view).streams:
        for name, info in view.snapshot.consumers.get(stream, {}).items():
            found[Sender(stream, name)] = info["config"]
        for change in view.children(stream, "consumer"):
            sender = Sender(stream, change.address.name)
            if change.action in GONE:
                found.pop(sender, None)
            elif change.desired:
                found[sender] = change.desired.config
    return {sender: config for sender, config in found.items() if config.get("deliver_subject")}


def senders_to(subjects: Iterable[str], view: View) -> list[Sender]:
    """Those that send to subjects that may collide with these; some of them do not."""
    near = (sender for subject in subjects for sender, _ in _all_sent(view).near(subject))
    return [Sender(*address.split("/")) for address in dict.fromkeys(near)]


@lru_cache(maxsize=4)
def _all_sent(view: View) -> SubjectIndex:
    """Every subject that messages will be sent to, by `stream/` or `stream/consumer`; computed once per view."""
    index = SubjectIndex()
    republishing = (Sender(name) for name, config in afterwards(view).streams.items() if config.get("republish"))
    for sender in (*republishing, *_consumers_afterwards(view)):
        for sent in sent_afterwards(sender, view):
            index.add("/".join(sender), sent.to)
    return index


def arriving(sent: Iterable[SentMessages], subjects: Iterable[str]) -> Iterator[SentMessages]:
    """The part of it that somebody with these subjects captures."""
    theirs = list(subjects)
    for one in sent:
        for subject in theirs:
            if collide(one.to, subject) and (both := meet(one.to, subject)):
                yield SentMessages(one.stored, both)
