"""Shows how a run goes, on standard error: a live view in a terminal, plain lines elsewhere."""

import dataclasses
import json
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from fourcorners import wording
from fourcorners.cli.options import ProgressForm
from fourcorners.cli.output import new_console, tell
from fourcorners.running.progress import PrintedMessage, PrintedStatus, Progress, Status

# Between two plain lines within a test: often enough to see that it lives.
_PLAIN_INTERVAL_S = 15.0
_JSON_INTERVAL_S = 1.0


def choose_progress(
    quiet: bool, form: ProgressForm, *, several: bool = False
) -> AbstractContextManager[Progress]:
    """What suits standard error, or JSON lines there; with ``quiet``, nothing. A live view has room
    for one run: ``several`` at the same time are told in lines."""
    if quiet:
        return nullcontext(Progress())
    if form == "json":
        return nullcontext(JsonProgress())
    if several:
        return nullcontext(_ByName())
    console = new_console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return nullcontext(PlainProgress())
    # Loaded for a terminal only.
    from fourcorners.cli.live import LiveView

    return LiveView(console)


def _time(status: Status) -> str:
    return (
        f"{wording.clock(status.elapsed_s)} elapsed, {wording.clock(status.remaining_s)} remaining"
    )


class PlainProgress(Progress):
    """Lines for log files: every message, and a status line now and then."""

    def __init__(self) -> None:
        """Counts from now."""
        self._shown = time.monotonic()

    def message(self, text: str) -> None:
        tell(text)

    def update(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._shown < _PLAIN_INTERVAL_S:
            return
        self._shown = now
        rate = f", {wording.rate(status.bytes_per_second)}" if status.bytes_per_second else ""
        self.message(f"{status.test}: {status.activity}{rate}; {_time(status)}")


class _ByName(PlainProgress):
    """Says of each status line which drive it is about."""

    def update(self, status: Status) -> None:
        super().update(dataclasses.replace(status, test=f"{status.target}: {status.test}"))


class JsonProgress(Progress):
    """One JSON object a line, as fourcorners/schemas/progress.schema.json says: every message, and
    the status at most once a second."""

    def __init__(self) -> None:
        """Shows the first status at once."""
        self._shown = float("-inf")

    def message(self, text: str) -> None:
        self._print(dataclasses.asdict(PrintedMessage(text)))

    def update(self, status: Status) -> None:
        now = time.monotonic()
        if now - self._shown >= _JSON_INTERVAL_S:
            self._shown = now
            printed = (one.name for one in dataclasses.fields(PrintedStatus))
            self._print({name: getattr(status, name) for name in printed})

    def _print(self, fields: dict[str, Any]) -> None:
        line = {"schema": "fourcorners/progress", "schema_version": 1, **fields}
        tell(json.dumps(line, allow_nan=False))
