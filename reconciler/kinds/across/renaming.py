"""Names that no server changes: what to do instead, step by step."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.changes.change import Action, Change
from reconciler.changes.renaming import Renaming, removal_text
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import elastic_groups, owner_of_stream, static_groups
from reconciler.kinds.afterwards.streams import afterwards, copies, live_streams
from reconciler.kinds.consumer_checks.pull_push import pushes
from reconciler.kinds.losses.dependants import streams
from reconciler.kinds.stream_config.origins import group_creation_consents, group_removal_consents
from reconciler.model.resource import Address


@rule("XX110", "name-is-fixed", on=(Action.CREATE,), needs=("live",))
def name_is_fixed(change: Change, view: View) -> Found:
    """`moved:` gives another name to something that no server renames: a stream, a bucket, an object store, a group, or
    a consumer on another stream. The name is part of its subjects, its files and its clients.

    Only a copy can have another name, and clients must move to it. For each kind there are steps that lose nothing; the
    refusal prints them with the names filled in.

    Instead: follow those steps, without the entry in `moved`; or keep the name.
    """
    if change.origin is None:
        return None
    old, new = change.origin, change.address
    if old not in view.live:
        return refusal(
            "",
            f"{old} is gone only in part, and the rest of it cannot become {new}",
            f"declare it as {old} again, without the entry in `moved`, and apply: it continues at its position",
        )
    request = _renaming_request(old, new, view)
    recipe = view.kinds[new.kind].recipe(request)
    steps = ["Remove the entry from `moved`, and keep both declared until the end.", *recipe]
    steps.append(removal_text(request, _other_removals_text(request)))
    numbered = "\n".join(f"  {number}. {text}" for number, text in enumerate(steps, 1))
    noun = new.kind.replace("_", " ")
    return refusal(
        "",
        f"no server renames {'an' if noun[0] in 'eo' else 'a'} {noun}, so {old} cannot become {new}",
        f"copy it, and move its clients:\n{numbered}",
    )


def _renaming_request(old: Address, new: Address, view: View) -> Renaming:
    """The recipe is about what copies or divides it now; the files may already name the new one."""
    resource, declared, stream, groups = (
        view.live.get(old),
        view.desired.get(new),
        view.stream_of(old),
        elastic_groups(view),
    )
    every = [copy for name, config in live_streams(view).items() for copy in copies(name, config)]
    theirs = [copy for copy in every if copy.origin == stream]
    divided = [groups[copy.stream] for copy in theirs if copy.stream in groups]
    divided += [group for group, _ in static_groups(stream, view)] if stream else []
    plain = [copy for copy in theirs if copy.stream not in groups]
    return Renaming(
        old=old,
        new=new,
        live=resource.config if resource else {},
        version=view.target.version,
        left_out=frozenset(declared.filled if declared else ()),
        mirrors=_names_with_owning_topologies((copy.stream for copy in plain if copy.is_mirror), view),
        sourcing=_names_with_owning_topologies((copy.stream for copy in plain if not copy.is_mirror), view),
        groups=tuple(
            _name_with_owning_topology(address.name, view.owner_of(address.kind, *address.names)) for address in divided
        ),
        has_consumers=any(address.kind == "consumer" and address.stream == stream for address in view.live),
        pushed=tuple(
            address.name
            for address, live in view.live.items()
            if address.kind == "consumer" and address.stream == stream and pushes(live.config)
        ),
        retention=_stream_retention(old, view),
        into=str((afterwards(view).streams.get(new.stream) or {}).get("retention", "limits")),
        consents=group_creation_consents(new.stream, declared.config, view)
        if declared and new.kind == "elastic_group"
        else (),
        removal_consents=group_removal_consents(old.stream, view) if old.kind == "elastic_group" else (),
        is_fed=any(copy.stream == new.stream for copy in afterwards(view).copiers.get(old.stream, ())),
    )


def _names_with_owning_topologies(names: Iterable[str], view: View) -> tuple[str, ...]:
    """Each once, by the name that its kind uses."""
    own_names = {name: next((address.name for address in streams([name], view)), name) for name in names}
    return tuple(
        _name_with_owning_topology(own_name, owner_of_stream(name, view)) for name, own_name in own_names.items()
    )


def _name_with_owning_topology(name: str, owner: str | None) -> str:
    """The name, with its owner if another topology owns it and must do its part."""
    return f"{name} (of {owner})" if owner else name


def _other_removals_text(request: Renaming) -> str:
    """Consumers of a stream or a bucket are resources of their own, and so is everything else that depends on it."""
    others = [
        *(["its consumers"] if request.has_consumers else []),
        *(f"its group {group}" for group in request.groups),
    ]
    others += [f"{mirror} and its consumers" for mirror in request.mirrors]
    return "".join(f", the same of {other}" for other in others)


RULES = (name_is_fixed,)


def _stream_retention(address: Address, view: View) -> str:
    """Of the stream that this belongs to."""
    stream = view.live.get(Address.of("stream", address.stream))
    return str(stream.config.get("retention", "limits")) if stream else "limits"
