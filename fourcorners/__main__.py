"""``python -m fourcorners``: the command line without its entry point."""

from fourcorners.cli import entry

entry()
