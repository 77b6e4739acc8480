"""Shows how a run goes, on standard error: a live line in a terminal, plain lines elsewhere."""

import dataclasses
import json
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Literal, Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from fourcorners.suites import Progress, Status
from fourcorners.units import format_duration, format_rate

# Between two plain lines within a test: often enough to see that it lives.
_PLAIN_INTERVAL_S = 15.0
_JSON_INTERVAL_S = 1.0


ProgressForm = Literal["auto", "json"]


def choose_progress(quiet: bool, form: ProgressForm) -> AbstractContextManager[Progress]:
    """What suits standard error, or JSON lines there; with ``quiet``, nothing."""
    if quiet:
        return nullcontext(Progress())
    if form == "json":
        return nullcontext(JsonProgress())
    return LiveProgress() if sys.stderr.isatty() else nullcontext(PlainProgress())


def _time(status: Status) -> str:
    return (
        f"{format_duration(status.elapsed_s)} elapsed, "
        f"{format_duration(status.remaining_s)} remaining"
    )


class PlainProgress(Progress):
    """Lines for log files: every message, and a status line now and then."""

    def __init__(self) -> None:
        """Counts from now."""
        self._shown = time.monotonic()

    def message(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def update(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._shown < _PLAIN_INTERVAL_S:
            return
        self._shown = now
        rate = format_rate(status.bytes_per_second)
        self.message(f"{status.test}: {status.activity}, {rate}; {_time(status)}")


class JsonProgress(Progress):
    """One JSON object a line, as fourcorners/schemas/progress.schema.json says: every message, and
    the status at most once a second."""

    def __init__(self) -> None:
        """Shows the first status at once."""
        self._shown = float("-inf")

    def message(self, text: str) -> None:
        self._print({"message": text})

    def update(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._shown >= _JSON_INTERVAL_S:
            self._shown = now
            self._print(dataclasses.asdict(status))

    def _print(self, fields: dict[str, Any]) -> None:
        line = {"schema": "fourcorners/progress", "schema_version": 1, **fields}
        print(json.dumps(line, allow_nan=False), file=sys.stderr, flush=True)


class LiveProgress(Progress):
    """A bar with the current test, live rate, elapsed and remaining time."""

    def __init__(self) -> None:
        """Draws nothing until entered."""
        self._console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[detail]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1.0, detail="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def message(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def update(self, status: Status) -> None:
        rate = f"  {format_rate(status.bytes_per_second)}" if status.bytes_per_second else ""
        self._bar.update(
            self._task,
            completed=status.fraction,
            description=f"{status.test}: {status.activity}".replace("[", r"\["),
            detail=f"{_time(status)}{rate}",
        )
