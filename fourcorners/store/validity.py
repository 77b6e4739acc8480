"""Whether a JSON document of a run folder has the form that its published schema gives it.

Only the keywords that these schemas use are known. A library for all of JSON Schema would take
longer to load than most commands take.
"""

import functools
import json
import math
import re
from importlib.resources import files
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
# A seed has 64 bits.
_INTEGER_MAX = 2**64
# What is no character by itself: JSON can hold it, a file of text cannot.
_SURROGATE = re.compile("[\ud800-\udfff]")


def fault(document: Any, name: str) -> str | None:
    """What is wrong with a document by the schema ``NAME.schema.json``, and where, as a clause;
    ``None`` where nothing is."""
    return _fault(document, _schema(name), "")


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    text = (files("fourcorners") / "schemas" / f"{name}.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _fault(value: Any, schema: dict[str, Any], place: str) -> str | None:
    if not _is_sane(value):
        return f"{place or 'the document'} is out of range"
    if "anyOf" in schema:
        faults = [_fault(value, one, place) for one in schema["anyOf"]]
        # The first form is the usual one, the others say that there is none.
        return None if None in faults else faults[0]
    where = place or "the document"
    wanted = schema.get("type", [])
    names = [wanted] if isinstance(wanted, str) else wanted
    if names and not any(_is(value, name) for name in names):
        return f"{where} is not of type {' or '.join(names)}"
    # To Python, true is 1.
    if "const" in schema and (value != schema["const"] or isinstance(value, bool)):
        return f"{where} is not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{where} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, int | float) and not _in_range(value, schema):
        return f"{where} is out of range"
    if isinstance(value, list):
        parts = [(one, schema.get("items", {}), f"{place}[{n}]") for n, one in enumerate(value)]
    elif isinstance(value, dict):
        missing = [key for key in schema.get("required", []) if key not in value]
        if missing:
            return f"{where} has no {missing[0]}"
        known = schema.get("properties", {})
        other = schema.get("additionalProperties", {})
        if other is False and (unknown := [key for key in value if key not in known]):
            return f"{where} has an unknown {unknown[0]}"
        prefix = f"{place}." if place else ""
        parts = [(one, known.get(key, other), f"{prefix}{key}") for key, one in value.items()]
    else:
        return None
    return next((found for part in parts if (found := _fault(*part)) is not None), None)


def _is_sane(value: Any) -> bool:
    """Whether a number can be one that was measured, and a text can be written."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) <= _INTEGER_MAX
    return not isinstance(value, str) or _SURROGATE.search(value) is None


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _in_range(value: float, schema: dict[str, Any]) -> bool:
    return value >= schema.get("minimum", value) and not value <= schema.get(
        "exclusiveMinimum", float("-inf")
    )
