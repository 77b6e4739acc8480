"""``python -m fourcorners``: the command line without its entry point."""

import sys

from fourcorners.cli import main

sys.exit(main())
