"""``python -m udil_avalanche``."""

import sys

from udil_avalanche.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
