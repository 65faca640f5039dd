"""Mirrors and sources: what they cannot be combined with, what each says of its origin, and which are the same one
twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.verdict import Finding, Reaction
from reconciler.kinds.fields.known import V2_12, V2_14
from reconciler.kinds.stream_config.config_checks import Sent, config_check, objection, sources_of
from reconciler.kinds.stream_config.stream_config import FIELDS
from reconciler.kinds.subjects.subjects import LONGEST_NAME, is_literal, is_valid, name_problem
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

NOT_IN_A_MIRROR: Mapping[str, str] = {
    "subjects": "a mirror stores what its origin stores",
    "sources": "a mirror copies exactly one origin",
    "first_seq": "a mirror has the sequences of its origin",
    "allow_msg_counter": "nobody can publish into a mirror",
    "allow_atomic": "nobody can publish into a mirror",
    "allow_batched": "nobody can publish into a mirror",
    "allow_msg_schedules": "nobody can publish into a mirror",
    "subject_delete_marker_ttl": "markers of its own would shift the mirror's sequences",
}
JS_API = "$JS.API"
SOURCE_HEADER = 512
"""About as many bytes a source may add to a message: it writes a header with the origin, the sequence and the subject."""


@config_check(546, "mirror-with-more", err_code=(10034, 10031, 10143, 10173, 10198, 10209, 10186, 10052))
def mirror_with_more(sent: Sent) -> Iterator[Finding]:
    """A mirror has something that a mirror cannot have: subjects, sources, a first sequence, delete markers, or options
    for publishing.

    A mirror is an exact copy of one stream, sequence by sequence. Servers refuse what would make it differ. They
    accept a duplicate window, which means nothing there, and forget it at their next start.

    Instead: remove the field, or use `sources` instead of `mirror`.
    """
    for name, why in NOT_IN_A_MIRROR.items() if "mirror" in sent.config else ():
        if name in sent.config and FIELDS[name].since <= sent.version:
            path = sent.own(name)
            yield objection(
                path,
                f"{path} cannot be combined with mirror: {why}",
                f"remove {path}, or use sources instead of mirror",
            )
    if "mirror" in sent.config and "duplicate_window" in sent.config:
        path = sent.own("duplicate_window")
        yield objection(
            path,
            f"{path} means nothing for a mirror, and servers forget it when they start",
            f"remove {path}",
            reaction=Reaction.INERT,
        )


@config_check(
    547, "bad-source", err_code=(10141, 10142, 10144, 10150, 10049, 10140, 10216, 10213, 10215, 10021, 10024, 10052)
)
def bad_source(sent: Sent) -> Iterator[Finding]:
    """Servers refuse this mirror or source. Either no stream can have the origin's name, or the same source appears
    twice, or a filter is invalid or combined with transforms, or an external prefix has wildcards, or a consumer block
    is incomplete or filters.

    If an *update* of `sources` brings an invalid filter, the server accepts it and loses the stream at its next
    restart. A stream that only 2.11 accepts is lost at the upgrade.

    Instead: correct it as the message says.
    """
    for path, source in sources_of(sent.config):
        yield from _check_origin_name(sent, path, source)
        yield from _check_filter(sent, path, source)
        yield from _check_prefixes(path, source.get("external") or {})
        if "consumer" in source and sent.version >= V2_14:
            yield from _check_consumer_block(path, source)
    yield from _check_duplicates(sent)


def _check_origin_name(sent: Sent, path: str, source: Json) -> Iterator[Finding]:
    name = source.get("name", "")
    if (problem := name_problem(name)) is None:
        return
    reaction = None
    if len(name.encode()) > LONGEST_NAME or (path == "mirror" and "external" in source):
        reaction = Reaction.INERT
    elif sent.version < V2_12 and {"/", "\\"} & set(name):
        reaction = Reaction.DOOMS
    yield objection(
        f"{path}.name", f"no stream can be called `{name}`: {problem}", "write the origin's name", reaction=reaction
    )


def _check_filter(sent: Sent, path: str, source: Json) -> Iterator[Finding]:
    subject = source.get("filter_subject", "")
    if subject and source.get("subject_transforms"):
        yield objection(
            f"{path}.filter_subject",
            f"{path} has both filter_subject and subject_transforms",
            "keep one: a transform's src filters as well",
            reaction=reaction_before_2_12(sent, path, source),
        )
    if subject and not is_valid(subject):
        doomed = not sent.is_new and path != "mirror"
        yield objection(
            f"{path}.filter_subject",
            f"`{subject}` is not a valid subject"
            + ("; the server would accept it, and lose this stream at its next restart" if doomed else ""),
            "write tokens between single dots, without white space, `>` only at the end",
            reaction=Reaction.DOOMS if doomed else None,
            can_stand=path != "mirror",
        )


def reaction_before_2_12(sent: Sent, path: str, source: Json) -> Reaction | None:
    """2.11 ignores the filters and transforms of external sources; a later server that finds them in its store checks
    them."""
    return Reaction.DOOMS if sent.version < V2_12 and path != "mirror" and "external" in source else None


def _check_prefixes(path: str, external: Mapping[str, str]) -> Iterator[Finding]:
    for name in ("api", "deliver"):
        prefix = external.get(name, "")
        if prefix and not (is_valid(prefix) and is_literal(prefix)):
            yield objection(
                f"{path}.external.{name}",
                f"`{prefix}` is not a valid prefix: a prefix is tokens between single dots, without wildcards",
                "write for example $JS.hub.API",
            )
    if external.get("api") == JS_API:
        yield objection(
            f"{path}.external.api",
            f"`{JS_API}` is this account's own API",
            "write the prefix that leads to the other account or domain, or remove external",
        )


def _check_consumer_block(path: str, source: Json) -> Iterator[Finding]:
    consumer = source["consumer"]
    name, deliver = consumer.get("name", ""), consumer.get("deliver_subject", "")
    if problem := name_problem(name):
        too_long = len(name.encode()) > LONGEST_NAME
        yield objection(
            f"{path}.consumer.name",
            f"no consumer can be called `{name}`: {problem}",
            "write the name of the consumer on the origin",
            reaction=Reaction.INERT if too_long else None,
        )
    if not (is_valid(deliver) and is_literal(deliver)):
        yield objection(
            f"{path}.consumer.deliver_subject",
            f"`{deliver}` is not a valid subject without wildcards"
            if deliver
            else "the consumer's deliver_subject is missing",
            "write the consumer's own deliver subject",
        )
    for other in ("opt_start_seq", "opt_start_time", "filter_subject"):
        if other in source:
            yield objection(
                f"{path}.{other}",
                f"{other} cannot be combined with consumer: the consumer says where to start and what to copy",
                f"remove {other}, and set it in the consumer",
            )


def _check_duplicates(sent: Sent) -> Iterator[Finding]:
    seen: dict[object, int] = {}
    copying: dict[object, int] = {}
    for index, source in enumerate(sent.config.get("sources", ())):
        first = seen.setdefault(source_identity(source, sent.version), index)
        if first != index:
            yield objection(
                f"sources[{index}]",
                f"sources[{index}] is the same source as sources[{first}]: another start does not make it another source",
                "remove one of them, or give them different filters",
            )
        elif "consumer" in source and sent.version >= V2_14:
            other = copying.setdefault((*origin_of(source), source["consumer"].get("name")), index)
            if other != index:
                yield objection(
                    f"sources[{index}].consumer",
                    f"sources[{index}] copies through the same consumer as sources[{other}]",
                    "give each of them its own consumer",
                )


def source_identity(source: Json, version: Version) -> object:
    """A key that is equal for what servers treat as the same source: the origin, the way there, and what is copied under which subjects."""
    filtered = [(source.get("filter_subject", ">"), ">")]
    renamed = [
        (transform.get("src", ">"), transform.get("dest", ">")) for transform in source.get("subject_transforms", ())
    ]
    through = source.get("consumer", {}).get("name") if version >= V2_14 else None
    return (*origin_of(source), through, tuple(renamed or filtered))


def source_index(source: Json) -> tuple[str, str, str] | None:
    """How servers name a source in the headers of its copies: by the origin, what is copied of it, and under which
    subjects. None: the origin lies elsewhere, and a hash of the way there names it."""
    if source.get("external"):
        return None
    renamed = source.get("subject_transforms") or ()
    taken = "\f".join(transform.get("src") or ">" for transform in renamed) or source.get("filter_subject") or ">"
    return source["name"], taken, "\f".join(transform.get("dest") or ">" for transform in renamed) or ">"


def origin_of(source: Json) -> tuple[Json, Json]:
    """The origin's name, and the API prefix that leads to it; None as prefix: it lies in this account."""
    external = source.get("external")
    return source.get("name"), external.get("api", "") if external else None


def origin_label(source: Json) -> str:
    """The origin as texts name it: in another account or domain there may be a stream of the same name."""
    name, prefix = origin_of(source)
    return f"{name} behind {prefix}" if prefix else str(name)


@config_check(110, "source-start-change")
def source_start_change(sent: Sent) -> Iterator[Finding]:
    """The start of an existing source changes.

    The server answers ok and shows the new start, but continues after the last message it has copied. Only a source
    that did not exist before uses its start. A source with another filter is another source. An `opt_start_seq` may be
    taken out: the source then continues after its last message also when the server has lost sight of it (XX213, ST312).

    Instead: leave the start as it is live; to copy again from elsewhere, declare a second stream.
    """
    before = {source_identity(source, sent.version): source for source in sent.live.get("sources", ())}
    for index, source in enumerate(sent.config.get("sources", ())):
        was = before.get(source_identity(source, sent.version), source)
        for start in ("opt_start_seq", "opt_start_time"):
            if source.get(start) != was.get(start) and (start in source or start == "opt_start_time"):
                yield objection(
                    f"sources[{index}].{start}",
                    f"{start} has no effect on an existing source: the server would answer ok and continue where it is",
                    f"write {start}: {was[start]}, as it is live" if start in was else f"remove {start}, as it is live",
                    reaction=Reaction.INERT,
                )


CHECKS = (mirror_with_more, bad_source, source_start_change)
