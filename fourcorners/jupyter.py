"""Tells IPython how results show themselves as HTML; nothing else is loaded until one is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fourcorners.finding import Finding
    from fourcorners.recording import Recording
    from fourcorners.running.explanation import Explanation
    from fourcorners.store.reader import Run


def register_in_ipython() -> None:
    """Registers where this process is a notebook's kernel or an IPython shell; elsewhere nothing
    happens."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        register(shell.display_formatter.formatters["text/html"])


def register(html: Any) -> None:
    """Registers with one of IPython's formatters, by the names of the results' classes."""
    for (module, name), show in _SHOWN.items():
        html.for_type_by_name(module, name, show)


def _recording(recording: Recording) -> str:
    from fourcorners.reporting.notebook import recording_html

    return recording_html(recording)


def _finding(finding: Finding) -> str:
    from fourcorners.reporting.notebook import findings_html

    return findings_html([finding])


def _explanation(explanation: Explanation) -> str:
    from fourcorners.reporting.notebook import findings_html

    name = explanation.runs[-1].manifest.target.name
    return findings_html(explanation.findings, name)


def _run(run: Run) -> str:
    from fourcorners.reporting.notebook import run_html

    return run_html(run)


_SHOWN: dict[tuple[str, str], Callable[[Any], str]] = {
    ("fourcorners.finding", "Finding"): _finding,
    ("fourcorners.recording.recording", "Recording"): _recording,
    ("fourcorners.running.explanation", "Explanation"): _explanation,
    ("fourcorners.store.reader", "Run"): _run,
}
