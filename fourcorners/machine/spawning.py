"""Processes that share nothing with this one by accident: spawned, not forked."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import Any


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802
        with _no_main():
            return SpawnProcess._Popen(process_obj)


class _Context(SpawnContext):
    Process = _Process


SPAWNED = _Context()
"""A context of ``multiprocessing`` whose processes do not run the caller's script again.

Python's own spawned processes import the main module first. Of a script without ``if __name__ ==
"__main__"`` that does all of it once more in each process, what it measures and overwrites
included. Functions that run in these processes are ours, so that nothing of it is needed there.
"""


@contextmanager
def _no_main() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
