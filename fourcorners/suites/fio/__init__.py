"""fio's job files as suites: what they ask for, in the words of a suite file."""

from fourcorners.suites.fio.translation import SUFFIXES, suite_document

__all__ = ["SUFFIXES", "suite_document"]
