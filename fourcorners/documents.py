"""Parts of JSON documents as classes with typed fields.

Where a document is read, msgspec checks it; fields that this version does not know are kept, and
written again with the others.
"""

import functools
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""What is counted: as large as a column of a table takes."""
Seed = Annotated[int, msgspec.Meta(ge=0)]
"""Up to 2**64 - 1, a bound that msgspec cannot say."""
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Fact = str | Whole | float | bool | None
"""What a machine, a test or a point of a test is described by."""

_UNKNOWN = "unknown"


class Part(msgspec.Struct, dict=True):
    """A part of a document. What is ``None`` by default is left out where it is none."""


class FixedPart(msgspec.Struct, dict=True, frozen=True):
    """A :class:`Part` that stays as it is."""


_PARTS = (Part, FixedPart)

PartT = TypeVar("PartT", bound=msgspec.Struct)
T = TypeVar("T")


def part(kind: type[T], document: Any) -> T:
    """A part, or a dataclass, from what JSON holds.

    Raises ``ValueError`` with a clause that says what is wrong and where.
    """
    try:
        found = msgspec.convert(document, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(_clause(str(error))) from None
    _keep_unknown(found, document)
    return found


def plain(value: Any) -> Any:
    """A part, or what holds parts, in the types of JSON, in the order of the fields; without those
    that are unset."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        found = {} if config.tag_field is None else {config.tag_field: config.tag}
        for name, key, left_out in _fields(type(value)):
            own = getattr(value, name)
            if own is not msgspec.UNSET and (own is not None or not left_out):
                found[key] = plain(own)
        return found | getattr(value, "__dict__", {}).get(_UNKNOWN, {})
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value


def changed(value: PartT, **fields: Any) -> PartT:
    """The part with other values in some fields."""
    found = msgspec.structs.replace(value, **fields)
    if isinstance(value, _PARTS):
        found.__dict__.update(value.__dict__)
    return found


def always(value: Any) -> Any:
    """A default that is written as well."""
    return msgspec.field(default_factory=lambda: value)


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, bool]]:
    """Name in Python and in JSON, and whether it is left out where it is ``None``."""
    return [
        (field.name, field.encode_name, field.default is None and issubclass(kind, _PARTS))
        for field in msgspec.structs.fields(kind)
    ]


def _keep_unknown(value: Any, document: Any) -> None:
    if isinstance(value, _PARTS):
        config = value.__struct_config__
        known = {config.tag_field, *value.__struct_encode_fields__}
        unknown = {key: one for key, one in document.items() if key not in known}
        if unknown:
            value.__dict__[_UNKNOWN] = unknown
        for name, key in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
            _keep_unknown(getattr(value, name), document.get(key))
    elif isinstance(value, (list, tuple)):
        for one, own in zip(value, document or (), strict=False):
            _keep_unknown(one, own)
    elif isinstance(value, dict):
        for key, one in value.items():
            _keep_unknown(one, document.get(key))


# msgspec's words, as JSON has them.
_WORDS = {
    "`array`": "a list",
    "`bool`": "true or false",
    "`float`": "a number",
    "`int`": "an integer",
    "`null`": "null",
    "`object`": "an object",
    "`str`": "a text",
}


def _clause(message: str) -> str:
    """``Expected `int`, got `str` - at `$.tests[0].wall_s``` as a clause: "tests[0].wall_s is not
    what it should be (expected an integer, got a text)"."""
    reason, _, place = message.partition(" - at `$")
    place = place.rstrip("`").removeprefix(".") or "the document"
    reason = re.sub(
        r"`([a-z |]+)`",
        lambda found: " or ".join(_WORDS.get(f"`{one}`", one) for one in found[1].split(" | ")),
        reason,
    )
    if reason.startswith("Object missing required field"):
        return f"{place} has no {reason.rpartition(' ')[2].strip('`')}"
    return f"{place}: {reason[:1].lower()}{reason[1:]}".replace("`", "")
