"""`apply --backup DIR`: backs up what is at stake first, and says how to bring it back."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common
from reconciler.cli.shared.common import NOTHING_CHANGED
from reconciler.cli.shared.screen import tell
from reconciler.cli.shared.status_line import LINE
from reconciler.journeys.apply.backup import BackedUp, back_up, deleted_streams, streams_to_back_up
from reconciler.journeys.plan.plan import Planned
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible
from reconciler.server.wire.api import JetStream


def _backup_folder(name: str | Path | None) -> Path | None:
    """Refuse an empty name: most often it comes from an unset variable, and nobody would know where the backups are."""
    if name == "":
        raise common.Misused("--backup: name a folder, for example --backup backups/today.")
    return Path(name) if name is not None else None


Backup = Annotated[
    Path | None,
    typer.Option(
        "--backup", metavar="DIR", parser=_backup_folder,
        help="First back up each stream that loses something, as `nats stream restore` reads it.",
    ),
]  # fmt: skip


def unused_folder(folder: Path) -> Path:
    """Return this folder, or `DIR-2` and so on where something of that name exists."""
    base = folder if folder.name else folder / "backup"
    others = (base.with_name(f"{base.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([folder], others) if not path.exists())


async def back_up_first(planned: Planned, js: JetStream, folder: Path) -> None:
    """Back up before the first step. Raises CannotContinue where not everything can be backed up; then nothing is
    changed."""
    if not (streams := streams_to_back_up(planned.plan, planned.snapshot)):
        tell("Nothing here destroys anything, so nothing was backed up.\n")
        return
    deleted = deleted_streams(planned.plan)
    try:
        async for backup in back_up(js, streams, folder, seen=_show_size):
            LINE.show("")
            tell(visible(_backed_up_text(backup, is_deleted=backup.stream in deleted)) + "\n")
    except OSError as error:
        raise common.write_error(Path(error.filename or folder), error, NOTHING_CHANGED) from None
    finally:
        LINE.show("")


def _backed_up_text(backup: BackedUp, *, is_deleted: bool) -> str:
    """No server restores over a stream that exists, and before 2.15 none restores it under another name."""
    contents = f"{counted(backup.messages, 'message')}, {backup.size:_} bytes"
    command = f"`nats stream restore {shlex.quote(str(backup.folder))}`"
    if is_deleted:
        return f"Backed up {backup.stream} ({contents}); {command} brings it back."
    return (
        f"Backed up {backup.stream} ({contents}). The stream stays, and nothing is restored over it: {command} brings the backup "
        f"into another account or server, without a stream {backup.stream}, to copy from there what is missed."
    )


def _show_size(stream: str, size: int) -> None:
    LINE.show(visible(f"backing up {stream}: {size >> 20:_} MiB …"))
