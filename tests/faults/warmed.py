"""Applies once when it is imported: whoever is forked off then has built already what every apply builds first.

That is half of the work of an apply as small as those of the fault cases, and they are tens of thousands.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from reconciler.cli.run import run
from tests.faults.scenes import scenes
from tests.support.binaries import NEWEST
from tests.support.servers import running

EVERYTHING = scenes(NEWEST, clustered=False)[-1]

with tempfile.TemporaryDirectory() as _folder, running() as _server, Path(os.devnull).open("w") as _nobody:
    _file = Path(_folder) / "t.yaml"
    _file.write_text(json.dumps({"reconciler": 1, "topology": "t", **EVERYTHING.before}))
    with contextlib.redirect_stdout(_nobody), contextlib.redirect_stderr(_nobody):
        assert run(("apply", str(_file), "--yes", "--server", _server.url)) == 0
