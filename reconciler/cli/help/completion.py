"""`reconciler completion`: a script that makes a shell complete commands, options and names."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from reconciler.cli.completing.shells import SCRIPTS
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import emit

app = common.new_app()


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)]) -> int:
    """Print a completion script for a shell, for example: reconciler completion bash >> ~/.bashrc

    It completes commands, options, codes, and the names that files declare. No server is asked.
    """
    emit(SCRIPTS[shell.value])
    return exits.FINE
