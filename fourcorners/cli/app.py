"""Commands and their options."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from fourcorners.cli import compare as compare_command
from fourcorners.cli import drives as drives_command
from fourcorners.cli import import_ as import_command
from fourcorners.cli import keep as keep_command
from fourcorners.cli import prepare as prepare_command
from fourcorners.cli import report as report_command
from fourcorners.cli import reproduce as reproduce_command
from fourcorners.cli import resume as resume_command
from fourcorners.cli import run as run_command
from fourcorners.cli import tests as tests_command
from fourcorners.cli import verify as verify_command
from fourcorners.cli.progress import ProgressForm
from fourcorners.purge import Method
from fourcorners.store.shelf import Choice
from fourcorners.suites import Suite, choose_suite, reviews
from fourcorners.units import parse_bytes


def _version() -> str:
    from fourcorners import __version__

    return __version__


app = App(
    name="fourcorners",
    help="Measures, simulates, explains and predicts storage drives.",
    version=_version,
    result_action="return_value",
)

Flag = Annotated[bool, Parameter(negative=())]

arena = App(name="arena", help="Contests on simulated drives, whose truth is known.")
app.command(arena)


@arena.command(name="steady")
def arena_steady(
    *,
    traces: int = 240,
    seed: int = 1,
    jobs: int = 2,
    write: Path | None = None,
    json: Flag = False,
) -> int:
    """Let judges of steady state stop tests of random simulated drives, and say how they did.

    Parameters
    ----------
    traces
        How many drives are drawn; kinds take turns.
    seed
        Of the draw.
    jobs
        How many drives run at the same time.
    write
        Folder to write steady-state.md to.
    json
        Print the scores as JSON.
    """
    # What draws and judges is loaded when it is asked for.
    from fourcorners.cli import arena as arena_command

    return arena_command.steady(traces, seed, jobs, write, json)


@arena.command(name="explain")
def arena_explain(
    *,
    drives: int = 100,
    seed: int = 1,
    jobs: int = 2,
    write: Path | None = None,
    json: Flag = False,
) -> int:
    """Let the probes find out what is in random simulated drives, and say how right they were.

    Parameters
    ----------
    drives
        How many drives are drawn; kinds take turns.
    seed
        Of the draw.
    jobs
        How many drives are probed at the same time.
    write
        Folder to write explain-arena.md to.
    json
        Print the scores and every answer as JSON.
    """
    from fourcorners.cli import arena as arena_command

    return arena_command.explain(drives, seed, jobs, write, json)


@Parameter(name="*")
@dataclass(frozen=True)
class TargetOptions:
    """Options of everything that runs tests on targets.

    Parameters
    ----------
    size
        Size of a file that is to be created, such as 4GiB.
    set_
        Replace a parameter of a simulated drive, such as cache.write_back=false; of an array's
        members, such as member.cache.write_back=false. Repeatable.
    destroy_data
        The block device whose data may be destroyed. Without it, devices are only read.
    overwrite
        The existing file whose content may be overwritten. Without it, such files are only read.
    purge
        How the device that --destroy-data names is erased where a test begins with an erased drive:
        discard, nvme-format, nvme-sanitize or ata-secure-erase. Without it, no device is erased.
    io_limit
        Seconds that one I/O may take before the test is given up: 120 by default. Files and devices
        only.
    engine
        How I/O is passed to the system: auto, io_uring, nvme or sync, with options such as
        io_uring,batch=32,cpus=0-3 (docs/real-targets.md). Files and devices only.
    state
        File that "prepare" wrote of the simulated drive: the tests start from that state instead of
        erasing and filling the drive.
    filled
        Share of the target that is filled and used, from its start, such as 0.5. The rest stays
        empty, which a drive uses as spare area.
    seed
        Root of all randomness: the same seed repeats a simulated run exactly.
    out
        Folder for run folders.
    dry_run
        Say what would be done, how long it takes, how much is written and what is destroyed.
    json
        Print the result as JSON.
    progress
        auto suits the terminal; json writes JSON lines to standard error.
    quiet
        No progress and no summary: only the paths of the run folders.
    """

    size: str | None = None
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = ()
    destroy_data: str | None = None
    overwrite: str | None = None
    purge: Method | None = None
    io_limit: float | None = None
    engine: str | None = None
    state: Path | None = None
    filled: float = 1.0
    seed: int = 1
    out: Path = Path("runs")
    dry_run: Flag = False
    json: Flag = False
    progress: ProgressForm = "auto"
    quiet: Flag = False


_DEFAULTS = TargetOptions()


def _run(suite: Suite, targets: tuple[str, ...], given: TargetOptions) -> int:
    return run_command.run(targets, _options(suite, given))


def _options(suite: Suite, given: TargetOptions) -> run_command.Options:
    return run_command.Options(
        suite=suite,
        dry_run=given.dry_run,
        size=None if given.size is None else parse_bytes(given.size),
        settings=run_command.parse_settings(given.set_),
        destroy_data=given.destroy_data,
        overwrite=given.overwrite,
        purge=given.purge,
        io_limit_s=given.io_limit,
        engine=given.engine,
        state=given.state,
        filled_share=given.filled,
        seed=given.seed,
        out=given.out,
        json=given.json,
        progress=given.progress,
        quiet=given.quiet,
    )


def _names(tests: str | None) -> list[str] | None:
    return None if tests is None else [name.strip() for name in tests.split(",")]


@app.command
def characterize(
    *targets: str,
    profile: Literal["quick", "standard", "full"] = "standard",
    tests: str | None = None,
    options: TargetOptions = _DEFAULTS,
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
    suite = choose_suite(reviews(profile), tests=_names(tests))
    return _run(suite, targets, options)


@app.command
def run(
    test: str,
    /,
    *targets: str,
    with_: Annotated[tuple[str, ...], Parameter(name="--with", negative=())] = (),
    tests: str | None = None,
    quick: Flag = False,
    scale: float = 1.0,
    log_ios: int | None = None,
    options: TargetOptions = _DEFAULTS,
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
    suite = choose_suite(
        test,
        parameters=run_command.parse_parameters(with_),
        scale=scale,
        quick=quick,
        tests=_names(tests),
        log_ios=log_ios,
    )
    return _run(suite, targets, options)


@app.command
def explain(
    subject: str, /, *, reads_only: Flag = False, options: TargetOptions = _DEFAULTS
) -> int:
    """Say what is inside a drive: run the probes that are missing, and what they show.

    Parameters
    ----------
    subject
        What to explain: a target as in "characterize", or the folder of a run, whose drive is
        probed for what the run does not have yet.
    reads_only
        Only the probes that read. A file or device is not written in any case unless it is named.
    """
    # The probes' estimators are loaded when they are asked for.
    from fourcorners.cli import explain as explain_command
    from fourcorners.suites.explanation import READING_SUITE, SUITE

    suite = choose_suite(READING_SUITE if reads_only else SUITE)
    return explain_command.run(subject, reads_only, _options(suite, options))


@app.command(name="tests")
def list_tests(name: str | None = None, /, *, json: Flag = False) -> int:
    """List the tests and suites, or show one test's parameters.

    Parameters
    ----------
    name
        The test to show.
    json
        Print as JSON.
    """
    return tests_command.run(name, json)


@app.command
def resume(
    run: Path, /, *, json: Flag = False, progress: ProgressForm = "auto", quiet: Flag = False
) -> int:
    """Go on with a run that was killed, stopped by Ctrl-C, or failed, and write its report.

    Parameters
    ----------
    run
        The run folder. Finished tests are kept; the others are prepared and run.
    json
        Print the result as JSON.
    progress
        auto suits the terminal; json writes JSON lines to standard error.
    quiet
        No progress and no summary: only the path of the run folder.
    """
    return resume_command.run(run, json=json, progress=progress, quiet=quiet)


@app.command
def drives(name: str | None = None, /, *, json: Flag = False) -> int:
    """List the simulated drives, or show one drive's parameters with units and sources.

    Parameters
    ----------
    name
        The drive to show; a part of its name is enough. raid0:4xNAME shows an array.
    json
        Print as JSON.
    """
    return drives_command.run(name, json)


@app.command
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
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    seed: int = 1,
    quiet: Flag = False,
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
    set_
        Replace a parameter, as in "characterize"; the same are needed to use the state.
    seed
        Root of all randomness.
    quiet
        Print nothing.
    """
    return prepare_command.run(
        target,
        state,
        filled_share=filled,
        steady_state=prepare_command.parse_steady_state(steady_state, pattern, block_size, span),
        until_steady=until_steady,
        settings=run_command.parse_settings(set_),
        seed=seed,
        quiet=quiet,
    )


@app.command
def report(
    *runs: Path,
    out: Path | None = None,
    published: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    claims: Path | None = None,
    json: Flag = False,
    quiet: Flag = False,
) -> int:
    """Write the report of a run again, or one report that shows several runs side by side.

    Parameters
    ----------
    runs
        Run folders.
    out
        The HTML file to write. By default report.html in the run folder, or for several runs
        a new file beside the first one.
    published
        A drive of the catalog whose published figures are laid beside every run, such as
        samsung-840-pro-256gb. Repeatable. A simulated drive's own are there without it.
    claims
        A file (TOML) of what the vendor claims, which the spec sheet puts beside what was measured.
    json
        Print the runs' manifests, recordings and findings as JSON instead of their summary.
    quiet
        Only the path of the report.
    """
    return report_command.run(runs, out, published, claims, json=json, quiet=quiet)


@app.command
def compare(
    *runs: str,
    fail_if: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    junit: Path | None = None,
    markdown: Path | None = None,
    json: Flag = False,
    quiet: Flag = False,
) -> int:
    """Compare runs with the first one: what differs, by how much, and how sure that is.

    Parameters
    ----------
    runs
        Run folders, the baseline first. Runs that repeat each other are joined by commas, and a
        label may stand before them: before=runs/A,runs/B after=runs/C,runs/D.
    fail_if
        A condition that must not hold, such as "p99_read_latency > 1.1 * baseline" or
        "four-corners/*: read_iops < 50000": the exit code is 4 where it surely does. Repeatable.
    junit
        File to write the conditions to as JUnit XML.
    markdown
        File to write a short summary to.
    json
        Print everything as JSON.
    quiet
        Print nothing: the exit code tells.
    """
    return compare_command.run(
        runs, compare_command.Options(tuple(fail_if), junit, markdown, json, quiet)
    )


@app.command
def runs(
    *folders: Path,
    drive: str | None = None,
    test: str | None = None,
    tag: str | None = None,
    since: date | None = None,
    until: date | None = None,
    json: Flag = False,
) -> int:
    """List the runs that are kept.

    Parameters
    ----------
    folders
        Where run folders are: "runs" by default.
    drive
        Only drives with this in their name.
    test
        Only runs with this test.
    tag
        Only runs with this tag (see "note").
    since
        Only runs of this day and later, such as 2026-11-21 (UTC).
    until
        Only runs of this day and earlier.
    json
        Print as JSON.
    """
    return keep_command.list_runs(
        folders or (Path("runs"),), Choice(drive, test, tag, since, until), json
    )


@app.command
def note(
    *runs: Path,
    tag: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    untag: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    text: str | None = None,
) -> int:
    """Write tags and a note on runs; measurements are not touched.

    Parameters
    ----------
    runs
        Run folders.
    tag
        A tag to add, such as firmware-2.1. Repeatable.
    untag
        A tag to take away. Repeatable.
    text
        The note, which replaces the one before.
    """
    return keep_command.annotate(runs, tag, untag, text)


@app.command
def query(
    sql: str,
    /,
    *folders: Path,
    out: Path | None = None,
    json: Flag = False,
) -> int:
    """Ask all runs in SQL (DuckDB); docs/query.md describes the tables.

    Parameters
    ----------
    sql
        One SELECT over runs, tests, recordings, series, histograms, findings, published,
        four_corners, queue_depths, transfer_sizes and artefacts.
    folders
        Run folders, or folders of them: "runs" by default.
    out
        File for the result instead of the terminal: .csv, .parquet or .json.
    json
        Print rows as JSON.
    """
    return keep_command.ask(sql, folders or (Path("runs"),), out, json)


@app.command(name="import")
def import_(
    *files: Path,
    log: Annotated[tuple[Path, ...], Parameter(negative=())] = (),
    out: Path = Path("runs"),
    json: Flag = False,
    quiet: Flag = False,
) -> int:
    """Make run folders of what fio (JSON, JSON+) or Iometer (CSV) measured.

    Parameters
    ----------
    files
        Result files.
    log
        A latency log that fio wrote beside its JSON, one per job in their order. Repeatable.
    out
        Folder for run folders.
    json
        Print the runs as JSON.
    quiet
        Only the paths of the run folders.
    """
    return import_command.run(files, log, out, json, quiet)


@app.command
def export(
    folder: Path,
    /,
    *runs: Path,
    format: Literal["csv", "parquet", "json"] = "csv",
) -> int:
    """Write all tables of runs as files for other programs.

    Parameters
    ----------
    folder
        New folder for the files.
    runs
        Run folders, or folders of them: "runs" by default.
    format
        csv, parquet or json.
    """
    return keep_command.export(folder, runs or (Path("runs"),), format)


@app.command
def reproduce(
    *, only: str | None = None, write: Path | None = None, jobs: int = 2, json: Flag = False
) -> int:
    """Run the reviews' experiments on the simulated drives and compare with what was published.

    Parameters
    ----------
    only
        Only these reviews, separated by commas: core, owc, vertex3, sata, vector.
    write
        Folder to write reproduction.html and reproduction.md to.
    jobs
        How many drives run at the same time; each takes up to 1 GB of memory.
    json
        Print the tables as JSON.
    """
    return reproduce_command.run(
        None if only is None else [name.strip() for name in only.split(",")], write, jobs, json
    )


@app.command
def verify(
    target: str,
    /,
    *,
    seconds: float = 10.0,
    span: str | None = None,
    state: Path | None = None,
    again: Flag = False,
    size: str | None = None,
    destroy_data: str | None = None,
    overwrite: str | None = None,
    purge: Method | None = None,
    io_limit: float | None = None,
    engine: str | None = None,
    seed: int = 1,
    json: Flag = False,
    progress: ProgressForm = "auto",
    quiet: Flag = False,
) -> int:
    """Find out whether a target keeps what is written to it.

    Parameters
    ----------
    target
        What to verify, as in "characterize".
    seconds
        Duration of the mixed load between the fill and the pass over everything.
    span
        Use only so many bytes from the start, such as 4GiB.
    state
        File that keeps what every block should hold, for --again.
    again
        Write nothing: compare with the state that an earlier run left, also one that was killed.
    size
        Size of a file that is to be created, such as 4GiB.
    destroy_data
        The block device whose data may be destroyed.
    overwrite
        The existing file whose content may be overwritten.
    purge
        How the device that --destroy-data names is erased before everything is written: discard,
        nvme-format, nvme-sanitize or ata-secure-erase. Without it, it is only overwritten.
    io_limit
        Seconds that one I/O may take before the verification is given up: 120 by default.
    engine
        How I/O is passed to the system, as in "characterize".
    seed
        Root of the load's randomness.
    json
        Print the result as JSON.
    progress
        auto suits the terminal; json writes JSON lines to standard error.
    quiet
        Print nothing: the exit code tells.
    """
    return verify_command.run(
        target,
        verify_command.Options(
            seconds=seconds,
            span=None if span is None else parse_bytes(span),
            state=state,
            again=again,
            size=None if size is None else parse_bytes(size),
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


@app.command
def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print what makes a shell complete commands and options: source <(fourcorners completion bash)

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    print(app.generate_completion(shell=shell))
    return 0
