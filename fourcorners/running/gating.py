"""A short run held against runs that were kept: whether a drive, or the way to it, got slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fourcorners.comparison import Check, Comparison, Subject, compare, parse_gate
from fourcorners.errors import EXIT_FAILED, EXIT_INTERRUPTED, UserError
from fourcorners.running.begin import choose_suite
from fourcorners.running.begin import run as run_suite
from fourcorners.store import Run
from fourcorners.store.kept_runs import kept_runs
from fourcorners.suites import Suite
from fourcorners.target.target import Target

SUITE = "ci"
"""The suite that takes under a minute."""

TOLERANCE = 0.1
"""How much slower counts: machines differ by a tenth from one minute to the next."""


@dataclass(frozen=True)
class Gated:
    """A run against its baseline; without a comparison where it became part of the baseline."""

    run: Run
    comparison: Comparison | None = None
    checks: Sequence[Check] = ()

    @property
    def failed(self) -> list[Check]:
        """What is surely slower than the tolerance allows."""
        return [check for check in self.checks if check.outcome == "failed"]

    @property
    def is_worse(self) -> bool:
        """Whether a build should fail."""
        return bool(self.failed)


def gate(
    target: Target | str,
    baseline: str | Path,
    *,
    suite: Suite | str = SUITE,
    tolerance: float = TOLERANCE,
    write_baseline: bool = False,
    seed: int = 1,
    out: str | Path = "runs",
) -> Gated:
    """Runs a short suite on a target and compares it with the runs in a folder.

    Args:
        target: an open target, or the locator of one that needs no permissions.
        baseline: a run folder or a folder of such, which repeat each other; several tell how much
            the target differs from run to run.
        suite: name or path of the suite; the runs of the baseline must be of the same one.
        tolerance: how much slower counts, above 0 and below 1.
        write_baseline: the run is kept in ``baseline``, beside those that are there, and nothing
            is compared.
        seed: root of all randomness.
        out: folder for the run folder.

    Raises :class:`UserError` for bad input, a missing baseline, or a run that did not end well.
    """
    chosen = choose_suite(suite) if isinstance(suite, str) else suite
    kept = prepare_gate(baseline, tolerance, write_baseline=write_baseline)
    folder = baseline if write_baseline else out
    return judge(run_suite(chosen, target, seed=seed, out=folder), kept, tolerance)


def prepare_gate(
    baseline: str | Path, tolerance: float, *, write_baseline: bool
) -> list[Run] | None:
    """The runs of the baseline, before time goes into a new one; ``None`` where it is written.

    Raises :class:`UserError`.
    """
    if not 0 < tolerance < 1:
        raise UserError(f"tolerance {tolerance:g}: use more than 0 and less than 1, such as 0.1")
    folder = Path(baseline)
    if write_baseline:
        if (folder / "manifest.json").exists():
            raise UserError(f"{folder} is a run folder: name a folder for runs as baseline")
        return None
    if not folder.is_dir():
        raise UserError(f"there is no baseline in {folder}: make one with --write-baseline first")
    single = (folder / "manifest.json").exists()
    runs = [Run(folder)] if single else [one.run for one in kept_runs([folder])]
    sound = [run for run in runs if run.manifest["status"] == "complete"]
    if not sound:
        raise UserError(
            f"{folder} holds no run that is complete: make one with --write-baseline first"
        )
    return sound


def judge(run: Run, baseline: Sequence[Run] | None, tolerance: float) -> Gated:
    """A finished run against the runs of the baseline, ``None`` where it became part of them.

    Raises :class:`UserError` for a run that failed, or that has nothing in common with them.
    """
    if run.manifest["status"] != "complete":
        status = run.manifest["status"]
        raise UserError(
            f"the measurement did not end well ({status}), nothing was compared: {run.path}",
            EXIT_INTERRUPTED if status == "interrupted" else EXIT_FAILED,
        )
    if baseline is None:
        return Gated(run)
    comparison = compare([Subject("baseline", baseline), Subject("this run", [run])])
    operations = {key[1] for group in comparison.groups for key in group.keys}
    slower, longer = 1 - tolerance, 1 + tolerance
    texts = [
        *(f"{one}_iops < {slower:.6g} * baseline" for one in sorted(operations)),
        *(f"p99_{one}_latency > {longer:.6g} * baseline" for one in sorted(operations)),
    ]
    checks = [_sure(check) for text in texts for check in parse_gate(text).check(comparison)]
    return Gated(run, comparison, checks)


def _sure(check: Check) -> Check:
    """A percentile of too few I/Os for an interval fails no build."""
    low, high = check.interval
    if check.gate.quantity.percentile is None or low < high or check.outcome != "failed":
        return check
    return replace(check, outcome="undecided")
