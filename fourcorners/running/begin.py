"""Begins runs: what a caller asks for becomes a plan, a run folder and its manifest."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.errors import UserError
from fourcorners.machine.environment import describe_host
from fourcorners.manifest import SCHEMA_VERSION, Manifest, Opening, Request
from fourcorners.running.progress import Progress
from fourcorners.running.runner import Runner
from fourcorners.store import Run, RunWriter
from fourcorners.store.directory import FOLLOWING
from fourcorners.store.folder import timestamp
from fourcorners.store.writer import run_name
from fourcorners.suites.parameters import unknown
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, find_suite
from fourcorners.target.identity import identify
from fourcorners.target.open import open_target
from fourcorners.target.target import Target


def run(
    suite: Suite | str,
    target: Target | str,
    *,
    parameters: Mapping[str, Any] | None = None,
    scale: float = 1.0,
    quick: bool = False,
    tests: Sequence[str] | None = None,
    log_ios: int | None = None,
    filled_share: float = 1.0,
    seed: int = 1,
    out: str | Path = "runs",
    command: str | None = None,
    progress: Progress | None = None,
    following: Sequence[Mapping[str, Any]] = (),
    claims: Sequence[Claim] = (),
    skip_futile: bool = False,
) -> Run:
    """Runs a test, a suite or a suite file on a target and returns the finished run.

    Args:
        suite: the name of a test or a suite ("queue-depth", "reviews"), the path of a suite file
            ("./mine.toml"), or what :func:`find_suite` gave.
        target: an open target, or the locator of one that needs no permissions.
        parameters: of a single test, by the names that docs/suites.md lists, in place of its own:
            ``{"depths": [1, 4], "time": "10 s"}``.
        scale: factor on all durations, above 0 and up to 1; the run says that it was shortened.
        quick: a twentieth of all durations and pauses, and of real drives that have to be filled
            first only their first 8 GB.
        tests: names of tests of the suite; all of them by default.
        log_ios: single I/Os to keep of each measurement, up to about so many
            (a recording has them as its ``log``); by default what each test keeps.
        filled_share: how much of the target is filled and used, from its start; the rest of
            a drive stays empty, and so is spare area.
        seed: root of all randomness.
        out: folder in which the run folder is made.
        command: what the user typed, for the manifest.
        progress: told what happens.
        following: arguments of :func:`open_target` for targets that the caller runs afterwards, for
            whoever goes on after an interruption; at its end the caller says so with
            :func:`fourcorners.store.folder.end_command`.
        claims: what the vendor claims of the drive; the run keeps it
            (:func:`fourcorners.catalog.claims.read_claims`).
        skip_futile: skips, of a real target, tests of which the first ones showed that they cannot
            identify anything (:func:`fourcorners.analysis.internals.method.futile.reason`).

    A test that fails is recorded as failed and the others go on; ``run.manifest.status`` tells.
    Ctrl-C ends the run, keeps what was measured, and gives the status ``interrupted``. Such a run,
    and one that was killed, goes on with :func:`resume`.

    Every test of a simulated drive begins with the drive as it was opened: its results depend on
    drive, seed and test only, not on the tests before it, nor on what was done to the drive before.

    Raises:
        UserError: bad input, or a run folder that cannot be written (a full disk); what was saved
            before stays.
    """
    chosen = choose_suite(
        suite, parameters=parameters, scale=scale, quick=quick, tests=tests, log_ios=log_ios
    )
    if isinstance(target, str):
        with open_target(target, seed=seed) as opened:
            return run(
                chosen,
                opened,
                filled_share=filled_share,
                seed=seed,
                out=out,
                command=command,
                progress=progress,
                following=following,
                claims=claims,
                skip_futile=skip_futile,
            )
    plan = chosen.plan(Subject.of(target, filled_share), seed)
    writer = RunWriter.create(out, run_name(target.name))
    if following:
        writer.text(FOLLOWING, "")
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        id=writer.name,
        created=timestamp(time.time()),
        status="running",
        version=version("fourcorners"),
        command=command,
        suite=chosen.name,
        profile=chosen.profile,
        scale=chosen.scale,
        seed=seed,
        target=target.describe(),
        claims=list(claims),
        environment={**describe_host(), **target.environment()},
        notes=[],
        tests=[],
        identity=identify(target),
        request=Request(
            opening=target.opening,
            subject=asdict(plan.subject),
            suite=dict(chosen.document),
            following=[Opening(**opening) for opening in following],
            skip_futile=skip_futile,
        ),
    )
    return Runner(target, plan, writer, manifest, progress or Progress()).run()


def choose_suite(
    suite: Suite | str,
    *,
    parameters: Mapping[str, Any] | None = None,
    scale: float = 1.0,
    quick: bool = False,
    tests: Sequence[str] | None = None,
    log_ios: int | None = None,
) -> Suite:
    """The suite that :func:`run` would run; raises :class:`UserError` for bad input."""
    chosen = find_suite(suite, parameters) if isinstance(suite, str) else suite
    if tests is not None:
        chosen = chosen.only(tuple(tests))
    if quick:
        chosen = chosen.quick()
    if log_ios is not None:
        chosen = chosen.logging(log_ios)
    return chosen if scale == 1.0 else chosen.shortened(scale)


def characterize(
    target: Target | str,
    *,
    profile: str = "standard",
    tests: Sequence[str] | None = None,
    filled_share: float = 1.0,
    seed: int = 1,
    out: str | Path = "runs",
    command: str | None = None,
    progress: Progress | None = None,
    claims: Sequence[Claim] = (),
) -> Run:
    """Runs the suite of the reviews: :func:`run` with ``reviews``, ``reviews-quick`` or
    ``reviews-full``, as ``profile`` says (``standard``, ``quick`` or ``full``).

    The other arguments, and what is raised, are those of :func:`run`.
    """
    return run(
        reviews(profile),
        target,
        tests=tests,
        filled_share=filled_share,
        seed=seed,
        out=out,
        command=command,
        progress=progress,
        claims=claims,
    )


PROFILES = {"quick": "reviews-quick", "standard": "reviews", "full": "reviews-full"}


def reviews(profile: str) -> Suite:
    """The suite of the reviews with the durations of a profile; raises :class:`UserError`."""
    if profile not in PROFILES:
        raise UserError(unknown("profile", profile, list(PROFILES)))
    return find_suite(PROFILES[profile])
