"""Fits streams to a trace."""

from __future__ import annotations

from pathlib import Path

from fourcorners.trace.fitting import TraceFit, fitted
from fourcorners.writing import Output


def trace_fit(
    file: Path | str,
    out: Path | str | None = None,
    *,
    name: str | None = None,
    format: str | None = None,
    replace: bool = False,
) -> TraceFit:
    """Fits a workload of streams to a trace.

    Args:
        file: the trace, of any format that is read. Of more than two million I/Os the first are
            taken.
        out: file for the workload, a suite that ``run`` takes.
        name: of the test in it; by the trace's name unless given.
        format: what the trace is said to be.
        replace: permits to replace a file that is there.

    Raises :class:`UserError` for what is no trace, one without two reads or writes, and a file that
    cannot be written.
    """
    output = None if out is None else Output(Path(out), replace, is_ours=lambda _: False)
    if output is not None:
        output.check()
    fit = fitted(file, name=name, format=format)
    if output is not None:
        output.write(fit.suite)
    return fit
