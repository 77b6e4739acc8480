"""Shows what is to be done on a target, and what runs ended with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.text import Text

from fourcorners import wording
from fourcorners.catalog.claims import Claim
from fourcorners.cli.output import new_console, print_document, say, tell
from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED
from fourcorners.reporting.html import write_html
from fourcorners.reporting.terminal import render_summary
from fourcorners.running.preview import done_again
from fourcorners.store import Run, schema
from fourcorners.store.folder import resume_command
from fourcorners.writing import OutputError

_STATUS_CODES = {"complete": 0, "failed": EXIT_FAILED, "interrupted": EXIT_INTERRUPTED}


def print_preview(plan: dict[str, Any]) -> None:
    """What would be done on one target, for people."""
    console = new_console()

    def line(text: str, indent: int = 0, style: str = "") -> None:
        console.print(
            Padding(Text(text, style=style), (0, 0, 0, indent)), highlight=False, soft_wrap=False
        )

    line(f"{plan['name']}: {plan['suite']}", style="bold")
    line(f"Time: about {wording.clock(plan['seconds'])} on the drive's clock")
    written = wording.chosen_size(plan["written_bytes"])
    line(f"Written: up to {written}, {plan['drive_writes']:.3g} drive writes")
    line(f"Destroyed: {plan['destroys']}")
    if plan["interruption"] is not None:
        line(f"Should it be interrupted: {done_again(plan['interruption'])}")
    if plan["scale"] < 1:
        line(f"Shortened: all durations are {plan['scale']:g} of the tests' own")
    for test in plan["tests"]:
        line("")
        line(f"{test['name']}: {test['title']}", style="bold")
        line(f"{test['purpose']} (after: {test['source']})", 2)
        if test["skip_reason"]:
            line(f"Skipped: {test['skip_reason']}", 2, "yellow")
            continue
        for key, value in test["parameters"].items():
            line(f"{key}: {value}", 2)
        writes = f"{test['drive_writes']:.3g} drive writes"
        line(f"takes about {wording.clock(test['seconds'])}, up to {writes}", 2)
        for number, phase in enumerate(test["phases"], start=1):
            steps = "; ".join(phase["preparation"]) or "as the drive then is"
            repeated = f" ({phase['times']} times)" if phase["times"] > 1 else ""
            line(f"{number}. {steps}{repeated}", 2, "dim")
            labels = phase["measurements"]
            shown = labels if len(labels) <= 3 else [*labels[:2], "...", labels[-1]]
            times = f" ({phase['repeated']})" if phase["repeated"] else ""
            line(f"{len(labels)} measured{times}: {'; '.join(shown)}", 5, "dim")
    console.print()


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


def show_runs(runs: Sequence[Run], side_by_side: Path | None, *, json: bool, quiet: bool) -> int:
    """What runs ended with, and the exit code of the worst. ``side_by_side`` is where a page with
    all of them is to be written."""
    codes = []
    if side_by_side is not None:
        try:
            write_html(runs, side_by_side)
        except OutputError as error:
            tell(f"fourcorners: {error}")
            codes, side_by_side = [EXIT_FAILED], None
    if json:
        print_document(
            "characterize",
            {
                "runs": [
                    {
                        "path": str(run.path),
                        "report": None if (page := report_of(run)) is None else str(page),
                        "status": run.manifest.status,
                        "findings": run.findings,
                    }
                    for run in runs
                ],
                "comparison": None if side_by_side is None else str(side_by_side),
            },
        )
    else:
        for run in runs:
            if quiet:
                say(run.path)
            else:
                print_summary(run)
        if side_by_side is not None:
            say(side_by_side if quiet else f"Side by side: {side_by_side}")
    return max([*codes, *map(exit_code, runs)])
