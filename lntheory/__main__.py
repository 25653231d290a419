"""``python -m lntheory`` is the command ``lntheory``."""

import sys

from lntheory.cli import main

if __name__ == "__main__":
    sys.exit(main())
