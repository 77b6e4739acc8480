"""Preconditioning that is done once: a simulated drive's state in a file, to start from it."""

from pathlib import Path

from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.suites.steps import Fill
from fourcorners.suites.subject import filled_bytes
from fourcorners.targets import SimulatedTarget, Target


def prepare(
    target: Target,
    state: str | Path,
    *,
    filled_share: float = 1.0,
    steady_state: bool = False,
    seed: int = 1,
) -> None:
    """Erases a simulated drive, fills it, and saves its state.

    Args:
        target: the drive, open.
        state: the file to write, for ``open_target(..., state=...)``.
        filled_share: how much of it is filled, from its start; the rest stays empty.
        steady_state: rather than filled in sequence, the drive is put into the steady state of
            random writes, see :meth:`SimulatedTarget.enter_steady_state`.
        seed: root of the written content.

    Raises:
        UserError: a target that is not simulated, a drive without a steady state to enter, a fill
            that fails, or a file that cannot be written.
    """
    if not isinstance(target, SimulatedTarget):
        raise UserError(f"only simulated drives can be saved, and {target.locator} is not one")
    count = filled_bytes(target.capacity_bytes, filled_share)
    if steady_state:
        target.enter_steady_state(filled_share)
    else:
        target.purge()
        for workload in Fill(count).workloads(seed):
            failure = target.run(workload).failure
            if failure is not None:
                raise UserError(f"{target.name}: the fill failed: {failure}", EXIT_FAILED)
    target.save(state)
