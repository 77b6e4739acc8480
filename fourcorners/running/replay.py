"""Replays recorded traces on targets: a run like any other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from fourcorners.catalog.claims import Claim
from fourcorners.replayed import Pacing
from fourcorners.running.options import RunOptions
from fourcorners.running.run import run
from fourcorners.store import Run
from fourcorners.suites.replay import replay_document
from fourcorners.suites.suite import Suite, suite_of
from fourcorners.target.target import Target


def replay(
    trace: Path | str,
    target: Target | str,
    *,
    pace: Pacing = "recorded",
    speed: float = 1.0,
    queue_depth: int | None = None,
    content: str | None = None,
    endurance_bytes: int | None = None,
    fill: bool = True,
    format: str | None = None,
    log_ios: int | None = None,
    claims: Sequence[Claim] | str | Path = (),
    **options: Unpack[RunOptions],
) -> Run:
    """Replays a trace on a target and returns the finished run.

    Args:
        trace: the trace, of any format that is read.
        target: an open target, or the locator of one.
        pace: "recorded" issues each I/O at its recorded time, whatever the drive does, and latency
            counts from then; "depth" issues I/Os as fast as possible, with as many outstanding as
            when they were recorded, or with ``queue_depth``; "think-times" issues each I/O after
            the completions that it followed, and as long after them.
        speed: recorded times are divided by this.
        queue_depth: the most I/Os that are outstanding; with "depth", how many are.
        content: what is written (:class:`fourcorners.Stream`).
        endurance_bytes: the volume of writes that the drive is rated for.
        fill: if the trace reads, first writes everything that it touches.
        format: the format of the trace; a file whose content is of another one is refused.
        log_ios: single I/Os to keep, up to about so many.
        claims: as in :func:`fourcorners.run`.
        options: as in :func:`fourcorners.run`.

    Raises:
        UserError: what is no trace, a trace that is larger than the target or tells too little for
            the pace, and what :func:`fourcorners.run` raises.
    """
    suite = replay_suite(
        trace,
        pace=pace,
        speed=speed,
        queue_depth=queue_depth,
        content=content,
        endurance_bytes=endurance_bytes,
        fill=fill,
        format=format,
        log_ios=log_ios,
    )
    return run(suite, target, claims=claims, **options)


def replay_suite(trace: Path | str, *, log_ios: int | None = None, **chosen: Any) -> Suite:
    """The suite of a replay, by the arguments of :func:`replay`; raises :class:`UserError`."""
    suite = suite_of(replay_document([trace], **chosen), str(trace))
    return suite if log_ios is None else suite.logging(log_ios)
