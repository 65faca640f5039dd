"""The filter of a page: a field to type in, and a button for each sort of entry."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.model.dataclass import dataclass
from reconciler.report.html.markup import Markup, element


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A button that shows only one section of entries."""

    key: str
    mark: str
    word: str
    count: int


def controls(chips: Sequence[Chip]) -> Markup:
    """Return the controls, which stay hidden until the script shows them."""
    buttons = [
        element(
            "button", f"{chip.mark} {chip.word} ".lstrip(), element("b", f"{chip.count:_}"),
            type="button", aria_pressed="false", data_section=chip.key, class_=f"chip is-{chip.key}",
        )
        for chip in chips
    ]  # fmt: skip
    return element(
        "div",
        element(
            "label", "Filter ",
            element("input", type="search", id="filter", placeholder="name, field or code   ( / )", autocomplete="off"),
        ),
        element("span", *buttons, class_="chips", role="group", aria_label="Show only"),
        element("button", "open all", type="button", id="open", class_="chip"),
        element("output", id="count", for_="filter"),
        element("span", "Nothing matches the filter.", id="none", class_="quiet", hidden=True),
        class_="controls", id="controls", hidden=True,
    )  # fmt: skip
