"""`python -m tests.power`."""

import sys

if __name__ == "__main__":
    from tests.power.command import main

    sys.exit(main(sys.argv[1:]))
