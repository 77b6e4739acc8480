"""``report`` and ``compare``: what runs show, alone and against each other."""

from pathlib import Path

from fourcorners.cli.options import (
    Claims,
    Json,
    Quiet,
    Repeated,
    Replace,
    Silent,
    command_line,
    examples,
)
from fourcorners.cli.root import app
from fourcorners.writing import json_value


@app.command(
    help_epilogue=examples(
        "report runs/A runs/B --out both.html",
        "report runs/A --claims claims.toml",
        "report runs/A --published samsung-840-pro-256gb --json",
    ),
)
def report(
    *runs: Path,
    out: Path | None = None,
    published: Repeated = (),
    reference: Repeated = (),
    claims: Claims = None,
    replace: Replace = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write the report of a run again, or one report that shows several runs side by side.

    Parameters
    ----------
    runs
        Run folders.
    out
        The HTML file to write. By default report.html in the run folder, or for several runs
        a new file beside the first one.
    published
        A drive of the catalog whose published figures are laid beside every run, such as
        samsung-840-pro-256gb. Repeatable. A simulated drive's own are there without it.
    reference
        A drive of the catalog to be measured in virtual time as the first run was, and shown beside
        it, such as samsung-840-pro-256gb. Repeatable. Its run folder is kept beside the first one.
    """
    from fourcorners.cli.output import print_document, say
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.runs import print_summary
    from fourcorners.running import report as reports
    from fourcorners.store import schema
    from fourcorners.store.foreign import reading

    with choose_progress(quiet or json or not reference, "auto") as progress:
        written = reports.report(
            *runs,
            out=out,
            published=published,
            reference=reference,
            claims=claims or (),
            replace=replace,
            command=command_line(),
            progress=progress,
        )
    with reading(runs):
        if json:
            print_document("report", written)
        elif quiet:
            say(written.path)
        else:
            for run in written.runs:
                print_summary(run, written.published, written.claims)
            if written.path != written.runs[0].path / schema.REPORT:  # which its summary names
                say(f"Report: {written.path}")
    return 0


@app.command(
    help_epilogue=examples(
        "compare runs/A runs/B",
        "compare old=runs/A,runs/B new=runs/C,runs/D --html compared.html",
        "compare runs/A runs/B --fail-if 'p99_read_latency > 1.1 * baseline'",
    ),
)
def compare(
    *runs: str,
    fail_if: Repeated = (),
    junit: Path | None = None,
    markdown: Path | None = None,
    html: Path | None = None,
    replace: Replace = False,
    json: Json = False,
    quiet: Silent = False,
) -> int:
    """Compare runs with the first one: what differs, by how much, and how sure that is.

    Parameters
    ----------
    runs
        Run folders, the baseline first. Runs that repeat each other are joined by commas, and a
        label may stand before them: before=runs/A,runs/B after=runs/C,runs/D.
    fail_if
        A condition that must not hold, such as "p99_read_latency > 1.1 * baseline" or
        "four-corners/*: read_iops < 50000": the exit code is 4 where it surely does. Repeatable.
    junit
        File to write the conditions to as JUnit XML.
    markdown
        File to write a short summary to.
    html
        File to write the comparison to as a page, with the differences as plots.
    """
    from fourcorners import comparison
    from fourcorners.cli.output import new_console, print_json
    from fourcorners.cli.show.comparison import rendered
    from fourcorners.comparison.document import document
    from fourcorners.errors import EXIT_GATE

    compared = comparison.compare(
        *runs, fail_if=fail_if, junit=junit, markdown=markdown, html=html, replace=replace
    )
    if json:
        print_json(json_value(document(compared)))
    elif not quiet:
        new_console().print(rendered(compared))
    return EXIT_GATE if any(check.outcome == "failed" for check in compared.checks) else 0
