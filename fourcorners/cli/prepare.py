"""``fourcorners prepare``: a simulated drive's state in a file."""

from collections.abc import Mapping
from pathlib import Path

from fourcorners.suites import prepare
from fourcorners.targets import open_target
from fourcorners.units import format_bytes


def run(
    locator: str,
    state: Path,
    *,
    filled_share: float,
    steady_state: bool,
    until_steady: bool,
    settings: Mapping[str, str],
    seed: int,
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
        )
    if not quiet:
        print(f"{target.name}: {state}, {format_bytes(state.stat().st_size)}")
    return 0
