"""The suite of the reviews: which tests there are, and a plan of those that were asked for."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.errors import UserError
from fourcorners.suites import consistency, four_corners, queue_depth, transfer_size
from fourcorners.suites.profile import PROFILES, Profile
from fourcorners.suites.test import Purge, Subject, Test

SUITE_NAME = "reviews"
_TESTS = (four_corners, queue_depth, transfer_size, consistency)
TEST_NAMES = tuple(test.NAME for test in _TESTS)


@dataclass(frozen=True)
class SuitePlan:
    """Tests in order, for one subject; ``seconds`` is the estimate on the target's clock."""

    profile: Profile
    seed: int
    subject: Subject
    tests: tuple[Test, ...]

    @property
    def seconds(self) -> float:
        """Estimated time of everything that will run."""
        return sum(test.seconds for test in self.tests)

    @property
    def purges(self) -> bool:
        """Whether any test begins with an erased drive."""
        phases = [phase for test in self.tests for phase in test.phases]
        return any(isinstance(step, Purge) for phase in phases for step in phase.preparation)


def plan_suite(
    subject: Subject,
    *,
    profile: str = "standard",
    tests: Sequence[str] | None = None,
    seed: int = 1,
) -> SuitePlan:
    """Plans the suite for a subject.

    Raises :class:`UserError` for unknown names of profiles and tests.
    """
    chosen = _known("profile", profile, tuple(PROFILES))
    wanted = TEST_NAMES if tests is None else [_known("test", t, TEST_NAMES) for t in tests]
    return SuitePlan(
        profile=PROFILES[chosen],
        seed=seed,
        subject=subject,
        tests=tuple(
            test.plan(subject, PROFILES[chosen], seed).fitted_to(subject)
            for test in _TESTS
            if test.NAME in wanted
        ),
    )


def _known(what: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(names)}"
    raise UserError(f'no {what} named "{name}": {hint}')
