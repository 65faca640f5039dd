"""`reconciler apply plan.json`: exactly what was reviewed, as far as it still fits what is live."""

from __future__ import annotations

import asyncio
import shlex
import time
from functools import partial
from pathlib import Path

from reconciler.cli import common, exits
from reconciler.cli.apply import Manner, confirmed, exit_of, followed
from reconciler.cli.connecting import Connection
from reconciler.cli.reporting import carried_out, document
from reconciler.cli.screen import Progress, say, tell
from reconciler.core.diagnostic import Diagnostic
from reconciler.core.events import Finished
from reconciler.core.plan import Plan
from reconciler.core.saved import Saved
from reconciler.core.standing import REFUSALS
from reconciler.report import diagnostics
from reconciler.report.document import Document
from reconciler.report.outcome import outcome_text
from reconciler.report.outcome_json import outcome_json
from reconciler.report.values import counted
from reconciler.server.api import JetStream
from reconciler.server.session import session
from reconciler.workflow import saved as saving
from reconciler.workflow.saved import Reviewed


class SavedRun:
    """One apply of a saved plan, from reading the file to the last line."""

    def __init__(self, manner: Manner, file: Path, connection: Connection) -> None:
        self._manner, self._file, self._connection = manner, file, connection

    async def through(self) -> int:
        saved = saving.read(self._file)
        goes_ahead = self._manner.goes_ahead(saved.plan)
        if not self._shown(saved, goes_on=goes_ahead):
            return exits.FAILED
        if not goes_ahead:
            self._tell(Finished(), saved, code=saved.plan.exit_code)
            return saved.plan.exit_code
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

    async def _reviewed(self, saved: Saved, js: JetStream) -> Reviewed:
        progress = Progress()
        progress.show("comparing the plan with the account …")
        try:
            return await saving.review(saved, js)
        finally:
            progress.clear()

    async def _apply(self, reviewed: Reviewed, js: JetStream) -> int:
        saved, outlook = reviewed.saved, reviewed.outlook
        if outlook.is_done:
            self._tell(Finished(), saved, code=saved.plan.exit_code, as_wanted=outlook.as_wanted)
            if self._manner.format is common.Format.TEXT:
                say("\nEverything in this plan is already as it wants; nothing was changed.\n")
            return saved.plan.exit_code
        if self._manner.format is common.Format.TEXT and outlook.as_wanted:
            say(f"\n{counted(len(outlook.as_wanted), 'change')} of this plan already as it wants.\n")
        if not self._manner.yes and not confirmed(outlook.plan):
            tell("Nothing was changed.\n")
            return exits.FAILED
        return await self._carry_out(reviewed, js)

    async def _carry_out(self, reviewed: Reviewed, js: JetStream) -> int:
        saved, outlook, began = reviewed.saved, reviewed.outlook, time.monotonic()
        try:
            finished = await followed(reviewed.planned, js, backup=self._manner.backup, known=outlook.stopped)
        except asyncio.CancelledError:
            tell(f"Stopped at once; what was sent may have been done. Next: reconciler plan {self._again(saved)}\n")
            return exits.INTERRUPTED
        beside = reviewed.without_steps
        code = exit_of_saved(finished, beside, saved.plan)
        took = time.monotonic() - began
        self._tell(finished, saved, code=code, as_wanted=outlook.as_wanted, seconds=took, beside=beside)
        return code

    def _tell(
        self,
        finished: Finished,
        saved: Saved,
        *,
        code: int,
        as_wanted: tuple[str, ...] = (),
        seconds: float | None = None,
        beside: tuple[Diagnostic, ...] = (),
    ) -> None:
        topology = saved.plan.topology
        data = outcome_json(finished, topology=topology, as_wanted=as_wanted, exit_code=code, beside=beside)
        if self._manner.format is common.Format.JSON:
            say(data)
        if seconds is None:
            return
        paper, left = self._manner.paper, len(saved.plan.blocked) + saved.plan.hidden
        told = partial(
            outcome_text, finished, arguments=self._again(saved), backup=self._manner.again, seconds=seconds, left=left,
            later=True,
        )  # fmt: skip
        if self._manner.format is common.Format.TEXT:
            say("".join(f"\n{part}" for part in (diagnostics.report(beside, paper), told(paper)) if part))
        shown = self._document(saved, goes_on=True)
        self._manner.reports.write(carried_out(shown, finished, told(), data, beside))

    def _again(self, saved: Saved) -> str:
        """What to give `plan`, to see what is there now."""
        terms = saved.terms
        allow = tuple("=".join(pair) for pair in terms.allow)
        options = (
            ("--only", terms.only),
            ("--exclude", terms.exclude),
            ("--allow", allow),
            ("--take-over", terms.take_over),
        )
        return self._connection.arguments(*terms.paths, options=options) or shlex.quote(str(self._file))


def exit_of_saved(finished: Finished, beside: tuple[Diagnostic, ...], plan: Plan) -> int:
    """What only consent is missing for is refused, not failed."""
    code = exit_of(finished, plan)
    reasons = [*(one.reason.code for one in finished.failed), *(one.code for one in beside)]
    if code == exits.INTERRUPTED or not reasons:
        return code
    is_refused = REFUSALS.issuperset(reasons) and not finished.in_doubt and finished.stopped is None
    return exits.REFUSED if is_refused else exits.FAILED
