"""A run on a hidden drive, as the contests of the probes and of the sentences need it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fourcorners.running.run import run
from fourcorners.store import Run
from fourcorners.suites.suite import Suite
from fourcorners.target.open import open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners_validation.arena.explain.drives import Hidden
from fourcorners_validation.arena.explain.noise import disturbance


@contextmanager
def measured(
    hidden: Hidden, suite: Suite | str, *, noise: float = 0.0
) -> Iterator[tuple[Run, Path]]:
    """A run of a suite on a drive, from which the run gets only what any drive shows, and the
    folder of both; with :mod:`noise <fourcorners_validation.arena.explain.noise>`. They exist as
    long as the context."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{hidden.drive.id}.toml"
        path.write_text(hidden.drive.text, "utf-8")
        with open_target(str(path), seed=hidden.seed) as target:
            assert isinstance(target, SimulatedTarget)
            target.disturbance = disturbance(noise, hidden.seed)
            made = run(suite, target, seed=hidden.seed, out=Path(folder) / "runs")
        yield made, Path(folder)
