"""Learn one benchmark by one strategy; ``--help`` says how."""

import sys

from udil_avalanche.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
