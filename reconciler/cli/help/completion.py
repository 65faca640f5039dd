"""`reconciler completion`: a script that completes commands and options in a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script  # the public module does not export it

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import emit

app = common.app()


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)]) -> int:
    """Print a completion script for a shell, for example: reconciler completion bash >> ~/.bashrc"""
    script = get_completion_script(prog_name="reconciler", complete_var="_RECONCILER_COMPLETE", shell=shell.value)
    emit(script + "\n")
    return exits.FINE
