"""What can be said of the image without docker; `make image` builds and runs it where there is docker, and CI that."""

from __future__ import annotations

import json
import re

from tests.ci.container import INSTRUCTIONS, stage


def test_the_image_runs_the_command_itself_as_nobody_in_particular() -> None:
    """No shell comes between, and no user that the host may know."""
    last = dict(stage(-1))
    assert json.loads(last["ENTRYPOINT"]) == ["reconciler"]
    assert re.fullmatch(r"[1-9]\d{4,}:[1-9]\d{4,}", last["USER"])


def test_only_what_was_installed_reaches_the_image() -> None:
    assert [name for name, _ in stage(-1) if name in ("RUN", "ADD")] == []
    assert [value for name, value in stage(-1) if name == "COPY"] == ["--from=build /opt/reconciler /opt/reconciler"]


def test_both_stages_stand_on_the_same_python() -> None:
    """Else the environment that was built would point at one that is not there."""
    bases = {value.split()[0] for name, value in INSTRUCTIONS if name == "FROM"}
    assert bases == {"python:${PYTHON}-slim"}
