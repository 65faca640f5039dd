"""`reconciler …`: the version and completions at once, everything else through the command line's own modules."""

from __future__ import annotations

import gc
import os
import sys

from reconciler import __version__


def main() -> None:
    """Answers `--version`, and a shell that completes, before anything is imported that takes time."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"reconciler {__version__}\n")
        return
    if "_RECONCILER_COMPLETE" in os.environ:
        from reconciler.cli.completing.shells import completions_or_nothing  # noqa: PLC0415 - see above

        sys.stdout.write(completions_or_nothing())
        return
    # A command lives for seconds and drops nearly nothing before its end: collecting cycles would only cost time.
    gc.disable()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins takes longer than validating
    try:
        from reconciler.cli.run import run  # noqa: PLC0415 - see above

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before there is a command that could say so
        sys.stderr.write("Interrupted.\n")
        code = 130
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # nothing is left to do, and taking a large plan apart piece by piece takes its time


if __name__ == "__main__":
    main()
