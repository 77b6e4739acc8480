"""Self-contained HTML documents: their parts from this package."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from markupsafe import Markup


def asset(name: str, package: str = __package__) -> str:
    """The text of a file of a package, by its path in there."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


D3 = (
    "array",
    "color",
    "format",
    "interpolate",
    "time",
    "time-format",
    "scale",
    "path",
    "shape",
    "dispatch",
    "selection",
    "timer",
    "ease",
    "transition",
    "drag",
    "brush",
    "quadtree",
    "axis",
)
"""The modules of D3 that the plots use, in order of dependency."""


def page_script(*names: str, more: Sequence[str] = ()) -> str:
    """The script of a page with plots: D3 with its licence, what all plots share, the report's
    scripts of these names, and the texts of other modules. In order of dependency."""
    licence = asset("assets/vendor/d3/LICENSE")
    library = [asset(f"assets/vendor/d3/d3-{name}.min.js") for name in D3]
    own = [asset(f"assets/{name}") for name in ("units.js", "plot.js", "figures.js", *names)]
    return "\n".join([f"/*\n{licence}*/", *library, joined_script([*own, *more])])


def joined_script(modules: Sequence[str]) -> str:
    """The texts of modules, in order of dependency, as one script: a single file has no addresses
    for them to import from."""
    parts = []
    for module in modules:
        text = re.sub(r"^import [^;]*;\n", "", module, flags=re.MULTILINE)
        parts.append(re.sub(r"^export ", "", text, flags=re.MULTILINE))
    return "\n" + "\n".join(parts)


def content_hash(text: str) -> str:
    """What the page's content security policy lets run: this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded_json(payload: dict[str, Any]) -> Markup:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
