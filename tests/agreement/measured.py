"""`python -m tests.agreement.measured`: what real servers of each version do with what every rule flags, written down as data.

With codes behind it, only the examples of these codes and what the tests of harms see under them are written down again: seconds
instead of minutes. The day stays that of the last whole run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.agreement.data import FILE, Measured, measured, of_code, write
from tests.agreement.measuring import everything, examples_of, harms
from tests.rules.test_rules import CODES


def main(*codes: str) -> int:
    rules, day = (measured()["rules"] | _seen_again(codes), measured()["measured"]) if codes else (everything(), "")
    print(f"wrote {FILE.name}" if write(rules, day) else f"{FILE.name} says all of this already")
    return 0


def _seen_again(codes: Sequence[str]) -> dict[str, Measured]:
    """These codes with what their examples and the tests of harms see now, and all else as it was."""
    examples, seen_by_tests = examples_of([code for code in codes if code in CODES]), harms(codes)
    now = {code: {"example": examples.get(code), "harms": seen_by_tests.get(code)} for code in codes}
    return {
        code: {name: value for name, value in {**of_code(code), **seen}.items() if value} for code, seen in now.items()
    }


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
