"""Whether a sentence is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fourcorners_validation.arena.sentences.drive import KnownDrive
from fourcorners_validation.arena.sentences.page import Page, PageSentence


@dataclass(frozen=True)
class Ruling:
    """``holds`` is ``None`` if the sentence is undecided; ``why`` is the reason if it is false."""

    holds: bool | None
    why: str = ""


UNTOLD, TRUE = Ruling(None), Ruling(True)
Rule = Callable[[PageSentence, Page, KnownDrive | None], Ruling]


def require(holds: bool, why: str) -> Ruling:
    """True, or false with the reason."""
    return TRUE if holds else Ruling(False, why)


def close(said: float, true: float, tolerance: float, what: str) -> Ruling:
    """True if the two differ by no more than a share of the true value."""
    return require(
        abs(said - true) <= tolerance * abs(true) + 1e-12,
        f"{what} is {true:.4g}, and {said:.4g} is said",
    )


def all_of(*rulings: Ruling) -> Ruling:
    """False if any ruling is false; true if one is true and none is false."""
    for ruling in rulings:
        if ruling.holds is False:
            return ruling
    return TRUE if any(ruling.holds for ruling in rulings) else UNTOLD
