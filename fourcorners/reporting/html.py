"""Runs to one HTML file: every style, script and number is inside it, and it asks for nothing."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from fourcorners.catalog.claims import Claim
from fourcorners.writing import Output, sealed

from . import charts
from .document import asset, content_hash, embedded_json, page_script
from .payload import report_payload
from .run import ReportedRun
from .view import report_view


def render_html(
    runs: Sequence[ReportedRun], published: Sequence[str] = (), claims: Sequence[Claim] = ()
) -> str:
    """The report of one or several runs, as the text of a self-contained HTML file.

    What was published of the drives of the catalog in ``published`` is laid over every run, and so
    are ``claims`` in the spec sheet.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    more = charts.tests(runs)
    script = page_script("charts.js", "app.js", "main.js")
    return _template().render(
        view=report_view(runs, published, claims),
        more=more,
        sections=charts.SECTIONS,
        payload=embedded_json({**report_payload(runs), "charts": charts.drawn(more)}),
        script=Markup(script),
        script_hash=content_hash(script),
        style=Markup(asset("assets/report.css")),
    )


@functools.cache
def _template() -> Template:
    """Compiled once: that takes longer than all else of a small report."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(asset("template.html.j2"))


def write_html(
    runs: Sequence[ReportedRun],
    path: Path | str,
    published: Sequence[str] = (),
    claims: Sequence[Claim] = (),
    *,
    replace: bool = False,
) -> None:
    """Writes the report to ``path``: whole and flushed, or not at all.

    Raises :class:`fourcorners.errors.UserError` when it cannot be written, and without ``replace``
    where there is a file that is not as a report was written.
    """
    Output(Path(path), replace).write(sealed(render_html(runs, published, claims)))
