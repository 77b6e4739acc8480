"""Programs that simulate drives in the contest; each states the truth about its own drive."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fourcorners.errors import UserError
from fourcorners.running.explanation import SUITE, check_size
from fourcorners.running.run import run
from fourcorners.suites import Subject
from fourcorners.target.foreign import ForeignTarget, is_foreign
from fourcorners.target.open import open_target
from fourcorners_validation.arena.explain.contest import ProbedDrive, graded
from fourcorners_validation.arena.explain.foreign import draw_foreign
from fourcorners_validation.arena.explain.noise import as_seen, disturbance
from fourcorners_validation.arena.explain.truths import KINDS_TOLD, TRUTHS


def check_program(locator: str) -> None:
    """Raises :class:`UserError` for a locator that is not a program's."""
    if not is_foreign(locator):
        raise UserError(f"--target {locator}: use exec:COMMAND, a program that is a drive")


def run_program(
    locators: Sequence[str], seed: int, index: int, *, noise: float = 0.0
) -> ProbedDrive:
    """Probes the drive of one program, which gets the same requests as from any user.

    Raises :class:`UserError` for a program that is no drive, or says no truths, or none that a
    finding is about.
    """
    return _probed(locators[index], seed, index, noise)


def run_foreign(programs: str, seed: int, index: int, *, noise: float = 0.0) -> ProbedDrive:
    """Probes one drawn foreign drive, of the compiled specimens in a folder."""
    foreign = draw_foreign(seed, index)
    probed = _probed(foreign.locator(programs), foreign.seed, index, noise)
    return replace(probed, kind=foreign.specimen, foreign=True)


def _probed(locator: str, seed: int, index: int, noise: float) -> ProbedDrive:
    with (
        tempfile.TemporaryDirectory() as folder,
        open_target(locator, seed=seed) as target,
    ):
        assert isinstance(target, ForeignTarget)
        target.disturbance = disturbance(noise, seed)
        true = as_seen(true_of_program(target.locator, target.truths), noise)
        check_size(target.name, Subject.of(target))
        made = run(SUITE, target, seed=seed, out=folder)
        return replace(graded(index, target.name, made, true), noise=noise)


def true_of_program(locator: str, truths: Mapping[str, Any]) -> dict[str, float]:
    """The truths that a program states of its drive, as numbers by the names of findings."""
    if not truths:
        raise UserError(
            f'{locator} says no "truths" of its drive, so that there is nothing to grade: see '
            "docs/foreign-drives.md"
        )
    asked = {truth.finding for truth in TRUTHS}
    true: dict[str, float] = {}
    for name, value in truths.items():
        if name not in asked:
            raise UserError(f'{locator}: no finding is called "{name}": use {_list(asked)}')
        if name == "explanation":
            if value not in KINDS_TOLD:
                raise UserError(f"{locator}: explanation = {value!r}: use {_list(KINDS_TOLD)}")
            value = 1.0 + KINDS_TOLD.index(value)
        if not isinstance(value, bool | int | float):
            raise UserError(f"{locator}: {name} = {value!r}: use a number, or 0 for what is absent")
        true[name] = float(value)
    return true


def _list(names: Sequence[str] | set[str]) -> str:
    return ", ".join(sorted(names))
