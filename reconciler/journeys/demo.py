"""The story of `reconciler demo` as data: what is edited, which command runs, and how it should end."""

from __future__ import annotations

import asyncio
import difflib
import random
from collections.abc import Iterator
from pathlib import Path

import reconciler
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.connect.connection import connection, session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.read_kv import subject_counts
from reconciler.server.wire.api import JetStream

FILE = "orders/orders.yaml"
PATIENCE = 60.0
"""How many seconds the copying may take; on an idle server it takes a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One step of the story."""

    heading: str
    command: tuple[str, ...]
    expected: int = 0
    """The exit code that is part of the story."""
    edit: tuple[str, str] | None = None
    """Replacements in FILE before the command."""
    orders: int = 0
    """How many messages are published before the command."""


DISPATCH = "        priority_policy: pinned_client"
STORY = (
    DemoStep(heading="The account is empty. What would an apply create?", command=("plan", "orders", "--dev")),
    DemoStep(heading="Apply it.", command=("apply", "orders", "--dev", "--yes")),
    DemoStep(heading="Everything is as the files say, so the plan is one line.", command=("plan", "orders", "--dev")),
    DemoStep(
        heading=(
            "600 orders come in. Then billing gets a fourth member: which partitions move, and what is queued on them?"
        ),
        orders=600,
        edit=("members: [b1, b2, b3]", "members: [b1, b2, b3, b4]"),
        command=("plan", "orders", "--dev"),
    ),
    DemoStep(heading="That looks fine. Apply it.", command=("apply", "orders", "--dev", "--yes")),
    DemoStep(
        heading="Now something harmful: the server would accept this switch, and clients would get no more messages.",
        edit=(DISPATCH, DISPATCH.replace("pinned_client", "overflow")),
        command=("plan", "orders", "--dev"),
        expected=4,
    ),
    DemoStep(heading="What does that code mean?", command=("explain", "CO121")),
)


def copy_example(folder: Path) -> None:
    """Copy the example into `folder`, so that the story may edit it."""
    target = folder / "orders"
    target.mkdir()
    for file in sorted(example("orders").glob("*.yaml")):
        (target / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")


def example(name: str) -> Path:
    """Return the folder of the example: beside the package in a checkout, inside the package when it is installed."""
    package = Path(reconciler.__file__).parent
    for folder in (package / "examples" / name, package.parent / "examples" / name):
        if folder.is_dir():
            return folder
    message = "The example that this demo uses is not part of this installation."
    fix = "Clone the repository and run `make demo` there."
    raise CannotContinue.because("XX903", "no-example", message, fix=fix)


def edit_and_diff(folder: Path, scene: DemoStep) -> Iterator[str]:
    """Edit the file, and return the difference as lines."""
    if scene.edit is None:
        return
    path = folder / FILE
    before = path.read_text(encoding="utf-8")
    after = before.replace(*scene.edit)
    path.write_text(after, encoding="utf-8")
    yield from difflib.unified_diff(before.splitlines(), after.splitlines(), FILE, f"{FILE} (edited)", n=1, lineterm="")


async def publish_orders_and_wait(options: ConnectOptions, count: int) -> None:
    """Publish orders of forty customers in three regions, the same ones every time, and return when they are in the
    group's queue."""
    chance = random.Random(7)
    async with connection(options) as nc, session(options) as js:
        for number in range(count):
            region, customer = chance.choice(("north", "east", "west")), int(chance.paretovariate(1)) % 40
            await nc.publish(f"orders.{region}.customer-{customer}", f"order {number}".encode())
        await nc.flush()
        async with asyncio.timeout(PATIENCE):
            while await _queued_count(js) < count:  # noqa: ASYNC110 - the server copies them and tells nobody
                await asyncio.sleep(0.05)


async def _queued_count(js: JetStream) -> int:
    counts = await subject_counts(js, "ORDERS-billing", ">")
    return sum(counts.values()) if isinstance(counts, dict) else 0
