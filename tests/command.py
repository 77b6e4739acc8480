"""Runs the command line as a user does."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from fourcorners.cli import main

COMMAND = [sys.executable, "-m", "fourcorners"]
"""In a process of its own, for what depends on one: signals, terminals, streams that are lost."""


def fourcorners(
    *arguments: str | Path, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What the command returned and printed; tests run it in an empty folder, so nothing is left in
    the project. It is called in this process, as one of its own takes seconds to start."""
    words = [str(argument) for argument in arguments]
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd or Path.cwd()),
        mock.patch.dict(os.environ, COLUMNS="100"),
        mock.patch.object(sys, "argv", ["fourcorners", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
