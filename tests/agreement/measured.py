"""`python -m tests.agreement.measured`: what real servers of each version do with what every rule flags, written down as data.

With codes behind it, only what the tests of harms see under these codes is written down again: seconds instead of minutes. The day
stays that of the last whole run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.agreement.data import FILE, Measured, measured, of_code, write
from tests.agreement.measuring import everything, harms


def main(*codes: str) -> int:
    rules, day = (measured()["rules"] | _seen_again(codes), measured()["measured"]) if codes else (everything(), "")
    print(f"wrote {FILE.name}" if write(rules, day) else f"{FILE.name} says all of this already")
    return 0


def _seen_again(codes: Sequence[str]) -> dict[str, Measured]:
    """These codes with what the tests of harms see now, and all else as it was."""
    return {code: {**of_code(code), "harms": seen} for code, seen in harms(codes).items()}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
