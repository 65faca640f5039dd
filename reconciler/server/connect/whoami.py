"""Tells others who runs this: the actor that a CI names, otherwise the user of this machine. Never a secret."""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, datetime

from reconciler.memory.lease import Holder
from reconciler.model.wire.snapshot import Target

ACTORS = ("GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BITBUCKET_STEP_TRIGGERER_UUID", "CIRCLE_USERNAME", "BUILD_REQUESTEDFOR",
          "BUILDKITE_BUILD_CREATOR", "BUILD_USER_ID")  # fmt: skip


def holder(topology: str, target: Target, source: str | None, git_revision: str | None, tool: str) -> Holder:
    """Return what a lease tells others about this run, under a run id that is drawn for each call; `since` is in
    UTC."""
    return Holder(
        topology=topology,
        run=secrets.token_hex(8),
        user=_user(os.environ),
        account_user=target.user or "",
        host=socket.gethostname(),
        pid=os.getpid(),
        since=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        git_revision=git_revision or "",
        source=source or "",
        tool=tool,
    )


def _user(environment: Mapping[str, str]) -> str:
    if actor := next((name for variable in ACTORS if (name := environment.get(variable))), None):
        return actor
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"user {os.getuid()}"
