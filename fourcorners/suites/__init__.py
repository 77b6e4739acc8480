"""Tests as the reviews define them, suites of them, and the runner that carries them out."""

from fourcorners.suites.begin import PROFILES, characterize, choose_suite, reviews, run
from fourcorners.suites.catalog import TESTS
from fourcorners.suites.prepare import prepare
from fourcorners.suites.progress import Progress, Status
from fourcorners.suites.resume import resume
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, SuitePlan, find_suite, suite_names
from fourcorners.suites.test import Measurement, Phase, Test

__all__ = [
    "PROFILES",
    "TESTS",
    "Measurement",
    "Phase",
    "Progress",
    "Status",
    "Subject",
    "Suite",
    "SuitePlan",
    "Test",
    "characterize",
    "choose_suite",
    "find_suite",
    "prepare",
    "resume",
    "reviews",
    "run",
    "suite_names",
]
