"""Runs to one HTML file: every style, script and number is inside it, and it asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from .payload import report_payload
from .run import Run
from .view import report_view

SCRIPTS = ("units.js", "plot.js", "figures.js", "app.js")  # in order of dependency


def render_html(runs: Sequence[Run]) -> str:
    """The report of one or several runs, as the text of a self-contained HTML file."""
    if not runs:
        raise ValueError("a report needs at least one run")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = _script()
    return environment.from_string(_asset("template.html.j2")).render(
        view=report_view(runs),
        payload=_embedded_json(report_payload(runs)),
        script=Markup(script),
        script_hash=_content_hash(script),
        style=Markup(_asset("assets/report.css")),
    )


def write_html(runs: Sequence[Run], path: Path | str) -> None:
    """Write the report to `path`: whole and flushed, or not at all."""
    text, path = render_html(runs), Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """The modules as one script: a single file has no addresses for them to import from."""
    parts = []
    for name in SCRIPTS:
        text = re.sub(r"^import [^;]*;\n", "", _asset(f"assets/{name}"), flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n" + "\n".join(parts)


def _content_hash(text: str) -> str:
    """What the page's content security policy lets run: this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded_json(payload: dict[str, Any]) -> Markup:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
