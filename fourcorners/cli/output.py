"""Prints results as JSON, for programs; docs/cli.md lists the documents."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def print_document(name: str, fields: Mapping[str, Any]) -> None:
    """A document that ``schemas/NAME.schema.json`` describes, with what names it first."""
    print_json({"schema": f"fourcorners/{name}", "schema_version": 1, **fields})


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def json_value(value: Any) -> Any:
    """In JSON's types: NaN and infinity are null, sums of integers are numbers, times are text."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | str) else str(value)
