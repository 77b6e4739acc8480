"""The options of everything that runs tests on targets, written once."""

from pathlib import Path
from typing import cast

from fourcorners.running.progress import Progress
from fourcorners.target.options import TargetOptions


class RunOptions(TargetOptions, total=False):
    """Options of runs: how a target that is named by its locator is opened
    (:class:`TargetOptions`), and these.

    ``filled_share`` is how much of the target is filled and used, from its start, 1 by default; the
    rest of a drive stays empty, and so is spare area. ``seed`` is the root of all randomness, 1 by
    default. ``out`` is the folder in which run folders are made, ``runs`` by default. ``command``
    is what the user typed, for the manifest. ``progress`` is told what happens.
    """

    filled_share: float
    seed: int
    out: str | Path
    command: str | None
    progress: Progress | None


def target_options(options: RunOptions) -> TargetOptions:
    """Those that say how a target is opened, and were given."""
    names = TargetOptions.__annotations__.keys()
    given = {name: one for name, one in options.items() if name in names and one is not None}
    return cast("TargetOptions", given)
