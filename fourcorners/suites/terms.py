"""What the words of a test's file stand for on a target: ``{span}`` in a text is a parameter of the
test, or what a phase is repeated for."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.common import listed
from fourcorners.suites.parameters import SIZE, Kind, unknown
from fourcorners.suites.subject import Subject

_TERM = re.compile(r"\{([a-z-]+)(?::([^{}]*))?\}")
_FIRST = "first"
AREA = "area"
"""The part of the target that is tested, in bytes."""


@dataclass(frozen=True)
class Term:
    """The value of a name, which only a target and the test's parameters decide; of several values
    the ``first`` if that is asked for."""

    name: str
    first: bool = False


Names = Mapping[str, Kind]
"""What a text may name, and of which kind its value is."""


def term_or_value(kind: Kind, raw: Any, names: Names, sweeps: bool = False) -> Any:
    """What a file has for a value: a :class:`Term`, or the value as its kind reads it. Where the
    key ``sweeps``, a term may stand for several values; ``{depths:first}`` is the first of them.

    Raises :class:`UserError`.
    """
    match = _TERM.fullmatch(raw) if isinstance(raw, str) else None
    if match is None or match[2] not in (None, _FIRST):
        return kind.read(raw)
    check_names(raw, names)
    given, first = names[match[1]], match[2] == _FIRST
    one = given.items if (sweeps or first) and given.items else given
    if one != kind and one not in kind.takes:
        raise UserError(f"{raw} stands for {given.what}, and this must be {kind.what}")
    return Term(match[1], first)


def check_names(text: str, names: Iterable[str]) -> None:
    """Raises :class:`UserError` for a name in the text that stands for nothing."""
    for match in _TERM.finditer(text):
        if match[1] not in names:
            raise UserError(unknown("parameter", match[1], list(names)))


@dataclass(frozen=True)
class Scope:
    """The names that a test's texts may use, with their kinds and values; a tuple is a sweep."""

    subject: Subject
    values: Mapping[str, tuple[Kind, Any]]

    @classmethod
    def of(cls, subject: Subject, values: Mapping[str, tuple[Kind, Any]]) -> "Scope":
        """The names of a test on a target."""
        return cls(subject, {AREA: (SIZE, subject.area_bytes), **values})

    def value(self, given: Any) -> Any:
        """What a value of the file is here."""
        if not isinstance(given, Term):
            return given
        value = self.values[given.name][1]
        return value[0] if given.first and isinstance(value, tuple) else value

    def each(self, given: Mapping[str, tuple[Kind, Any]]) -> Iterator["Scope"]:
        """A scope for each combination of the names' values."""
        options = []
        for name, (kind, one_or_many) in given.items():
            value = self.value(one_or_many)
            kind = self.values[one_or_many.name][0] if isinstance(one_or_many, Term) else kind
            many = value if isinstance(value, tuple) else (value,)
            options.append([(name, (kind, one)) for one in dict.fromkeys(many)])
        for chosen in itertools.product(*options):
            yield self.with_(dict(chosen))

    def with_(self, values: Mapping[str, tuple[Kind, Any]]) -> "Scope":
        """The scope with further names."""
        return replace(self, values={**self.values, **values})

    def text(self, template: str) -> str:
        """The template with values as people read them. ``{span:extent}`` is how much of the
        target that is, ``{span:alone}`` also says that the rest is empty."""
        return _TERM.sub(lambda match: self._shown(match[1], match[2]), template)

    def id(self, template: str) -> str:
        """The template with plain numbers: bytes, percent, counts."""

        def plain(match: "re.Match[str]") -> str:
            value = self.values[match[1]][1]
            return f"{100 * value:g}" if isinstance(value, float) else str(value)

        return _TERM.sub(plain, template)

    def _shown(self, name: str, form: str | None) -> str:
        kind, value = self.values[name]
        if form == "extent":
            return self.subject.extent(value)
        if form is not None and form.startswith("alone"):
            return self.subject.alone(value, form.removeprefix("alone"))
        if isinstance(value, tuple):
            return listed([kind.show(one) for one in value])
        return kind.show(value)
