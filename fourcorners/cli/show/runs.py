"""What runs ended with, and what they show of a drive."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fourcorners.catalog.claims import Claim
from fourcorners.cli.output import new_console, print_document, say, tell
from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED
from fourcorners.finding import Finding
from fourcorners.reporting.explanation import render_explanation
from fourcorners.reporting.html import write_html
from fourcorners.reporting.terminal import render_summary
from fourcorners.running.explanation import Explanation
from fourcorners.store import Run, schema
from fourcorners.store.folder import resume_command
from fourcorners.writing import OutputError

_STATUS_CODES = {"complete": 0, "failed": EXIT_FAILED, "interrupted": EXIT_INTERRUPTED}


@dataclass(frozen=True)
class EndedRun:
    """A run folder, its page where it has one, what the run ended with, and what it shows."""

    path: str
    report: str | None
    status: Literal["complete", "interrupted", "failed"]
    findings: Sequence[Finding]

    @classmethod
    def of(cls, run: Run) -> "EndedRun":
        """What is printed of a run."""
        status, page = run.manifest.status, report_of(run)
        assert status != "running"
        return cls(str(run.path), None if page is None else str(page), status, run.findings)


@dataclass(frozen=True)
class CharacterizeDocument:
    """Runs, and the page that shows several side by side."""

    runs: Sequence[EndedRun]
    comparison: str | None


def print_summary(run: Run, published: Sequence[str] = (), claims: Sequence[Claim] = ()) -> None:
    """A run's summary, and where its folder is; published figures and claims as in a report."""
    console = new_console()
    console.print(render_summary(run, published, claims))
    lines = [f"Run folder: {run.path}"]
    request = run.manifest.request
    if run.manifest.status in ("interrupted", "failed") and request is not None:
        lines.append(f"To go on: {resume_command(run.path, request)}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()


def exit_code(run: Run) -> int:
    """What a run ended with. One in which nothing was done, or that has no report, did not do what
    it was asked for, and says so."""
    code = _STATUS_CODES[run.manifest.status]
    if code != 0:
        return code
    tests = run.manifest.tests
    name = run.manifest.target.name
    if tests and all(test.status == "skipped" and not test.recordings for test in tests):
        reasons = dict.fromkeys(f"{test.title}: {test.reason}" for test in tests)
        tell(f"fourcorners: nothing was measured of {name}: {'; '.join(reasons)}")
        return EXIT_FAILED
    if report_of(run) is None:
        tell(f"fourcorners: {run.path} has no report: fourcorners report {run.path} makes it")
        return EXIT_FAILED
    return 0


def report_of(run: Run) -> Path | None:
    """The page of a run, where there is one."""
    page = run.path / schema.REPORT
    return page if page.is_file() else None


def show_runs(runs: Sequence[Run], out: Path | None, *, json: bool, quiet: bool) -> int:
    """What runs ended with, and the exit code of the worst. ``out`` is the folder in which a page
    with all of them is written, where there are several."""
    codes, side_by_side = [], None
    if out is not None and len(runs) > 1:
        side_by_side = out / f"{time.strftime('%Y%m%d-%H%M%S')}-side-by-side.html"
        try:
            write_html(runs, side_by_side)
        except OutputError as error:
            tell(f"fourcorners: {error}")
            codes, side_by_side = [EXIT_FAILED], None
    if json:
        page = None if side_by_side is None else str(side_by_side)
        ended = [EndedRun.of(run) for run in runs]
        print_document("characterize", CharacterizeDocument(ended, page))
    else:
        for run in runs:
            if quiet:
                say(run.path)
            else:
                print_summary(run)
        if side_by_side is not None:
            say(side_by_side if quiet else f"Side by side: {side_by_side}")
    return max([*codes, *map(exit_code, runs)])


def show_explanation(explanation: Explanation, *, json: bool, quiet: bool) -> None:
    """What is inside a drive."""
    if json:
        print_document("explanation", explanation)
        return
    last = explanation.runs[-1]
    if quiet:
        say(last.path)
        return
    console = new_console()
    name = last.manifest.target.name
    console.print(render_explanation(name, explanation.findings, explanation.missing))
    console.print()
    for page in filter(None, map(report_of, explanation.runs)):
        console.print(f"Report: {page}", highlight=False, soft_wrap=True)
