"""``fourcorners gate``: a short run held against a stored baseline, with an exit code for CI."""

import shlex
import sys
from pathlib import Path

from fourcorners import wording
from fourcorners.cli import run as run_command
from fourcorners.cli.each import Each
from fourcorners.cli.output import new_console, print_json, say
from fourcorners.cli.show.comparison import rendered
from fourcorners.cli.show.runs import show_runs
from fourcorners.comparison.documents import to_dict
from fourcorners.errors import EXIT_FAILED
from fourcorners.running.gating import Gated, decide, prepare_gate
from fourcorners.store import Run


def run(
    target: str,
    baseline: Path,
    tolerance: float,
    options: run_command.Options,
    *,
    write_baseline: bool,
) -> int:
    """Measures, compares and returns 0, or 1 where the target is surely slower."""
    if options.dry_run:
        return run_command.preview_runs([target], options)
    kept = prepare_gate(baseline, tolerance, write_baseline=write_baseline)
    opening = run_command.opening_of(target, options)

    def measure(seed: int) -> Run:
        each = Each(
            suite=options.suite,
            filled_share=options.filled_share,
            seed=seed,
            out=baseline if write_baseline else options.out,
            command=shlex.join(["fourcorners", *sys.argv[1:]]),
            claims=(),
            progress=options.progress,
            quiet=options.quiet,
        )
        [finished] = each.run([opening | {"seed": seed}])
        return finished

    gated = decide(measure, kept, tolerance, options.seed)
    if gated.comparison is None:
        return show_runs(gated.runs, None, json=options.json, quiet=options.quiet)
    if options.json:
        print_json(to_dict(gated.comparison))
    elif not options.quiet:
        new_console().print(rendered(gated.comparison))
        say()
        say(_verdict(gated, tolerance))
        for one in gated.runs:
            say(f"Run folder: {one.path}")
    return EXIT_FAILED if gated.is_worse else 0


def _verdict(gated: Gated, tolerance: float) -> str:
    share = wording.percent(tolerance, 1)
    if gated.is_worse:
        return (
            f"Worse than the baseline: {len(gated.failed)} of {len(gated.checks)} figures are "
            f"surely more than {share} slower, in {len(gated.runs)} runs."
        )
    if len(gated.runs) == 1:
        return f"Not worse than the baseline: no figure is more than {share} slower."
    return (
        f"Not worse than the baseline: in {len(gated.runs)} runs no figure is surely more than "
        f"{share} slower."
    )
