"""The parameters that a test's file declares."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fourcorners.suites.parameters import (
    CONTENT,
    COUNT,
    LOG_IOS,
    SECONDS,
    SHARE,
    SIZE,
    Kind,
    declared,
    many,
    parameter,
)
from fourcorners.suites.subject import Subject
from fourcorners.suites.terms import AREA, Names, Scope

_PARAMETER_KINDS: dict[str, Kind] = {
    "size": SIZE,
    "span": SIZE,
    "count": COUNT,
    "share": SHARE,
    "content": CONTENT,
    "duration": SECONDS,
    "kept I/Os": LOG_IOS,
}


@dataclass(frozen=True)
class FileParameters:
    """What a test of the program lets people choose. ``limited`` spans end with the tested part;
    those of ``past`` are for drives whose past matters, others are used whole."""

    cls: type
    kinds: Mapping[str, Kind]
    limited: frozenset[str]
    past: frozenset[str]

    @classmethod
    def read(cls, tables: Mapping[str, Mapping[str, Any]]) -> "FileParameters":
        """The parameters of ``[parameters]``."""
        fields, kinds = [], {}
        for name, table in tables.items():
            word = table["is"]
            one = kinds[name] = _PARAMETER_KINDS[word.removeprefix("list of ")]
            kind = many(one) if word.startswith("list of ") else one
            default = parameter(kind, kind.read(table["default"]), table["help"])
            fields.append((name.replace("-", "_"), Any, default))
        return cls(
            dataclasses.make_dataclass("Parameters", fields, frozen=True),
            kinds,
            frozenset(name for name, table in tables.items() if table["is"] == "span"),
            frozenset(name for name, table in tables.items() if table.get("if-past-matters")),
        )

    @property
    def names(self) -> Names:
        """What texts of the file may name, and the kind of each."""
        fields = declared(self.cls).items()
        return {AREA: SIZE, **{name: field.metadata["kind"] for name, field in fields}}

    def scope(self, subject: Subject, chosen: Any) -> Scope:
        """Their values on a target, as somebody chose them."""
        values: dict[str, tuple[Kind, Any]] = {}
        for name, field in declared(self.cls).items():
            value = getattr(chosen, field.name)
            if name in self.past and not subject.keeps_state:
                value = subject.area_bytes
            elif name in self.limited:
                value = subject.span_bytes(value)
            values[name] = (self.kinds[name], value)
        return Scope.of(subject, values)
