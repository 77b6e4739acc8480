"""Runs on disk: a folder with a JSON manifest and Parquet tables, as docs/run-folder.md says."""

from fourcorners.store.reader import Run
from fourcorners.store.writer import RunWriter

__all__ = ["Run", "RunWriter"]
