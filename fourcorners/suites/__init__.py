"""Tests as the reviews define them, and the runner that carries them out."""

from fourcorners.suites.catalog import TEST_NAMES, SuitePlan, plan_suite
from fourcorners.suites.prepare import prepare
from fourcorners.suites.profile import PROFILES, Profile
from fourcorners.suites.progress import Progress, Status
from fourcorners.suites.resume import resume
from fourcorners.suites.runner import characterize
from fourcorners.suites.test import Measurement, Phase, Subject, Test

__all__ = [
    "PROFILES",
    "TEST_NAMES",
    "Measurement",
    "Phase",
    "Profile",
    "Progress",
    "Status",
    "Subject",
    "SuitePlan",
    "Test",
    "characterize",
    "plan_suite",
    "prepare",
    "resume",
]
