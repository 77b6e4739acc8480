"""``fourcorners resume``: a run that stopped, to its end."""

from pathlib import Path

from fourcorners.cli.output import show_runs
from fourcorners.cli.progress import ProgressForm, choose_progress
from fourcorners.suites import resume


def run(path: Path, *, json: bool, progress: ProgressForm, quiet: bool) -> int:
    """Goes on with the run and shows it as "characterize" does."""
    with choose_progress(quiet, progress) as shown:
        finished = resume(path, progress=shown)
    return show_runs([finished], None, json=json, quiet=quiet)
