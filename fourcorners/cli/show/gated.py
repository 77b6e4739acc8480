"""A run held against its baseline."""

from fourcorners import wording
from fourcorners.cli.output import new_console, print_json, say
from fourcorners.cli.show.comparison import rendered
from fourcorners.comparison.document import document
from fourcorners.running.gating import Gated
from fourcorners.writing import json_value


def show_gated(gated: Gated, tolerance: float, *, json: bool, quiet: bool) -> None:
    """The comparison, and what it means for a build."""
    assert gated.comparison is not None
    if json:
        print_json(json_value(document(gated.comparison)))
    elif not quiet:
        new_console().print(rendered(gated.comparison))
        say()
        say(_verdict(gated, tolerance))
        for one in gated.runs:
            say(f"Run folder: {one.path}")


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
