"""`reconciler …`: the version at once, everything else through the command line's own modules."""

from __future__ import annotations

import gc
import sys

from reconciler import __version__


def main() -> None:
    """Answers `--version` before anything is imported that takes time."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"reconciler {__version__}\n")
        return
    # A command lives for seconds and drops nearly nothing before its end: collecting cycles would only cost time.
    gc.disable()
    from reconciler.cli.run import run  # noqa: PLC0415 - see above

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
