"""Compares runs, holds them against conditions, and writes what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path

from fourcorners.comparison.comparison import Comparison, compared
from fourcorners.comparison.documents import junit as junit_xml
from fourcorners.comparison.documents import markdown as summary
from fourcorners.comparison.gate import check_gate, parse_gate
from fourcorners.comparison.page import render_page
from fourcorners.comparison.subject import ComparedRuns
from fourcorners.errors import UserError
from fourcorners.store.foreign import reading
from fourcorners.writing import Output, sealed


def compare(
    *runs: ComparedRuns | str | Path,
    fail_if: Sequence[str] = (),
    junit: str | Path | None = None,
    markdown: str | Path | None = None,
    html: str | Path | None = None,
    replace: bool = False,
) -> Comparison:
    """Compares every later side with the first, in every recording that all have.

    Args:
        runs: two sides or more, the baseline first, each as :class:`ComparedRuns` or as the command
            line spells it: ``[LABEL=]RUN[,RUN...]``.
        fail_if: conditions that must not hold, such as ``p99_read_latency > 1.1 * baseline`` or
            ``four-corners/*: read_iops < 50000``; how they ended is in ``checks``.
        junit: a file to which the checks are written as JUnit XML.
        markdown: a file to which a short summary is written.
        html: a file to which the comparison is written as a page.
        replace: replace files of any content; without it only what fourcorners wrote and nobody
            changed.

    Raises :class:`UserError` with fewer than two sides, for a path that is no run folder, where
    the sides share nothing, for a condition that is none or fits no recording, and for a file that
    cannot be written.
    """
    outputs = {
        path: Output(Path(path), replace) for path in (junit, markdown, html) if path is not None
    }
    for output in outputs.values():
        output.check()
    named = [path for path in (junit, markdown, html) if path is not None]
    if len({Path(path).resolve() for path in named}) < len(named):
        raise UserError("--html, --junit and --markdown name one file twice: name another for each")
    gates = [parse_gate(text) for text in fail_if]
    sides = [str(side) if isinstance(side, Path) else side for side in runs]
    with reading([side for side in sides if isinstance(side, str)]):
        comparison = compared(sides)
        checks = tuple(check for gate in gates for check in check_gate(gate, comparison))
        comparison = replaced(comparison, checks=checks)
        for path, render in ((junit, junit_xml), (markdown, summary), (html, render_page)):
            if path is not None:
                outputs[path].write(sealed(render(comparison)))
    return comparison
