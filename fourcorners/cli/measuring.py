"""``characterize``, ``run``, ``explain``, ``gate``, ``resume``: tests on targets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fourcorners.cli.options import (
    DEFAULTS,
    Claims,
    DestroyData,
    Flag,
    Json,
    Overwrite,
    ProgressOption,
    Purge,
    Quiet,
    Repeated,
    RunFlags,
    RunJobs,
    Size,
    examples,
    names,
    pairs,
)
from fourcorners.cli.root import app

if TYPE_CHECKING:
    from fourcorners.suites import Suite


@app.command(
    help_epilogue=examples(
        "characterize sim:ocz-vector-256gb --profile quick",
        "characterize sim:ocz-core-64gb sim:wd6400aaks --jobs 2",
        "characterize test.bin --size 8GiB --profile quick",
        "characterize /dev/nvme1n1 --claims sheet.toml",
        "characterize /dev/nvme1n1 --destroy-data /dev/nvme1n1 --dry-run",
    ),
)
def characterize(
    *targets: str,
    profile: Literal["quick", "standard", "full"] = "standard",
    tests: str | None = None,
    claims: Claims = None,
    jobs: RunJobs = 1,
    options: RunFlags = DEFAULTS,
) -> int:
    """Run the reviews' tests on drives and write a report: "run reviews".

    Parameters
    ----------
    targets
        What to test: sim:NAME (see "fourcorners drives"), sim:raid0:4xNAME for RAID 0 of four, a
        drive file (./mydrive.toml), a file, or a block device.
    profile
        Durations: quick (minutes), standard (the reviews' own), full (longer).
    tests
        Only these tests, separated by commas: four-corners, queue-depth, transfer-size,
        consistency, sync-writes.
    """
    from fourcorners.suites.suite import choose_suite, reviews

    suite = choose_suite(reviews(profile), tests=names(tests))
    return _run(suite, targets, claims, jobs, options)


@app.command(
    help_epilogue=examples(
        "run consistency sim:vertex-3-240gb",
        "run queue-depth sim:ocz-vector-256gb --with depths=1,4,16 --with time=10s",
        "run ./mine.toml /dev/nvme1n1",
    ),
)
def run(
    suite: Annotated[str, Parameter(name="TEST")],
    /,
    *targets: str,
    parameters: Annotated[Repeated, Parameter(name="--with")] = (),
    tests: str | None = None,
    quick: Flag = False,
    scale: float = 1.0,
    log_ios: int | None = None,
    claims: Claims = None,
    jobs: RunJobs = 1,
    options: RunFlags = DEFAULTS,
) -> int:
    """Run one test, a suite or a suite file on drives and write a report.

    Parameters
    ----------
    suite
        A test or a suite by its name (see "fourcorners tests"), a suite file (./mine.toml), or a
        job file of fio's (./job.fio).
    targets
        What to test, as in "characterize".
    parameters
        Replace a parameter of a single test, such as depths=1,4,16 or time=10s. Repeatable.
    tests
        Only these tests of a suite, separated by commas.
    quick
        A twentieth of all durations and pauses, and of real drives that have to be filled only the
        first 8 GB. The result says so.
    scale
        Factor on all durations, above 0 and up to 1. The result says so.
    log_ios
        Keep every single I/O of each measurement, up to so many (49 bytes of memory each); of more
        of them a random half, a quarter, ... Tests have their own numbers.
    """
    from fourcorners.suites.suite import choose_suite

    chosen = choose_suite(
        suite,
        parameters=pairs("--with", parameters, "NAME=VALUE, as in depths=1,4,16"),
        scale=scale,
        quick=quick,
        tests=names(tests),
        log_ios=log_ios,
    )
    return _run(chosen, targets, claims, jobs, options)


@app.command(
    help_epilogue=examples(
        "replay prxy_0.csv.gz sim:ocz-vector-256gb",
        "replay sda.parquet /dev/nvme1n1 --destroy-data /dev/nvme1n1 --speed 2",
        "replay sda.parquet sim:vertex-3-240gb --state worn.state",
    ),
)
def replay(
    trace: Path,
    /,
    *targets: str,
    pace: Literal["recorded", "depth", "think-times"] = "recorded",
    speed: float = 1.0,
    queue_depth: int | None = None,
    content: str | None = None,
    endurance_bytes: Annotated[Size | None, Parameter(name="--endurance")] = None,
    fill: Annotated[bool, Parameter(negative="--no-fill")] = True,
    format: str | None = None,
    log_ios: int | None = None,
    claims: Claims = None,
    jobs: RunJobs = 1,
    options: RunFlags = DEFAULTS,
) -> int:
    """Replay a recorded trace on drives and write a report.

    Parameters
    ----------
    trace
        The trace, of any format that "trace convert" reads.
    targets
        Where to replay it, as in "characterize". A file or device is only read unless --overwrite
        or --destroy-data names it.
    pace
        recorded: each I/O at its recorded time, whatever the drive does. depth: as fast as possible
        with as many outstanding as when it was recorded. think-times: each I/O after the
        completions that it followed, and as long after them.
    speed
        Recorded times are divided by this: 2 is twice as fast.
    queue_depth
        The most I/Os that are outstanding; with --pace depth, how many.
    content
        What is written: incompressible, repeated, compressible:PERCENT or duplicated:PERCENT.
    endurance_bytes
        The volume of writes that the drive is rated for, such as 150TB: the report says how long
        that lasts under the recorded load.
    fill
        If the trace reads, first write everything that it touches. --no-fill leaves the drive as it
        is.
    format
        The format of the trace, such as msr. It is refused if its content says otherwise.
    log_ios
        Keep every single I/O, up to so many (49 bytes of memory each); of more of them a random
        half, a quarter, ...
    """
    from fourcorners.running.replay import replay_suite

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
    return _run(suite, targets, claims, jobs, options)


def _run(
    suite: "Suite",
    targets: tuple[str, ...],
    claims: Path | None,
    jobs: int,
    options: RunFlags,
) -> int:

    from fourcorners.cli.output import tell
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.plans import show_plans
    from fourcorners.cli.show.runs import show_runs
    from fourcorners.running.run import preview_runs, run_each
    from fourcorners.running.side_by_side import UnfinishedError

    if options.dry_run:
        plans = preview_runs(suite, targets, claims=claims or (), jobs=jobs, **options.given())
        return show_plans(plans, json=options.json)
    code, several = 0, jobs > 1 and len(targets) > 1
    with choose_progress(options.quiet, options.progress, several=several) as progress:
        try:
            runs = run_each(
                suite,
                targets,
                claims=claims or (),
                jobs=jobs,
                **options.given(progress),
            )
        except UnfinishedError as error:
            for reason in error.reasons:
                tell(f"fourcorners: {reason}")
            runs, code = error.runs, error.exit_code
    if not runs:
        return code
    return max(code, show_runs(runs, options.out, json=options.json, quiet=options.quiet))


@app.command(
    help_epilogue=examples(
        "explain sim:ocz-core-64gb",
        "explain /dev/nvme1n1 --reads-only",
    ),
)
def explain(
    subject: str,
    /,
    *,
    reads_only: Flag = False,
    all_probes: Annotated[Flag, Parameter(name="--all")] = False,
    options: RunFlags = DEFAULTS,
) -> int:
    """Find out what is inside a drive: run the missing probes, and say what they show.

    Parameters
    ----------
    subject
        What to explain: a target as in "characterize", or the folder of a run, whose drive is
        probed for what the run does not have yet.
    reads_only
        Only the probes that read. A file or device is not written in any case unless it is named.
    all_probes
        Also the probes of a file or device of which the first ones show that they can identify
        nothing, as other load disturbs them or the page cache answers.
    """
    from fourcorners.cli.output import say
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.plans import show_plans
    from fourcorners.cli.show.runs import exit_code, show_explanation
    from fourcorners.running import explanation

    if options.dry_run:
        plans = explanation.preview_explain(subject, reads_only=reads_only, **options.given())
        if not plans and not options.json:
            say(f"{subject} has all probes: nothing would be run")
        return show_plans(plans, json=options.json)
    with choose_progress(options.quiet, options.progress) as progress:
        explained = explanation.explain(
            subject,
            reads_only=reads_only,
            all_probes=all_probes,
            **options.given(progress),
        )
    show_explanation(explained, json=options.json, quiet=options.quiet)
    return exit_code(explained.runs[-1])


@app.command(
    help_epilogue=examples(
        "gate t.bin --size 2GiB --baseline base --write-baseline",
        "gate t.bin --overwrite t.bin --baseline base",
        "gate sim:samsung-840-pro-256gb --baseline base --tolerance 0.05",
    ),
)
def gate(
    target: str,
    /,
    *,
    baseline: Path,
    write_baseline: Flag = False,
    tolerance: float = 0.1,
    suite: str = "ci",
    options: RunFlags = DEFAULTS,
) -> int:
    """Measure for under a minute and fail if a drive is slower than a stored baseline.

    If something looks slower, it is measured twice more.

    The exit code is 0 where nothing is surely slower, 1 where something is or the measurement
    failed, and 2 for bad input or a missing baseline.

    Parameters
    ----------
    target
        What to test, as in "characterize".
    baseline
        The folder where the runs of the baseline are, or one run folder.
    write_baseline
        Measure three times and keep the runs in that folder, beside those that are there, instead
        of comparing them: they tell how much the target differs from run to run.
    tolerance
        How much slower counts: 0.1 is a tenth.
    suite
        Another suite or test, by its name or file.
    """
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.gated import show_gated
    from fourcorners.cli.show.plans import show_plans
    from fourcorners.cli.show.runs import show_runs
    from fourcorners.errors import EXIT_FAILED
    from fourcorners.running import gating
    from fourcorners.running.run import preview_runs
    from fourcorners.suites.suite import choose_suite

    chosen = choose_suite(suite)
    if options.dry_run:
        gating.prepare_gate(chosen, baseline, tolerance, write_baseline=write_baseline)
        return show_plans(preview_runs(chosen, [target], **options.given()), json=options.json)
    with choose_progress(options.quiet, options.progress) as progress:
        gated = gating.gate(
            target,
            baseline,
            suite=chosen,
            tolerance=tolerance,
            write_baseline=write_baseline,
            **options.given(progress),
        )
    if gated.comparison is None:
        return show_runs(gated.runs, None, json=options.json, quiet=options.quiet)
    show_gated(gated, tolerance, json=options.json, quiet=options.quiet)
    return EXIT_FAILED if gated.is_worse else 0


@app.command(
    help_epilogue=examples(
        "resume runs/20261121-101500-my-drive",
        "resume runs/20261121-101500-nvme1n1 --destroy-data /dev/nvme1n1",
    ),
)
def resume(
    run: Path,
    /,
    *,
    destroy_data: DestroyData = None,
    overwrite: Overwrite = None,
    purge_method: Purge = None,
    start: Repeated = (),
    json: Json = False,
    progress: ProgressOption = "auto",
    quiet: Quiet = False,
) -> int:
    """Continue a run that was killed, stopped by Ctrl-C, or failed, and write its report.

    Parameters
    ----------
    run
        The run folder. Finished tests are kept; the others are prepared and run. The folder permits
        nothing: what the run may write has to be named again.
    start
        The program that is the run's drive, as the run names it: exec:COMMAND. No folder starts
        one. Repeatable, for the other targets of the run's command.
    """
    from fourcorners.cli.output import tell
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.runs import show_runs
    from fourcorners.running.resume_each import resume_each

    with choose_progress(quiet, progress) as shown:
        runs = resume_each(
            run,
            destroy_data=destroy_data,
            overwrite=overwrite,
            purge_method=purge_method,
            start=start,
            progress=shown,
            tell=tell,
        )
    return show_runs(runs, runs[0].path.parent, json=json, quiet=quiet)
