"""A script that becomes a program which outlives everybody who started it.

`detached.py RECORD CONTENT LOG PROGRAM ARGUMENT…`. It runs by path in its own interpreter: a process forked by the
session itself would end as its zombie, or together with it.
"""

from __future__ import annotations

import json
import os
import sys


def main(record: str, content: str, log: str, *command: str) -> None:
    """Continue as `command` in a process of its own, whose pid stands in the file `record`."""
    if os.fork():
        os._exit(0)
    os.setsid()
    # The process itself writes this and already holds the run lock, so no crash leaves one without the other.
    with open(f"{record}.new", "w", encoding="utf-8") as file:  # noqa: PTH123  # importing pathlib takes half of a start
        json.dump({**json.loads(content), "pid": os.getpid()}, file)
    os.replace(f"{record}.new", record)  # noqa: PTH105
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
