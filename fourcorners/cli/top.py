"""The live view of a served drive in a terminal, which takes commands."""

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from fourcorners.cli.output import new_console
from fourcorners.errors import UserError
from fourcorners.reporting.terminal_plots import dots
from fourcorners.serving.control import control
from fourcorners.serving.reading import INTERVAL_S, Reading, read, sentences
from fourcorners.serving.served import split_words

_WINDOW_S = 120.0
"""What the plot shows: as much as is read at a glance, two seconds a column on 60 columns."""

_PLOT_ROWS = 5
"""Twenty steps of the dots of a plot, and everything fits on a terminal of 24 rows."""

# Frame and labels beside a plot: "| 1,234 MB/s".
_PLOT_MARGIN = 18


class TopView:
    """What is drawn: the latest reading, the rate as a plot, and the command that is typed."""

    def __init__(self, server: Path) -> None:
        """Nothing is known yet."""
        self._server = server
        self._readings: deque[tuple[float, float]] = deque(maxlen=round(_WINDOW_S / INTERVAL_S))
        self._lines: Sequence[str] = ()
        self._typed = ""
        self._answer = ""

    def update(self, reading: Reading) -> None:
        """A new reading."""
        at_s = reading.status["elapsed_ns"] * 1e-9
        self._readings.append((at_s, reading.bytes_per_second / 1e6))
        self._lines = sentences(reading)

    def type(self, characters: str) -> None:
        """What was typed; a command is done when its line ends, and "q" leaves."""
        for character in characters:
            if character in "\r\n":
                self._command(self._typed)
                self._typed = ""
            elif character in "\x7f\b":
                self._typed = self._typed[:-1]
            elif character.isprintable():
                self._typed += character

    def _command(self, words: str) -> None:
        if words.strip() in ("q", "quit"):
            raise KeyboardInterrupt
        if not words.strip():
            return
        try:
            answer: dict[str, Any] = control(self._server, split_words(words))
        except UserError as error:
            self._answer = str(error)
        else:
            said = ", ".join(f"{key} {value}" for key, value in answer.items() if key != "counters")
            self._answer = f"{words}: {said}"

    def drawn(self, columns: int) -> RenderableType:
        """The view, for a terminal of so many columns."""
        parts: list[RenderableType] = [
            Text(line, no_wrap=True, overflow="ellipsis") for line in self._lines
        ]
        if len(self._readings) > 1:
            seconds, rates = zip(*self._readings, strict=True)
            width = max(20, min(columns, 100) - _PLOT_MARGIN)
            parts.append(dots("rate", seconds, rates, " MB/s", width=width, rows=_PLOT_ROWS))
        parts.append(Text(self._answer, style="bold", no_wrap=True, overflow="ellipsis"))
        parts.append(Text(f"> {self._typed}", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)


def show_top(server: Path, console: Console | None = None) -> None:
    """Draws what a served drive does twice a second and does the commands that are typed, until
    the session ends, "q" or Ctrl-C."""
    console = console or new_console()
    view, before = TopView(server), control(server)
    with (
        _keys() as typed,
        Live(console=console, auto_refresh=False, transient=True) as live,
        contextlib.suppress(KeyboardInterrupt),
    ):
        deadline = time.monotonic() + INTERVAL_S
        while True:
            if (characters := typed(max(0.0, deadline - time.monotonic()))) is not None:
                view.type(characters)
            else:
                deadline = time.monotonic() + INTERVAL_S
                after = control(server)
                view.update(read(before, after))
                before = after
            live.update(view.drawn(console.width), refresh=True)


@contextlib.contextmanager
def _keys() -> Iterator[Any]:
    """A call that waits so many seconds for keys and returns them, or ``None``; each key at once,
    and not shown by the terminal itself."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor) if os.isatty(descriptor) else None

    def typed(timeout_s: float) -> str | None:
        ready, _, _ = select.select([descriptor], [], [], timeout_s)
        if not ready:
            return None
        characters = os.read(descriptor, 4096).decode(errors="replace")
        if not characters:
            raise KeyboardInterrupt
        return characters

    try:
        if before is not None:
            tty.setcbreak(descriptor)
        yield typed
    finally:
        if before is not None:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
