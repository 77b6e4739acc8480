"""The reviews' experiments on the catalog's drives, held against the published figures."""

from fourcorners.reproduction.experiments import SOURCES
from fourcorners.reproduction.run import Reproduction, reproduce

__all__ = ["SOURCES", "Reproduction", "reproduce"]
