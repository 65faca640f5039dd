"""The `nats` CLI, and Terraform with the JetStream provider.

`make test` uses what is there: RECONCILER_NATS, RECONCILER_TERRAFORM_PROVIDER (and `terraform`), or what an earlier
`make interop` put into .cache/peers. Only that one builds them, with Go: it takes minutes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PLACE = Path(__file__).parents[2] / ".cache" / "peers"
TESTS = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    variable: str
    program: str
    package: str
    tests: str


NATS = Peer(
    variable="RECONCILER_NATS", program="nats", package="github.com/nats-io/natscli/nats@v0.4.0", tests="test_nats.py"
)
PROVIDER = Peer(
    variable="RECONCILER_TERRAFORM_PROVIDER", program="terraform-provider-jetstream",
    package="github.com/nats-io/terraform-provider-jetstream@v0.4.0", tests="test_terraform.py",
)  # fmt: skip


@cache
def found(peer: Peer) -> Path | str:
    """The program, or in one line why there is none."""
    if peer is PROVIDER and not shutil.which("terraform"):
        return "there is no terraform"
    there = Path(os.environ.get(peer.variable) or PLACE / peer.program)
    if there.exists():
        return there
    if not os.environ.get("RECONCILER_INTEROP"):
        return f"`make interop` installs {peer.program}, or {peer.variable} names one"
    go = shutil.which("go")
    return _installed(go, peer) if go else f"there is no Go toolchain to install {peer.program} with"


def _installed(go: str, peer: Peer) -> Path | str:
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes begin at once
        if not (PLACE / peer.program).exists():
            command, env = [go, "install", peer.package], {**os.environ, "GOBIN": str(PLACE)}
            done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"`go install {peer.package}` failed: {done.stderr.strip().splitlines()[-1].strip()}"
    return PLACE / peer.program


def program(peer: Peer) -> Path:
    there = found(peer)
    assert isinstance(there, Path), "the tests are collected only where it is"
    return there


def not_run(paths: Iterable[str]) -> Iterator[str]:
    """What to say at the end of a run over these paths."""
    wanted = [Path(path.partition("::")[0]).resolve() for path in paths]
    if any(TESTS.is_relative_to(path) or path.is_relative_to(TESTS) for path in wanted):
        for peer in (NATS, PROVIDER):
            if isinstance(why := found(peer), str):
                yield f"peers/{peer.tests}: NOT RUN: {why}"
