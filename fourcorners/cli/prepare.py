"""``fourcorners prepare``: a simulated drive's state in a file."""

from collections.abc import Mapping
from pathlib import Path

from fourcorners.cli.output import say
from fourcorners.errors import UserError
from fourcorners.running.prepare import prepare
from fourcorners.target.open import open_target
from fourcorners.units import parse_bytes
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream


def run(
    locator: str,
    state: Path,
    *,
    filled_share: float,
    steady_state: bool | Stream,
    until_steady: bool,
    settings: Mapping[str, str],
    seed: int,
    replace: bool,
    quiet: bool,
) -> int:
    """Prepares the drive and says how to go on."""
    with open_target(locator, settings=settings, seed=seed) as target:
        prepare(
            target,
            state,
            filled_share=filled_share,
            steady_state=steady_state,
            until_steady=until_steady,
            seed=seed,
            replace=replace,
        )
    if not quiet:
        say(f"{target.name}: {state}, {chosen_size(state.stat().st_size)}")
    return 0


def parse_steady_state(
    steady_state: bool, pattern: str | None, block_size: str | None, span: str | None
) -> bool | Stream:
    """Which steady state the options ask for.

    Raises:
        UserError: sizes that are none, or a stream without ``--steady-state``.
    """
    if pattern is None and block_size is None and span is None:
        return steady_state
    if not steady_state:
        raise UserError("--pattern, --block-size and --span go with --steady-state")
    return Stream.write(
        pattern or "random",
        parse_bytes(block_size or "4KiB"),
        span_bytes=None if span is None else parse_bytes(span),
    )
