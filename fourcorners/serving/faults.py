"""What may go wrong with a served drive, as people write it: tables of a file, or words."""

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.suites.parameters import unknown
from fourcorners.units import parse_bytes, parse_rate, parse_seconds

KINDS = (
    *("io-error", "latent-error", "bit-flip", "stale-read", "misplaced-write", "torn-write"),
    *("lost-write", "slow", "stall", "hang", "gone", "full-cache", "throttle", "end-of-life"),
    "power-cut",
)
"""What can go wrong (docs/serve.md)."""

COMMANDS = ("status", "clear", "end", *KINDS)


def _nanoseconds(text: str) -> int:
    return round(parse_seconds(text) * 1e9)


_IOS_DIGITS = 18
"""Of a number of I/Os, which the core keeps in 64 bits; at a million a second they take 30,000
years."""


def _integer(text: str) -> int:
    if not text.isdecimal() or len(text) > _IOS_DIGITS:
        raise UserError(f'"{text}" is no number of I/Os: write digits, such as 100')
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not math.isfinite(share):
        raise UserError(f'"{text}" is no probability: write one above 0, up to 1, such as 0.01')
    return share


def _operation(text: str) -> str:
    if text not in ("read", "write", "flush"):
        raise UserError(unknown("operation", text, ["read", "write", "flush"]))
    return text


# By the key that people write: the core's, and how to read the value.
_KEYS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "on": ("on", _operation),
    "offset": ("offset_bytes", parse_bytes),
    "length": ("length_bytes", parse_bytes),
    "at": ("at_ns", _nanoseconds),
    "for": ("for_ns", _nanoseconds),
    "from-io": ("from_io", _integer),
    "times": ("times", _integer),
    "probability": ("probability", _share),
    "delay": ("delay_ns", _nanoseconds),
    "rate": ("rate_bytes_per_s", lambda text: round(parse_rate(text))),
    "distance": ("distance_bytes", parse_bytes),
}


def command_json(words: Sequence[str]) -> str:
    """A command to a server, such as ``["io-error", "on=write", "times=1"]``, as the core takes it.

    Raises :class:`UserError` for what is none.
    """
    if not words:
        return json.dumps({"do": "status"})
    name, *rest = words
    if name in ("status", "end"):
        _nothing_after(name, rest)
        return json.dumps({"do": name})
    if name == "clear":
        _nothing_after(name, rest[1:])
        if rest and not (rest[0].isdecimal() and len(rest[0]) <= _IOS_DIGITS):
            raise UserError(f'clear: "{rest[0]}" is no fault\'s number, which "status" tells')
        return json.dumps({"do": "clear", **({"id": int(rest[0])} if rest else {})})
    if name not in KINDS:
        raise UserError(unknown("command", name, list(COMMANDS)))
    pairs = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not equals:
            raise UserError(f'{name}: "{word}": write KEY=VALUE, as in on=write')
        pairs[key.strip()] = value.strip()
    return json.dumps({"do": "fault", "fault": _fault(name, pairs)})


def read_faults(path: Path) -> list[dict[str, Any]]:
    """The faults of a file: ``[[fault]]`` tables; raises :class:`UserError`."""
    try:
        document = tomllib.loads(text_of(path, "the faults"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    tables = document.pop("fault", [])
    if document or not isinstance(tables, list):
        raise UserError(f"{path}: write [[fault]] tables and nothing else")
    found = []
    for number, table in enumerate(tables, 1):
        try:
            if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
                raise UserError('say its kind, such as kind = "io-error"')
            kind = table.pop("kind")
            if kind not in KINDS:
                raise UserError(unknown("kind", kind, list(KINDS)))
            found.append(_fault(kind, {key: str(value) for key, value in table.items()}))
        except UserError as error:
            raise UserError(f"{path}: fault {number}: {error}") from error
    return found


def _fault(kind: str, pairs: Mapping[str, str]) -> dict[str, Any]:
    fault: dict[str, Any] = {"kind": kind}
    for key, value in pairs.items():
        if key not in _KEYS:
            raise UserError(unknown("key", key, list(_KEYS)))
        name, read = _KEYS[key]
        fault[name] = read(value)
    return fault


def _nothing_after(name: str, rest: Sequence[str]) -> None:
    if rest:
        raise UserError(f'{name}: nothing comes after it, and "{rest[0]}" does')
