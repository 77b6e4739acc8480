"""``fourcorners explain``: what is inside a drive."""

import shlex
import sys

from fourcorners.cli.output import new_console, print_document, say
from fourcorners.cli.progress import choose_progress
from fourcorners.cli.run import Options, open_one, preview_runs, show_previews
from fourcorners.cli.show.runs import exit_code, report_of
from fourcorners.errors import UserError
from fourcorners.reporting.explanation import render_explanation
from fourcorners.running.explanation import (
    Explanation,
    check_size,
    explain,
    is_run_folder,
    preview_missing,
)


def run(subject: str, reads_only: bool, all_probes: bool, options: Options) -> int:
    """Explains a target or a run, prints it, and returns the exit code."""
    of_run = is_run_folder(subject)
    if of_run and (options.destroy_data or options.overwrite or options.purge):
        raise UserError(
            f"{subject} is a run, whose drive is only read: name the drive itself to have it "
            "written"
        )
    if options.dry_run:
        if of_run:
            previews = preview_missing(subject, reads_only, options.seed)
            if not previews and not options.json:
                say(f"{subject} has all probes: nothing would be run")
            return show_previews(previews, options)
        return preview_runs([subject], options, check_size)
    command = shlex.join(["fourcorners", *sys.argv[1:]])
    with choose_progress(options.quiet, options.progress) as progress:
        if of_run:
            explanation = explain(
                subject,
                reads_only=reads_only,
                seed=options.seed,
                out=options.out,
                command=command,
                progress=progress,
                all_probes=all_probes,
            )
        else:
            with open_one(subject, options) as target:
                explanation = explain(
                    target,
                    reads_only=reads_only,
                    filled_share=options.filled_share,
                    seed=options.seed,
                    out=options.out,
                    command=command,
                    progress=progress,
                    all_probes=all_probes,
                )
    _show(explanation, options)
    return exit_code(explanation.runs[-1])


def _show(explanation: Explanation, options: Options) -> None:
    last = explanation.runs[-1]
    if options.json:
        print_document(
            "explanation",
            {
                "runs": [str(one.path) for one in explanation.runs],
                "findings": explanation.findings,
                "missing": [
                    {"probe": probe, "reason": reason} for probe, reason in explanation.missing
                ],
            },
        )
    elif options.quiet:
        say(last.path)
    else:
        console = new_console()
        name = last.manifest.target.name
        console.print(render_explanation(name, explanation.findings, explanation.missing))
        console.print()
        for page in filter(None, map(report_of, explanation.runs)):
            console.print(f"Report: {page}", highlight=False, soft_wrap=True)
