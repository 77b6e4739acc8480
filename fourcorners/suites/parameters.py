"""The parameters of tests: their kinds, and how values from a suite file or the command line are
read. A test declares a frozen dataclass whose fields are made by :func:`parameter`."""

import dataclasses
import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fourcorners.errors import UserError
from fourcorners.patterns import INCOMPRESSIBLE, REPEATED, compressible, duplicated
from fourcorners.units import parse_bytes, parse_seconds, parse_share, shortened
from fourcorners.wording import chosen_size

Parameters = TypeVar("Parameters")


@dataclass(frozen=True)
class Kind:
    """How a value is written: ``read`` takes text or a TOML value and raises :class:`UserError`.

    ``scaled`` values are durations of measuring, which ``scale`` shortens; a ``pause`` is one
    between measurements. A list is of ``items``. Values of a kind in ``takes`` are also values of
    this one.
    """

    what: str
    read: Callable[[Any], Any]
    show: Callable[[Any], str]
    schema: Mapping[str, Any]
    scaled: bool = False
    pause: bool = False
    items: "Kind | None" = None
    takes: tuple["Kind", ...] = ()


def _quantity(parse: Callable[[str], float], what: str, example: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, str):
            return parse(value)
        raise UserError(f'write {what} as text with a unit, such as "{example}"')

    return read


def _seconds(value: Any) -> float:
    seconds = _quantity(parse_seconds, "a time", "30 s")(value)
    if seconds <= 0:
        raise UserError("a time must be above zero")
    return seconds


def _size(value: Any) -> int:
    size = int(_quantity(parse_bytes, "a size", "4 KiB")(value))
    if size <= 0:
        raise UserError("a size must be above zero")
    return size


COUNT_MAX = 2**32 - 1
"""What the core counts with."""


def _count(value: Any) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = 0
    if isinstance(value, bool | float) or not 1 <= count <= COUNT_MAX:
        raise UserError(f"use a whole number from 1 to {COUNT_MAX}")
    return count


LOG_IOS_MAX = 20_000_000
"""1 GB of memory."""


def _log_ios(value: Any) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = -1
    if isinstance(value, bool | float) or not 0 <= count <= LOG_IOS_MAX:
        raise UserError(f"use a whole number from 0 (none) to {LOG_IOS_MAX}")
    return count


def read_share(value: Any) -> float:
    """A share from 0 to 1 in text such as ``70 %`` or in a number such as 0.7."""
    try:
        if isinstance(value, str) and value.strip().endswith("%"):
            share = parse_share(value)
        else:
            share = float(value)
    except (TypeError, ValueError, OverflowError, UserError):
        share = -1.0
    if isinstance(value, bool) or not 0 <= share <= 1:
        raise UserError('use a share from "0 %" to "100 %", or a number from 0 to 1')
    return share


def read_content(value: Any) -> str:
    """A content of writes, as :class:`fourcorners.Stream` has it."""
    if value in (INCOMPRESSIBLE, REPEATED):
        return str(value)
    kind, _, percent = str(value).partition(":")
    if percent.isdecimal() and len(percent) <= 3:
        if kind == "compressible" and 1 <= int(percent) <= 100:
            return compressible(int(percent))
        if kind == "duplicated" and 1 <= int(percent) <= 99:
            return duplicated(int(percent))
    raise UserError("use incompressible, repeated, compressible:1 to 100 or duplicated:1 to 99")


def show_percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:g} %"


_SHARE_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}
SECONDS = Kind("a duration", _seconds, lambda v: f"{v:g} s", {"type": "string"}, scaled=True)
PAUSE = Kind("a pause", _seconds, lambda v: f"{v:g} s", {"type": "string"}, pause=True)
TIME = Kind("a time", _seconds, lambda v: f"{v:g} s", {"type": "string"})
SIZE = Kind("a size", _size, chosen_size, {"type": "string"})
COUNT = Kind("a number", _count, str, {"type": "integer", "minimum": 1})
LOG_IOS = Kind("a number", _log_ios, str, {"type": "integer", "minimum": 0, "maximum": LOG_IOS_MAX})
SHARE = Kind("a share", read_share, show_percent, _SHARE_SCHEMA)
CONTENT = Kind("a content", read_content, str, {"type": "string"})


def choice(*names: str) -> Kind:
    """One of several words."""

    def read(value: Any) -> str:
        if value not in names:
            raise UserError(f"use {' or '.join(names)}")
        return str(value)

    return Kind(" or ".join(names), read, str, {"enum": list(names)})


def many(kind: Kind) -> Kind:
    """A list; on the command line, with commas."""

    def read(value: Any) -> tuple[Any, ...]:
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not items:
            raise UserError("use a list with at least one value")
        return tuple(kind.read(v.strip() if isinstance(v, str) else v) for v in items)

    def show(values: Any) -> str:
        return ", ".join(kind.show(value) for value in values)

    schema = {"type": "array", "items": dict(kind.schema), "minItems": 1}
    what = f"a list of {kind.what.removeprefix('a ')}s"
    return Kind(what, read, show, schema, kind.scaled, kind.pause, items=kind)


def parameter(kind: Kind, default: Any, help: str) -> Any:
    """A field of a test's parameters; ``None`` is a default that another parameter decides."""
    return dataclasses.field(default=default, metadata={"kind": kind, "help": help})


@dataclass(frozen=True)
class NoParameters:
    """Of a test that has none."""


def read_parameters(
    cls: type[Parameters],
    given: Mapping[str, Any],
    where: str,
    scale: float = 1.0,
    pauses: float = 1.0,
) -> Parameters:
    """The parameters of a test with the given values; durations times ``scale``, pauses times
    ``pauses``.

    Raises :class:`UserError`, beginning with ``where``, for an unknown name or a wrong value.
    """
    fields = declared(cls)
    values = {}
    for name, value in given.items():
        if name not in fields:
            raise UserError(f"{where}: {unknown('parameter', name, list(fields))}")
        try:
            values[name] = fields[name].metadata["kind"].read(value)
        except UserError as error:
            raise UserError(
                f"{where}: {name} = {shortened(json.dumps(value, default=str))}: {error}"
            ) from error
    for name, field in fields.items():
        kind = field.metadata["kind"]
        factor = scale if kind.scaled else pauses if kind.pause else 1.0
        if factor != 1.0:
            values[name] = _scaled(values.get(name, field.default), factor)
    return cls(**{fields[name].name: value for name, value in values.items()})


def declared(cls: type) -> dict[str, "dataclasses.Field[Any]"]:
    """A test's parameters by the names that people write: without a unit, as values have one."""
    return {
        field.name.removesuffix("_bytes").removesuffix("_s").replace("_", "-"): field
        for field in dataclasses.fields(cls)
    }


def shown_default(field: "dataclasses.Field[Any]") -> str:
    """The default of a parameter, as text."""
    return "depends" if field.default is None else str(field.metadata["kind"].show(field.default))


def _scaled(value: Any, scale: float) -> Any:
    return tuple(v * scale for v in value) if isinstance(value, tuple) else value * scale


# Names in one sentence: more of them nobody reads.
_NAMES_MAX = 20


def unknown(what: str, name: str, names: list[str], listed: str = "") -> str:
    """What to say of a name that there is none of; ``listed`` says where one finds the names, for
    those that are too many."""
    near = difflib.get_close_matches(name, names, n=1)
    more = len(names) - _NAMES_MAX
    shown = ", ".join(names[:_NAMES_MAX]) + (f" and {more} more" if more > 0 else "")
    hint = listed or (f"use one of {shown}" if names else "there are none")
    return f'no {what} named "{name}": ' + (f"did you mean {near[0]}?" if near else hint)
