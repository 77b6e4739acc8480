"""A review: what it is, what is run for it, and what it says."""

from dataclasses import dataclass

from fourcorners.validation.reproduction.checks import PublishedCheck
from fourcorners.validation.reproduction.experiment import Experiment
from fourcorners.validation.reproduction.figure import Figure


@dataclass(frozen=True)
class Source:
    """One review, by the short name that is used throughout.

    ``left_out`` says what of the review cannot be shown, and why.
    """

    name: str
    title: str
    citation: str
    experiments: tuple[Experiment, ...]
    figures: tuple[Figure, ...]
    checks: tuple[PublishedCheck, ...]
    left_out: str | None = None
