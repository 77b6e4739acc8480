"""``fourcorners verify``: whether a target keeps what is written to it."""

from dataclasses import dataclass
from pathlib import Path

from fourcorners.cli import conformance
from fourcorners.cli.options import ProgressForm
from fourcorners.cli.output import print_json, say
from fourcorners.cli.progress import choose_progress
from fourcorners.errors import EXIT_DAMAGED, EXIT_FAILED, EXIT_INTERRUPTED, UserError
from fourcorners.running import interrupt
from fourcorners.running.interrupt import InterruptRequest
from fourcorners.target.foreign import is_foreign
from fourcorners.target.open import open_target
from fourcorners.target.purge import Method
from fourcorners.target.verification import BLOCK_BYTES, Verification, check, verify
from fourcorners.wording import chosen_size

_OF_DATA = ("span", "state", "again", "size", "destroy_data", "overwrite", "purge", "engine")
# Of more damages than this the rest is in --json.
_SHOWN_MAX = 20


@dataclass(frozen=True)
class VerifyOptions:
    """The options of the command, parsed."""

    seconds: float
    span: int | None
    state: Path | None
    again: bool
    size: int | None
    destroy_data: str | None
    overwrite: str | None
    purge: Method | None
    io_limit_s: float | None
    engine: str | None
    seed: int
    json: bool
    progress: ProgressForm
    quiet: bool


def run(locator: str, options: VerifyOptions) -> int:
    """Verifies one target and returns the exit code."""
    if is_foreign(locator):
        return _run_program(locator, options)
    # Opening may make a file.
    check(
        seconds=options.seconds,
        span=options.span,
        state=options.state,
        again=options.again,
        seed=options.seed,
        size=options.size,
    )
    asked = InterruptRequest()
    with (
        open_target(
            locator,
            size=options.size,
            destroy_data=options.destroy_data,
            overwrite=options.overwrite,
            purge_method=options.purge,
            seed=options.seed,
            io_limit_s=options.io_limit_s,
            engine=options.engine,
        ) as target,
        choose_progress(options.quiet, options.progress) as progress,
        asked,
    ):
        found = verify(
            target,
            seconds=options.seconds,
            span=options.span,
            state=options.state,
            again=options.again,
            seed=options.seed,
            watch=lambda *_: not asked.requested,
            tell=lambda activity: progress.message(f"{target.name}: {activity}"),
        )
        if options.json:
            print_json(found.to_dict(target))
        elif not options.quiet:
            _show(found)
    if found.damages:
        return EXIT_DAMAGED
    if found.failure is not None:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if found.interrupted else 0


def _run_program(locator: str, options: VerifyOptions) -> int:
    """A program that is a drive keeps no data: whether it keeps to the protocol."""
    for option in _OF_DATA:
        if getattr(options, option):
            name = option.replace("_", "-")
            raise UserError(f"--{name} is for targets that keep data, and {locator} is a program")
    return conformance.run(
        locator,
        seed=options.seed,
        silence_s=options.io_limit_s,
        json=options.json,
        quiet=options.quiet,
    )


def _show(found: Verification) -> None:
    checked = chosen_size(found.checked * BLOCK_BYTES)
    if found.failure is not None:
        say(f"Ended early: {found.failure}.")
    elif found.interrupted:
        say(f"Ended early: {interrupt.stopped_by()}.")
    if found.forgotten:
        say(f"The state is damaged: {found.forgotten} blocks of it are unchecked.")
    if not found.damages:
        say(f"Checked {found.checked} blocks ({checked}): all as written.")
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.counts.items()))
    say(f"Checked {found.checked} blocks ({checked}): DAMAGED: {kinds}.")
    for damage in found.damages[:_SHOWN_MAX]:
        origin = "" if damage.written_for is None else f", holds byte {damage.written_for}'s block"
        say(f"  byte {damage.address}: {damage.kind}{origin}")
    if len(found.damages) > _SHOWN_MAX:
        say(f"  and {len(found.damages) - _SHOWN_MAX} more (--json lists them)")
