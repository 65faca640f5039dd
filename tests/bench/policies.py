"""What twenty policies add to a plan of six thousand objects with nothing to do.

    python -m tests.bench.policies [streams]

Both sides are whole processes on one server, in turns; the least CPU of each counts, since other load only ever adds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.workload import CONSUMERS, yaml
from tests.support.accounts import Pool
from tests.support.binaries import NEWEST

ROUNDS, ALLOWED, POLICIES = 5, 1.3, 20

CONDITIONS = {
    "stream": (
        "environment.name.startsWith('prod') && resource.num_replicas < 3",
        "resource.max_age == duration('0s') && resource.max_bytes < 0 && resource.max_msgs < 0",
        "!resource.name.matches('^[A-Z][A-Z0-9_]*$')",
        "resource.subjects.exists(one, one == '>')",
        "resource.storage == 'memory' && resource.labels.tier == 'gold'",
        "resource.num_replicas < before.num_replicas",
        "resource.max_age > duration('8760h')",
        "change.action == 'delete' && resource.labels.tier == 'gold'",
    ),
    "consumer": (
        "stream.retention == 'workqueue' && resource.ack_policy == 'none'",
        "resource.max_deliver < 0",
        "resource.ack_wait > duration('1h')",
        "resource.filter_subject == '>'",
        "resource.max_ack_pending > 100000",
        "resource.deliver_policy == 'new' && stream.retention != 'limits'",
        "resource.name.size() > 64",
        "change.action == 'delete' && resource.labels.tier == 'gold'",
    ),
    "": (
        "resource.description == ''",
        "resource.allow.exists(one, one.until != '' && one.until < today)",
        "resource.protect && change.action == 'forget'",
        "'cost' in resource.labels && resource.labels.cost == ''",
    ),
}


def policies() -> str:
    """Twenty of them, which nothing of the workload violates."""
    lines, number = ["policies:"], 100
    for kind, conditions in CONDITIONS.items():
        for condition in conditions:
            number += 1
            on = f"    on: {kind}\n" if kind else "    on: [stream, consumer]\n"
            lines.append(
                f'  - code: BENCH{number}\n    name: p{number}\n{on}    forbid: "{condition}"\n    message: never'
            )
    assert number - 100 == POLICIES
    return "\n".join(lines) + "\n"


def main() -> None:
    streams = int(sys.argv[1]) if sys.argv[1:] else 1_000
    pool = Pool()
    try:
        account = pool.account(NEWEST)
        with tempfile.TemporaryDirectory() as folder:
            plain, judged = Path(folder) / "plain.yaml", Path(folder) / "judged.yaml"
            plain.write_text(yaml(streams))
            judged.write_text(yaml(streams) + policies())
            login = ["-s", account.url, "--user", account.user, "--password", account.password]
            cpu("apply", str(plain), "--yes", *login)
            pairs = [
                (cpu("plan", str(plain), "--exit-code", *login), cpu("plan", str(judged), "--exit-code", *login))
                for _ in range(ROUNDS)
            ]
    finally:
        pool.close()
    bare, ours = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    objects = streams * (1 + CONSUMERS)
    print(
        f"{objects} objects, {POLICIES} policies: a plan takes {bare:.2f} s of CPU without and {ours:.2f} s with them: "
        f"{ours / bare:.2f} × (allowed {ALLOWED})"
    )
    if ours / bare > ALLOWED:
        raise SystemExit(1)


def cpu(*arguments: str) -> float:
    """Seconds of CPU of one whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "reconciler", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    if done.returncode != 0:
        raise SystemExit(f"{arguments[:2]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
