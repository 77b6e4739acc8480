"""Preconditioning that is done once: a simulated drive's state in a file, to start from it."""

from collections.abc import Mapping
from pathlib import Path

from fourcorners.catalog.settings import Setting
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.running.precondition import write_until_steady
from fourcorners.suites.steps import Fill, SteadyWrites
from fourcorners.suites.subject import filled_bytes
from fourcorners.target.open import open_target
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import Target
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream


def prepare(
    target: Target | str,
    state: str | Path,
    *,
    filled_share: float = 1.0,
    steady_state: bool | Stream = False,
    until_steady: bool = False,
    settings: Mapping[str, Setting] | None = None,
    seed: int = 1,
    replace: bool = False,
) -> str:
    """Erases a simulated drive, fills it, saves its state, and returns the drive's name.

    Args:
        target: the drive, open, or its locator.
        state: the file to write, for ``open_target(..., state=...)``.
        filled_share: how much of it is filled, from its start; the rest stays empty.
        steady_state: after the fill the drive is put at once into the steady state of this stream,
            or of uniform random writes, see :meth:`SimulatedTarget.enter_steady_state`.
        until_steady: after the fill, 4 KiB random writes follow until the judge says that the drive
            is in its steady state (docs/steady-state.md), as a real drive is preconditioned.
        settings: parameters of the drive to replace, for one that is named by its locator.
        seed: root of the written content.
        replace: replace a file of any content; without it only an earlier state.

    Raises:
        UserError: a target without states that can be saved, both kinds of steady state, one that
            is not known or not reached, a fill that fails, or a file that cannot be written.
    """
    if isinstance(target, str):
        with open_target(target, settings=settings, seed=seed) as opened:
            return prepare(
                opened,
                state,
                filled_share=filled_share,
                steady_state=steady_state,
                until_steady=until_steady,
                seed=seed,
                replace=replace,
            )
    if target.no_state_reason is not None:
        raise UserError(f"{target.locator}: {target.no_state_reason}")
    if steady_state and until_steady:
        raise UserError("--steady-state enters a steady state at once: leave out --until-steady")
    target.state_output(state, replace).check()
    count = filled_bytes(target.capacity_bytes, filled_share)
    if steady_state:
        if not isinstance(target, SimulatedTarget):
            raise UserError(
                f"--steady-state is for sim: and drive files, and {target.locator} is neither: use "
                "--until-steady"
            )
        stream = steady_state if isinstance(steady_state, Stream) else None
        target.enter_steady_state(filled_share, stream)
    else:
        target.purge()
        for workload in Fill(count).workloads(seed):
            failure = target.run(workload).failure
            if failure is not None:
                raise UserError(f"{target.name}: the fill failed: {failure}", EXIT_FAILED)
    if until_steady:
        writes = SteadyWrites(count)
        outcome = write_until_steady(
            target.run,
            writes.stream,
            span_bytes=count,
            capacity_bytes=target.capacity_bytes,
            seed=seed,
        )
        if not outcome.steady:
            raise UserError(
                f"{target.name}: not steady after {chosen_size(outcome.written_bytes)} of random "
                "writes",
                EXIT_FAILED,
            )
    target.save(state, replace=replace)
    return target.name
