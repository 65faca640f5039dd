"""`python -m tests.agreement.measured`: what real servers of each version do with what every rule flags, written down as data."""

from __future__ import annotations

import sys

from tests.agreement.data import FILE, write
from tests.agreement.measuring import everything


def main() -> int:
    rules = everything()
    print(f"wrote {FILE.name}" if write(rules) else f"{FILE.name} says all of this already")
    return 0


if __name__ == "__main__":
    sys.exit(main())
