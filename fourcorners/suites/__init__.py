"""Tests, as the reviews and SNIA define them, and suites of them; nothing here carries one out."""

from fourcorners.suites.catalog import TESTS
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite, SuitePlan, find_suite, suite_names
from fourcorners.suites.test import Measurement, Phase, Test

__all__ = [
    "TESTS",
    "Measurement",
    "Phase",
    "Subject",
    "Suite",
    "SuitePlan",
    "Test",
    "find_suite",
    "suite_names",
]
