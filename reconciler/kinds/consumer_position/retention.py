"""What the stream of a consumer keeps, now and after this plan."""

from __future__ import annotations

from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.model.resource import Address


def is_queue(change: Change, view: View) -> bool:
    """The stream is a work queue, now or after this plan: it holds exactly what is still to be done."""
    return "workqueue" in _retentions(change, view)


def is_interest(change: Change, view: View) -> bool:
    """The stream has interest retention, now or after this plan: it deletes what no consumer wants."""
    return "interest" in _retentions(change, view)


def _retentions(change: Change, view: View) -> set[str]:
    """The stream's, now and after this plan."""
    stream = Address.of("stream", change.address.stream)
    streams = [
        resources[stream]
        for resources in (view.live, view.desired)
        if stream in resources and not resources[stream].external
    ]
    return {resource.config.get("retention", "limits") for resource in streams}


@lru_cache(maxsize=4)
def switches(view: View) -> dict[str, Change]:
    """Streams whose retention changes, by name."""
    updated = (
        change
        for address, change in view.changes.items()
        if address.kind == "stream" and change.action is Action.UPDATE
    )
    return {change.address.name: change for change in updated if change.touches("retention")}


def retention_of(stream: str, view: View) -> str:
    """The stream's retention when this consumer changes. It is limits if the retention changes in the same plan, in
    either direction: consumers change while their stream keeps everything."""
    if stream in switches(view):
        return "limits"
    info = view.snapshot.streams.get(stream, {})
    return str(info.get("config", {}).get("retention", "limits"))
