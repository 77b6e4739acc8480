"""Runs the command line as a user does, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "fourcorners"]


def fourcorners(
    *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The finished process; tests run it in an empty folder, so nothing is left in the project."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
        check=False,
    )
