"""`reconciler apply plan.json`: applies exactly what was reviewed, as far as it still fits the live state."""

from __future__ import annotations

import shlex
from pathlib import Path

from reconciler.cli.account.apply_run import Agreed, Manner, confirmed
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.connecting import Connection
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import Progress, say
from reconciler.journeys.saved import saving
from reconciler.journeys.saved.saved_plan import Saved
from reconciler.journeys.saved.saving import SavedReview
from reconciler.model.diagnostic import about_topology
from reconciler.report.document.document import Document
from reconciler.report.words.values import counted
from reconciler.server.connect.connection import session
from reconciler.server.wire.api import JetStream


class SavedRun:
    """One apply of a saved plan, from reading the file to the last line."""

    def __init__(self, manner: Manner, file: Path, connection: Connection) -> None:
        self._manner, self._file, self._connection = manner, file, connection

    async def through(self) -> int:
        """Apply the saved plan, and return the exit code; 1 where it could not be shown, or nobody confirmed it."""
        saved = saving.read(self._file)
        goes_ahead = self._manner.goes_ahead(saved.plan)
        if not self._shown(saved, goes_on=goes_ahead):
            return exits.FAILED
        if not goes_ahead:
            return self._manner.nothing_done(saved.plan)
        with about_topology(saved.plan.topology):
            async with session(self._connection.options()) as js:
                return await self._apply(await self._reviewed(saved, js), js)

    def _shown(self, saved: Saved, *, goes_on: bool) -> bool:
        return self._manner.shows(self._document(saved, goes_on=goes_on))

    def _document(self, saved: Saved, *, goes_on: bool) -> Document:
        return document(
            command="apply", topology=saved.plan.topology, plan=saved.plan, declared=saved.topology, goes_on=goes_on,
            arguments=self._again(saved), applying=self._connection.arguments(str(self._file)),
            paper=self._manner.paper,
        )  # fmt: skip

    async def _reviewed(self, saved: Saved, js: JetStream) -> SavedReview:
        progress = Progress()
        progress.show("comparing the plan with the account …")
        try:
            return await saving.review(saved, js)
        finally:
            progress.clear()

    async def _apply(self, reviewed: SavedReview, js: JetStream) -> int:
        saved, outlook = reviewed.saved, reviewed.outlook
        if outlook.is_done:
            if self._manner.format is common.PlainFormat.TEXT:
                say("\nEverything in this plan is done already; nothing was changed.\n")
            return self._manner.nothing_done(saved.plan, outlook.as_wanted)
        done = [one for one in saved.plan.changes if one.action.writes and one.address in outlook.as_wanted]
        if self._manner.format is common.PlainFormat.TEXT and done:
            say(f"\nAlready done: {counted(len(done), 'change')} of this plan.\n")
        if self._manner.format is common.PlainFormat.TEXT and outlook.counted_again:
            say("\nCounted again:\n" + "".join(f"  {text}\n" for text in outlook.counted_again))
        if not self._manner.yes and not confirmed(outlook.plan):
            return self._manner.declined(saved.plan)
        agreed = Agreed(
            what=reviewed, plan=saved.plan, shown=self._document(saved, goes_on=True), arguments=self._again(saved),
            manner=self._manner, as_wanted=outlook.as_wanted,
        )  # fmt: skip
        return await agreed.carried_out(js)

    def _again(self, saved: Saved) -> str:
        """Return the arguments of a `plan` that shows the live state."""
        terms = saved.options
        allow = tuple("=".join(pair) for pair in terms.allow)
        options = (
            ("--only", terms.only),
            ("--exclude", terms.exclude),
            ("--allow", allow),
            ("--take-over", terms.take_over),
        )
        return self._connection.arguments(*saved.paths, options=options) or shlex.quote(str(self._file))
