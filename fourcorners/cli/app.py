"""The whole command line: each module of commands gives its own to the program.

What carries a command out is loaded when it is given: help, completion and mistakes answer at once.
"""

from fourcorners.cli import (
    catalog,
    keeping,
    measuring,
    reporting,
    serving,
    studies,
    systems,
    targets,
    traces,
)
from fourcorners.cli.root import app

__all__ = ["GROUPS", "app"]

GROUPS = (catalog, keeping, measuring, reporting, serving, studies, systems, targets, traces)
"""The modules whose commands the program has."""
