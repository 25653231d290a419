"""``python -m proofs_checks``: the table of claims. Exit code 1 if a claim fails or a false twin passes."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
