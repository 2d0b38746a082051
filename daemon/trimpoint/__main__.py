"""`python -m trimpoint` is `trimpoint`."""

import sys

from trimpoint.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
