"""Runs suites on targets, one or several, and says before what that will do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from fourcorners.catalog.claims import Claim, claims_in
from fourcorners.errors import UserError
from fourcorners.running.begin import begin_run
from fourcorners.running.each import Each
from fourcorners.running.openings import check, openings
from fourcorners.running.options import RunOptions, target_options
from fourcorners.running.preview import CheckSubject, PreviewedPlan, preview_opening
from fourcorners.running.progress import Progress
from fourcorners.running.side_by_side import check_side_by_side, run_side_by_side
from fourcorners.store import Run
from fourcorners.suites.suite import Suite, choose_suite, reviews
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
    claims: Sequence[Claim] | str | Path = (),
    **options: Unpack[RunOptions],
) -> Run:
    """Runs a test, a suite or a suite file on a target and returns the finished run.

    Args:
        suite: the name of a test or a suite ("queue-depth", "reviews"), the path of a suite file
            ("./mine.toml"), or what :func:`find_suite` gave.
        target: an open target, or the locator of one.
        parameters: of a single test, by the names that docs/suites.md lists, in place of its own:
            ``{"depths": [1, 4], "time": "10 s"}``.
        scale: factor on all durations, above 0 and up to 1; the run says that it was shortened.
        quick: a twentieth of all durations and pauses, and of real drives that have to be filled
            first only their first 8 GB.
        tests: names of tests of the suite; all of them by default.
        log_ios: single I/Os to keep of each measurement, up to about so many
            (a recording has them as its ``log``); by default what each test keeps.
        claims: what the vendor claims of the drive, or a file of it; the run keeps it
            (:func:`fourcorners.catalog.claims.read_claims`).
        options: see :class:`RunOptions`.

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
        [finished] = run_each(chosen, [target], claims=claims, **options)
        return finished
    if given := target_options(options):
        raise UserError(f"{target.locator} is open already: give {', '.join(given)} to open_target")
    own: dict[str, Any] = dict(options)
    return begin_run(chosen, target, claims=claims_in(claims), **own)


def characterize(
    target: Target | str,
    *,
    profile: str = "standard",
    tests: Sequence[str] | None = None,
    claims: Sequence[Claim] | str | Path = (),
    **options: Unpack[RunOptions],
) -> Run:
    """Runs the suite of the reviews: :func:`run` with ``reviews``, ``reviews-quick`` or
    ``reviews-full``, as ``profile`` says (``standard``, ``quick`` or ``full``).

    The other arguments, and what is raised, are those of :func:`run`.
    """
    return run(reviews(profile), target, tests=tests, claims=claims, **options)


def run_each(
    suite: Suite | str,
    targets: Sequence[str],
    *,
    claims: Sequence[Claim] | str | Path = (),
    jobs: int = 1,
    **options: Unpack[RunOptions],
) -> list[Run]:
    """Runs a suite on several targets, as the commands ``run`` and ``characterize`` do.

    Args:
        suite: as in :func:`run`, or what :func:`choose_suite` gave.
        targets: locators; what is wrong with any of them shows before the first is measured.
        claims: as in :func:`run`; of one target only.
        jobs: how many simulated drives run at the same time, each in a process of its own. Files
            and devices never do.
        options: see :class:`RunOptions`. Words of permission are for the target that they name.

    Returns the runs in the order of the targets, up to one that was interrupted; each says what was
    still to follow, so that :func:`resume` goes on with all of them.

    Raises:
        UserError: as :func:`run`; of drives that ran at the same time
            :class:`fourcorners.running.side_by_side.UnfinishedError`, which has the runs.
    """
    chosen, claimed = choose_suite(suite), claims_in(claims)
    _check(targets, jobs, claimed, options)
    each = Each(
        suite=chosen,
        filled_share=options.get("filled_share", 1.0),
        seed=options.get("seed", 1),
        out=Path(options.get("out", "runs")),
        command=options.get("command"),
        claims=claimed,
        progress=options.get("progress") or Progress(),
    )
    opened = openings(targets, each.seed, target_options(options))
    if jobs > 1 and len(opened) > 1:
        return run_side_by_side(each, opened, jobs)
    return each.run(opened)


def preview_runs(
    suite: Suite | str,
    targets: Sequence[str],
    *,
    claims: Sequence[Claim] | str | Path = (),
    jobs: int = 1,
    check_subject: CheckSubject | None = None,
    **options: Unpack[RunOptions],
) -> list[PreviewedPlan]:
    """What :func:`run_each` would do on each target, as
    :func:`fourcorners.running.preview.preview` says it; nothing is done.

    ``check_subject`` raises :class:`UserError` where a target cannot be used. Raises what
    :func:`run_each` raises before it measures.
    """
    chosen = choose_suite(suite)
    _check(targets, jobs, claims_in(claims), options)
    seed = options.get("seed", 1)
    return [
        preview_opening(chosen, opening, options.get("filled_share", 1.0), seed, check_subject)
        for opening in openings(targets, seed, target_options(options))
    ]


def _check(
    locators: Sequence[str], jobs: int, claims: Sequence[Claim], options: RunOptions
) -> None:
    if not locators:
        raise UserError('no target: name one, such as sim:ocz-core-64gb (see "fourcorners drives")')
    if jobs > 1:
        check_side_by_side(locators, jobs)
    check(
        locators,
        target_options(options),
        filled_share=options.get("filled_share", 1.0),
        out=options.get("out", "runs"),
        claims=claims,
    )
