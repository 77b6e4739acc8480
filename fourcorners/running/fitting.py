"""Fits streams to a trace, and holds them against its replay on a simulated drive.

Both begin at the same state of the drive: full, and after random writes for long where its model
knows that. What differs is what streams leave out, and chance, which several seeds show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fourcorners.errors import UserError
from fourcorners.recording import Recording
from fourcorners.running.prepare import prepare
from fourcorners.running.replay import replay as replay_trace
from fourcorners.running.run import run
from fourcorners.target.open import is_simulated, open_target
from fourcorners.trace.changing import trace_convert, trace_fold
from fourcorners.trace.fitting import FitAgreement, FitFigure, TraceFit, fitted
from fourcorners.trace.information import trace_info
from fourcorners.writing import Output

_SEEDS = 3
"""Of the streams: enough to see chance, and each takes as long as the replay."""


def trace_fit(
    file: Path | str,
    out: Path | str | None = None,
    *,
    on: str | None = None,
    name: str | None = None,
    format: str | None = None,
    replace: bool = False,
) -> TraceFit:
    """Fits a workload of streams to a trace.

    Args:
        file: the trace, of any format that is read. Of more than two million I/Os the first are
            taken.
        out: file for the workload, a suite that ``run`` takes.
        on: a simulated drive on which the streams are compared with the trace's replay.
        name: of the test in it; the trace's name unless given.
        format: the format of the trace; a file whose content is of another one is refused.
        replace: permits to replace a file that is there.

    Raises :class:`UserError` for what is no trace, one without two reads or writes, and a file that
    cannot be written.
    """
    output = None if out is None else Output(Path(out), replace, is_ours=None)
    if output is not None:
        output.check()
    if on is not None and not is_simulated(on):
        raise UserError(f"{on} is not simulated: streams are held against a replay on sim: drives")
    fit = fitted(file, name=name, format=format)
    if output is not None:
        output.write(fit.suite)
    if on is not None:
        fit.agreement = _agreement(Path(file), format, fit, on)
    return fit


def _agreement(file: Path, format: str | None, fit: TraceFit, on: str) -> FitAgreement:
    with TemporaryDirectory(prefix="fourcorners-") as folder:
        place = Path(folder)
        state, own, suite = place / "full.state", place / "trace.parquet", place / "streams.toml"
        suite.write_text(fit.suite)
        with open_target(on) as target:
            drive, capacity = target.name, target.capacity_bytes
            try:
                prepare(target, state, steady_state=True)
            except UserError:
                prepare(target, state, replace=True)
        found = trace_info(file, format=format)
        if found.end_bytes > capacity or len(found.volumes) > 1:
            trace_fold(file, own, span=capacity, format=format)
        else:
            trace_convert(file, own, format=format)
        original = replay_trace(own, on, state=state, out=place).recordings
        synthetic = [
            run(str(suite), on, state=state, out=place, seed=seed).recordings
            for seed in range(1, _SEEDS + 1)
        ]
        if not original or not all(synthetic):
            raise UserError(f"{drive} cannot issue the sizes or places of {file}: name another one")
        figures = _figures(original[0], [one[0] for one in synthetic])
    return FitAgreement(drive=drive, locator=on, seeds=_SEEDS, figures=figures)


def _figures(original: Recording, synthetic: Sequence[Recording]) -> list[FitFigure]:
    figures = []

    def add(name: str, unit: str, of: Callable[[Recording], float | None]) -> None:
        values = [value for one in synthetic if (value := of(one)) is not None]
        if (own := of(original)) is None and not values:
            return
        figures.append(
            FitFigure(
                name=name,
                unit=unit,
                trace=own,
                streams=float(np.mean(values)) if values else None,
                streams_low=min(values, default=None),
                streams_high=max(values, default=None),
            )
        )

    for operation in ("read", "write", "flush"):

        def rate(one: Recording, operation: str = operation) -> float | None:
            return one.operations[operation].iops if operation in one.operations else None

        def percentile(percent: float, operation: str = operation) -> Callable[..., float | None]:
            def of(one: Recording) -> float | None:
                if operation not in one.operations:
                    return None
                return one.operations[operation].latency_percentile_s(percent)

            return of

        add("flushes a second" if operation == "flush" else f"{operation}s a second", "IOPS", rate)
        add(f"{operation} p50", "s", percentile(50))
        add(f"{operation} p99", "s", percentile(99))
    add("write amplification", "1", lambda one: one.write_amplification)
    return figures
