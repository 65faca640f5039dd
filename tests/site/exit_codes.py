"""The page about exit codes, from the one table of them, and which command may end with which."""

from __future__ import annotations

from reconciler.cli.shared import exits
from tests.site.commands import every, exit_codes
from tests.site.markdown import page, table


def pages() -> dict[str, str]:
    """By its path below docs/."""
    return {"reference/exit-codes.md": _page()}


def _page() -> str:
    meanings = ((f"{code}", one.name, one.about, one.then) for code, one in exits.MEANINGS.items())
    others = (
        (f"[`{words}`](commands/{words.split()[0]}.md)", ", ".join(str(code) for code in own))
        for words, command in every()
        if (own := [code for code in exit_codes(command) if code not in exits.ALWAYS])
    )
    return page(
        ["# Exit codes"],
        ["The same for every command, so that a pipeline can tell a refusal from a server that does not answer."],
        table(("code", "", "a command ends so when", "what a pipeline should do"), meanings),
        [
            f"Where several hold, the first of these counts: {', '.join(map(str, exits.WORST_FIRST))}. With several",
            "topologies, environments or targets, the code of the run is the first one that any of them has.",
        ],
        ["## Which command ends how"],
        [f"Every command may end with {', '.join(map(str, exits.ALWAYS[:-1]))} or {exits.ALWAYS[-1]}. These may also end otherwise:"],
        table(("command", "codes"), others),
    )  # fmt: skip
