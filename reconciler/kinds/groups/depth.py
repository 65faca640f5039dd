"""What waits in each partition. The first token of a queue's subjects is the number of the partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from reconciler.kinds.groups.model import Group
from reconciler.kinds.groups.places import locate, patterns
from reconciler.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Depths:
    """Messages and distinct subjects per partition."""

    messages: tuple[int, ...]
    subjects: tuple[int, ...]
    outside: Mapping[str, int]
    """Messages whose first token is no partition of this group."""

    def of(self, partitions: tuple[int, ...]) -> int:
        """Messages in these partitions together; a partition that the group does not have counts as empty."""
        return sum(self.messages[number] for number in partitions if 0 <= number < len(self.messages))

    @property
    def total(self) -> int:
        """Messages in all partitions, and outside of all."""
        return sum(self.messages) + sum(self.outside.values())


def depths(counts: Mapping[str, int], partitions: int) -> Depths:
    """The depths, given the message counts per subject of the stream that members read."""
    messages, subjects = Counter[str](), Counter[str]()
    for subject, number in counts.items():
        token = subject.partition(".")[0]
        messages[token] += number
        subjects[token] += 1
    inside = [str(number) for number in range(partitions)]
    return Depths(
        messages=tuple(messages[token] for token in inside),
        subjects=tuple(subjects[token] for token in inside),
        outside={token: messages[token] for token in sorted(messages.keys() - set(inside))},
    )


def foreseen(counts: Mapping[str, int], group: Group) -> Depths:
    """How the subjects stored in the source would spread over the partitions, hashed here."""
    return depths(Counter(_prefixed(counts, group)), group.partitions)


def _prefixed(counts: Mapping[str, int], group: Group) -> dict[str, int]:
    found = ((locate(subject, pattern), number) for subject, number in counts.items() for pattern in patterns(group))
    return {f"{at.partition}.{at.key}": number for at, number in found if at is not None and at.is_subject}
