"""The only place that writes to standard output and error.

Names, titles, notes and file names come from drives, files and other people's run folders. What a
terminal would take for a command (escape sequences, also in one character) or for the order of
letters is shown as U+FFFD, and in JSON as JSON writes it. docs/cli.md lists the JSON documents.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fourcorners.wording import OBEYED, visible

Result = TypeVar("Result")


class _SafeConsole(Console):
    """What is drawn is safe; the escape sequences of its styles are made afterwards."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def new_console(*, stderr: bool = False) -> Console:
    """Draws tables and styled text, in which brackets are only brackets."""
    return _SafeConsole(stderr=stderr, markup=False, emoji=False)


def say(text: object = "") -> None:
    """A line of the result, on standard output; whoever reads it there has it at once."""
    print(visible(str(text)), flush=True)


def tell(text: str) -> None:
    """A line beside the result, on standard error. Where that is gone, the command goes on."""
    with contextlib.suppress(OSError):
        print(visible(text), file=sys.stderr, flush=True)


def print_document(name: str, content: Any) -> None:
    """A document that ``schemas/NAME.schema.json`` describes, with what names it first; ``content``
    is a mapping or what the package's call of that name returned."""
    # Help and mistakes answer without it.
    from fourcorners.writing import json_value

    print_json({"schema": f"fourcorners/{name}", "schema_version": 1, **json_value(content)})


def shown(json: bool, name: str, content: Result, show: Callable[[Result], object]) -> int:
    """What a call returned, as the document of that name or as ``show`` shows it to people; the
    exit code of a command that did what it was asked for."""
    if json:
        print_document(name, content)
    else:
        show(content)
    return 0


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    # JSON itself escapes C0 only.
    print(OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
