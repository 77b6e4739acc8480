"""``prepare`` and ``verify``: what is done to a target besides tests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fourcorners.cli.options import (
    DestroyData,
    Engine,
    FileSize,
    Flag,
    IoLimit,
    Json,
    Overwrite,
    ProgressOption,
    Purge,
    Replace,
    Seed,
    Settings,
    Silent,
    Size,
    examples,
    settings_of,
)
from fourcorners.cli.root import app

if TYPE_CHECKING:
    from fourcorners.workload import Stream


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
    filled_share: Annotated[float, Parameter(name="--filled")] = 1.0,
    steady_state: Flag = False,
    pattern: str | None = None,
    block_size: Size | None = None,
    span: Size | None = None,
    until_steady: Flag = False,
    settings: Settings = (),
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
    filled_share
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
    from fourcorners.cli.output import say
    from fourcorners.running import prepare as preparing
    from fourcorners.wording import chosen_size

    name = preparing.prepare(
        target,
        state,
        filled_share=filled_share,
        steady_state=_steady_state(steady_state, pattern, block_size, span),
        until_steady=until_steady,
        settings=settings_of(settings),
        seed=seed,
        replace=replace,
    )
    if not quiet:
        say(f"{name}: {state}, {chosen_size(state.stat().st_size)}")
    return 0


STEADY_PATTERNS = {
    "random": "random",
    "sequential": "sequential",
    "zipf": "zipf:EXPONENT",
    "hot-cold": "hot-cold:DATA:ACCESSES",
}
"""The patterns of writes whose steady state can be entered, and how they are written."""


def _steady_state(
    steady_state: bool, pattern: str | None, block_bytes: int | None, span_bytes: int | None
) -> "bool | Stream":
    """Which steady state the options ask for; raises :class:`UserError` for a stream without
    ``--steady-state``."""
    from fourcorners.errors import UserError
    from fourcorners.workload import Stream

    if pattern is None and block_bytes is None and span_bytes is None:
        return steady_state
    if not steady_state:
        raise UserError("--pattern, --block-size and --span go with --steady-state")
    if pattern is not None and pattern.partition(":")[0] not in STEADY_PATTERNS:
        forms = ", ".join(STEADY_PATTERNS.values())
        raise UserError(f'--pattern "{pattern}": use one of {forms}')
    return Stream.write(pattern or "random", block_bytes or 4096, span_bytes=span_bytes)


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
    span_bytes: Annotated[Size | None, Parameter(name="--span")] = None,
    state: Path | None = None,
    again: Flag = False,
    size: FileSize = None,
    destroy_data: DestroyData = None,
    overwrite: Overwrite = None,
    purge_method: Purge = None,
    io_limit_s: IoLimit = None,
    engine: Engine = None,
    seed: Seed = 1,
    json: Json = False,
    progress: ProgressOption = "auto",
    quiet: Silent = False,
) -> int:
    """Check whether a target returns what was written to it, or a program keeps to the protocol.

    Parameters
    ----------
    target
        What to verify, as in "characterize"; of exec:COMMAND, whether the program simulates a drive
        as docs/foreign-drives.md wants it.
    seconds
        Duration of the mixed load between the fill and the pass over everything.
    span_bytes
        Use only so many bytes from the start, such as 4GiB.
    state
        File that keeps what every block should hold, for --again.
    again
        Write nothing: compare with the state that an earlier run left, also one that was killed.
    """
    from fourcorners.cli.output import print_json
    from fourcorners.cli.progress import choose_progress
    from fourcorners.cli.show.conformance import show_conformance
    from fourcorners.cli.show.verification import show_verification
    from fourcorners.errors import EXIT_DAMAGED, EXIT_FAILED, EXIT_INTERRUPTED, UserError
    from fourcorners.running.interrupt import InterruptRequest
    from fourcorners.target import verification
    from fourcorners.target.conformance import conformance
    from fourcorners.target.foreign import is_foreign
    from fourcorners.writing import json_value

    if is_foreign(target):
        of_data = {
            "span": span_bytes,
            "state": state,
            "again": again,
            "size": size,
            "destroy-data": destroy_data,
            "overwrite": overwrite,
            "purge": purge_method,
            "engine": engine,
        }
        if given := [name for name, value in of_data.items() if value]:
            raise UserError(
                f"--{given[0]} is for targets that keep data, and {target} is a program"
            )
        checks = conformance(target, seed=seed, silence_s=io_limit_s)
        return show_conformance(target, seed, checks, json=json, quiet=quiet)
    asked = InterruptRequest()
    with choose_progress(quiet, progress) as shown, asked:
        found = verification.verify(
            target,
            seconds=seconds,
            span_bytes=span_bytes,
            state=state,
            again=again,
            size=size,
            destroy_data=destroy_data,
            overwrite=overwrite,
            purge_method=purge_method,
            io_limit_s=io_limit_s,
            engine=engine,
            seed=seed,
            watch=lambda *_: not asked.requested,
            tell=shown.message,
        )
        if json:
            print_json(json_value(found))
        elif not quiet:
            show_verification(found)
    if found.damages:
        return EXIT_DAMAGED
    if found.failure is not None:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if found.interrupted else 0
