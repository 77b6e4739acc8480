"""The reviews' experiments on the catalog's drives, held against the published figures."""

from fourcorners.validation.reproduction.experiments import SOURCES
from fourcorners.validation.reproduction.run import Reproduction, reproduce

__all__ = ["SOURCES", "Reproduction", "reproduce"]
