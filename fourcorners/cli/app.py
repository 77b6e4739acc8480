"""Commands and their options.

What carries a command out is loaded when it is given: help, completion and mistakes answer at once.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from fourcorners.cli import catalog, keeping, reporting, studies
from fourcorners.cli.options import (
    DEFAULTS,
    Claims,
    DestroyData,
    Engine,
    FileSize,
    Flag,
    IoLimit,
    Json,
    Overwrite,
    ProgressOption,
    Purge,
    Quiet,
    Repeated,
    Replace,
    RunJobs,
    Seed,
    Settings,
    Silent,
    TargetOptions,
    examples,
    names,
)
from fourcorners.cli.root import app
from fourcorners.units import parse_bytes

if TYPE_CHECKING:
    from fourcorners.cli import run as run_command
    from fourcorners.suites import Suite


__all__ = ["GROUPS", "app"]

GROUPS = (catalog, keeping, reporting, studies)
"""The modules whose commands the program has."""


def _run(
    suite: "Suite",
    targets: tuple[str, ...],
    given: TargetOptions,
    claims: Path | None,
    jobs: int,
) -> int:
    from fourcorners.cli import run as run_command

    return run_command.run(targets, _options(suite, given, claims, jobs))


def _options(
    suite: "Suite", given: TargetOptions, claims: Path | None = None, jobs: int = 1
) -> "run_command.Options":
    from fourcorners.catalog.claims import read_claims
    from fourcorners.cli import run as run_command

    return run_command.Options(
        suite=suite,
        dry_run=given.dry_run,
        size=given.size,
        settings=run_command.parse_settings(given.set_),
        destroy_data=given.destroy_data,
        overwrite=given.overwrite,
        purge=given.purge,
        io_limit_s=given.io_limit,
        engine=given.engine,
        state=given.state,
        filled_share=given.filled,
        claims=() if claims is None else read_claims(claims),
        seed=given.seed,
        out=given.out,
        json=given.json,
        progress=given.progress,
        quiet=given.quiet,
        jobs=jobs,
    )


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
    options: TargetOptions = DEFAULTS,
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
        consistency.
    """
    from fourcorners.running.begin import choose_suite, reviews

    suite = choose_suite(reviews(profile), tests=names(tests))
    return _run(suite, targets, options, claims, jobs)


@app.command(
    help_epilogue=examples(
        "run consistency sim:vertex-3-240gb",
        "run queue-depth sim:ocz-vector-256gb --with depths=1,4,16 --with time=10s",
        "run ./mine.toml /dev/nvme1n1",
    ),
)
def run(
    test: str,
    /,
    *targets: str,
    with_: Annotated[Repeated, Parameter(name="--with")] = (),
    tests: str | None = None,
    quick: Flag = False,
    scale: float = 1.0,
    log_ios: int | None = None,
    claims: Claims = None,
    jobs: RunJobs = 1,
    options: TargetOptions = DEFAULTS,
) -> int:
    """Run one test, a suite or a suite file on drives and write a report.

    Parameters
    ----------
    test
        A test or a suite by its name (see "fourcorners tests"), or a suite file (./mine.toml).
    targets
        What to test, as in "characterize".
    with_
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
    from fourcorners.cli import run as run_command
    from fourcorners.running.begin import choose_suite

    suite = choose_suite(
        test,
        parameters=run_command.parse_parameters(with_),
        scale=scale,
        quick=quick,
        tests=names(tests),
        log_ios=log_ios,
    )
    return _run(suite, targets, options, claims, jobs)


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
    options: TargetOptions = DEFAULTS,
) -> int:
    """Say what is inside a drive: run the probes that are missing, and what they show.

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
    from fourcorners.cli import explain as explain_command
    from fourcorners.running.begin import choose_suite
    from fourcorners.running.explanation import READING_SUITE, SUITE

    suite = choose_suite(READING_SUITE if reads_only else SUITE)
    return explain_command.run(subject, reads_only, all_probes, _options(suite, options))


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
    purge: Purge = None,
    start: Repeated = (),
    json: Json = False,
    progress: ProgressOption = "auto",
    quiet: Quiet = False,
) -> int:
    """Go on with a run that was killed, stopped by Ctrl-C, or failed, and write its report.

    Parameters
    ----------
    run
        The run folder. Finished tests are kept; the others are prepared and run. The folder permits
        nothing: what the run may write has to be named again.
    start
        The program that is the run's drive, as the run names it: exec:COMMAND. No folder starts
        one. Repeatable, for the other targets of the run's command.
    """
    from fourcorners.cli import resume as resume_command
    from fourcorners.running.resume import Words

    words = Words(destroy_data, overwrite, purge, tuple(start))
    return resume_command.run(run, words, json=json, progress=progress, quiet=quiet)


@app.command(
    help_epilogue=examples(
        "prepare sim:ocz-vector-256gb worn.state --steady-state",
    ),
)
def prepare(
    target: str,
    state: Path,
    /,
    *,
    filled: float = 1.0,
    steady_state: Flag = False,
    pattern: str | None = None,
    block_size: str | None = None,
    span: str | None = None,
    until_steady: Flag = False,
    set_: Settings = (),
    seed: Seed = 1,
    replace: Replace = False,
    quiet: Silent = False,
) -> int:
    """Erase and fill a simulated drive once and save its state, for "characterize --state".

    Parameters
    ----------
    target
        A simulated drive, as in "characterize".
    state
        The file to write.
    filled
        Share of the drive that is filled, from its start, such as 0.5. The rest stays empty.
    steady_state
        After the fill put the drive into the steady state of uniform random writes to what is
        filled, at once.
    pattern
        With --steady-state: of writes that are "sequential", "zipf:0.99" (Zipf's law with that
        exponent) or "hot-cold:0.2:0.8" (a fifth of the places takes four fifths of the writes).
    block_size
        With --steady-state: size of the writes, 4KiB unless given.
    span
        With --steady-state: the writes go to so much from the start of the drive, such as 8GB.
    until_steady
        After the fill, write at random until the drive is judged to be in its steady state.
    """
    from fourcorners.cli import prepare as prepare_command
    from fourcorners.cli import run as run_command

    return prepare_command.run(
        target,
        state,
        filled_share=filled,
        steady_state=prepare_command.parse_steady_state(steady_state, pattern, block_size, span),
        until_steady=until_steady,
        settings=run_command.parse_settings(set_),
        seed=seed,
        replace=replace,
        quiet=quiet,
    )


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
    options: TargetOptions = DEFAULTS,
) -> int:
    """Measure for under a minute and fail if a drive is slower than a stored baseline.

    What looks slower is measured twice more.

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
    from fourcorners.cli import gate as gate_command
    from fourcorners.running.begin import choose_suite

    return gate_command.run(
        target,
        baseline,
        tolerance,
        _options(choose_suite(suite), options),
        write_baseline=write_baseline,
    )


@app.command(
    help_epilogue=examples(
        "verify test.bin --size 8GiB",
        "verify /dev/nvme1n1 --destroy-data /dev/nvme1n1 --state before",
        "verify exec:./mysim",
    ),
)
def verify(
    target: str,
    /,
    *,
    seconds: float = 10.0,
    span: str | None = None,
    state: Path | None = None,
    again: Flag = False,
    size: FileSize = None,
    destroy_data: DestroyData = None,
    overwrite: Overwrite = None,
    purge: Purge = None,
    io_limit: IoLimit = None,
    engine: Engine = None,
    seed: Seed = 1,
    json: Json = False,
    progress: ProgressOption = "auto",
    quiet: Silent = False,
) -> int:
    """Find out whether a target keeps what is written to it, or a program to the protocol.

    Parameters
    ----------
    target
        What to verify, as in "characterize"; of exec:COMMAND, whether the program simulates a drive
        as docs/foreign-drives.md wants it.
    seconds
        Duration of the mixed load between the fill and the pass over everything.
    span
        Use only so many bytes from the start, such as 4GiB.
    state
        File that keeps what every block should hold, for --again.
    again
        Write nothing: compare with the state that an earlier run left, also one that was killed.
    """
    from fourcorners.cli import verify as verify_command

    return verify_command.run(
        target,
        verify_command.VerifyOptions(
            seconds=seconds,
            span=None if span is None else parse_bytes(span),
            state=state,
            again=again,
            size=size,
            destroy_data=destroy_data,
            overwrite=overwrite,
            purge=purge,
            io_limit_s=io_limit,
            engine=engine,
            seed=seed,
            json=json,
            progress=progress,
            quiet=quiet,
        ),
    )
