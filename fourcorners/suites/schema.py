"""The JSON Schema of suite files, made from what the tests declare."""

from typing import Any

from fourcorners.manifest import CHART_KINDS
from fourcorners.suites.access import LIMITS, STREAM_KEYS, WORKLOAD_KEYS
from fourcorners.suites.catalog import TESTS
from fourcorners.suites.parameters import LOG_IOS, declared
from fourcorners.suites.preparation import STEPS
from fourcorners.suites.suite import SCHEMA_VERSION

_TEXT = {"type": "string"}
_WORDS = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}


def suite_schema() -> dict[str, Any]:
    """What ``fourcorners/schemas/suite.schema.json`` holds, which ``tools/schemas.py`` writes."""
    stream = {key: _one_or_many(kind.schema) for key, kind in STREAM_KEYS.items()}
    needs = {
        "required": ["reads"],
        "allOf": [
            {"oneOf": [_has("block"), _has("sizes")]},
            {"oneOf": [_has("pattern"), _has("random")]},
        ],
    }
    ends = [_has(key) for key in LIMITS]
    all_end = {"properties": {"stream": {"items": {"anyOf": ends}}}, **_has("stream")}
    limits = {key: dict(kind.schema) for key, kind in WORKLOAD_KEYS.items()}
    workload = {
        "type": "object",
        "properties": {
            "name": _TEXT,
            "id": _TEXT,
            "label": _TEXT,
            "axes": _WORDS,
            **limits,
            **stream,
            "stream": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": stream,
                    "additionalProperties": False,
                    **needs,
                },
            },
        },
        "additionalProperties": False,
        "allOf": [
            {"anyOf": [_has("duration"), _has("amount"), *ends, all_end]},
            {"anyOf": [_has("stream"), needs]},
        ],
    }
    steps = {
        "prepare": {"type": "array", "items": {"type": "string", "pattern": STEPS}},
        "workload": {"type": "array", "minItems": 1, "items": workload},
    }
    phase = {
        "type": "object",
        "properties": {
            "each": {"type": "object"},
            "continues": {"type": "boolean"},
            **steps,
        },
        "required": ["workload"],
        "additionalProperties": False,
    }
    chart = {
        "type": "object",
        "properties": {
            "kind": {"enum": list(CHART_KINDS)},
            "series": {"type": "array", "items": _TEXT},
            **dict.fromkeys(("title", "y", "x", "rows", "log", "ids"), _TEXT),
        },
        "required": ["kind", "title"],
        "additionalProperties": False,
    }
    own = {
        "type": "object",
        "title": "A test of the user's own",
        "properties": {
            "name": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"},
            "title": _TEXT,
            "purpose": _TEXT,
            "shown": _WORDS,
            "needs": _TEXT,
            **steps,
            "phase": {"type": "array", "minItems": 1, "items": phase},
            "chart": {"type": "array", "items": chart},
        },
        "required": ["name"],
        "oneOf": [_has("workload"), _has("phase")],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"fourcorners/suite/{SCHEMA_VERSION}",
        "title": "A suite file",
        "type": "object",
        "properties": {
            "schema": {"const": "fourcorners/suite"},
            "schema_version": {"const": SCHEMA_VERSION},
            "name": _TEXT,
            "title": _TEXT,
            "profile": _TEXT,
            "scale": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "pauses": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "area": _TEXT,
            "log-ios": dict(LOG_IOS.schema),
            "test": {
                "type": "array",
                "minItems": 1,
                "items": {"anyOf": [own, *(_known(name) for name in TESTS)]},
            },
        },
        "required": ["schema_version", "name", "test"],
        "additionalProperties": False,
    }


def _known(name: str) -> dict[str, Any]:
    definition = TESTS[name]
    parameters = {
        key: {**field.metadata["kind"].schema, "description": field.metadata["help"]}
        for key, field in declared(definition.parameters).items()
    }
    return {
        "type": "object",
        "title": definition.title,
        "properties": {"use": {"const": name}, "name": _TEXT, **parameters},
        "required": ["use"],
        "additionalProperties": False,
    }


def _has(key: str) -> dict[str, Any]:
    return {"required": [key]}


def _one_or_many(schema: Any) -> dict[str, Any]:
    return {"anyOf": [dict(schema), {"type": "array", "items": dict(schema), "minItems": 1}]}
