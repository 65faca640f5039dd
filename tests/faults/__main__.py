"""`python -m tests.faults`. Every apply that is started imports this module anew, so it imports nothing itself."""

import sys

if __name__ == "__main__":
    from tests.faults.command import main

    sys.exit(main(sys.argv[1:]))
