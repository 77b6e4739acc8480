"""The reviews' experiments on the catalog's drives, held against the published figures."""

from fourcorners_validation.reproduction.reproducing import reproduce
from fourcorners_validation.reproduction.run import Reproduction, run_sources
from fourcorners_validation.reproduction.source import SOURCES

__all__ = ["SOURCES", "Reproduction", "reproduce", "run_sources"]
