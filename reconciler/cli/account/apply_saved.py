"""`reconciler apply plan.json`: applies exactly what was reviewed, as far as it still fits the live state."""

from __future__ import annotations

import shlex
from pathlib import Path

from reconciler.cli.account.apply_run import AgreedPlan, Manner, confirm_plan
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.connecting import Connection
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import doing, say
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

    async def run(self) -> int:
        """Apply the saved plan, and return the exit code; 1 where it could not be shown, or nobody confirmed it."""
        saved = saving.read_plan(self._file)
        goes_ahead = self._manner.can_apply(saved.plan)
        if not self._show(saved, goes_on=goes_ahead):
            return exits.FAILED
        if not goes_ahead:
            return self._manner.report_nothing_done(saved.plan)
        with about_topology(saved.plan.topology):
            async with session(self._connection.options()) as js:
                return await self._apply_review(await self._review(saved, js), js)

    def _show(self, saved: Saved, *, goes_on: bool) -> bool:
        return self._manner.show_plan(self._document(saved, goes_on=goes_on))

    def _document(self, saved: Saved, *, goes_on: bool) -> Document:
        return document(
            command="apply", topology=saved.plan.topology, plan=saved.plan, declared=saved.topology, goes_on=goes_on,
            arguments=self._plan_arguments(saved), applying=self._connection.arguments(str(self._file)),
            paper=self._manner.paper,
        )  # fmt: skip

    async def _review(self, saved: Saved, js: JetStream) -> SavedReview:
        with doing("comparing the plan with the account …"):
            return await saving.review(saved, js)

    async def _apply_review(self, reviewed: SavedReview, js: JetStream) -> int:
        saved, outlook = reviewed.saved, reviewed.outlook
        if outlook.is_done:
            if self._manner.format is common.PlainFormat.TEXT:
                say("\nEverything in this plan is done already; nothing was changed.\n")
            return self._manner.report_nothing_done(saved.plan, outlook.as_wanted)
        done_already = [
            change for change in saved.plan.changes if change.action.writes and change.address in outlook.as_wanted
        ]
        if self._manner.format is common.PlainFormat.TEXT and done_already:
            say(f"\nAlready done: {counted(len(done_already), 'change')} of this plan.\n")
        if self._manner.format is common.PlainFormat.TEXT and outlook.counted_again:
            say("\nCounted again:\n" + "".join(f"  {text}\n" for text in outlook.counted_again))
        if not self._manner.yes and not confirm_plan(outlook.plan):
            return self._manner.report_declined(saved.plan)
        agreed = AgreedPlan(
            what=reviewed, plan=saved.plan, shown=self._document(saved, goes_on=True), arguments=self._plan_arguments(saved),
            manner=self._manner, as_wanted=outlook.as_wanted,
        )  # fmt: skip
        return await agreed.carry_out(js)

    def _plan_arguments(self, saved: Saved) -> str:
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
