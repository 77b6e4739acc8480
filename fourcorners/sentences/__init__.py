"""Findings in words: the one place that words what an estimator says by a code and parameters.

The TOML files in this folder have a section for each finding, or for each family of sentences, with
its sentences by their code. In braces stands a parameter and how it is written: ``{size:size}``,
``{dies:count die}``, ``{rate:spread 1}`` (a value and its interval). ``{why:said}`` is another
sentence, or several of them, and ``{parts:list}`` joins several to "a, b and c". A sentence may
also name the finding's ``value``, the ends ``low`` and ``high`` of its interval, and what its
``detail`` holds.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from fourcorners import wording


@dataclass(frozen=True)
class Said:
    """A sentence that is not worded yet: the ``code`` by which the file has it, as
    ``section.name``, and what stands in it."""

    code: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Its words."""
        return sentence(self)

    @property
    def codes(self) -> Iterator[str]:
        """Its own code, and those of the sentences within it."""
        yield self.code
        for value in self.parameters.values():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Said):
                    yield from one.codes


def say(code: str, /, **parameters: Any) -> Said:
    """A sentence with its parameters."""
    return Said(code, parameters)


def together(sentences: Sequence[Said]) -> Said:
    """Several sentences, one after the other."""
    return say("any.together", sentences=list(sentences))


COMMON = "any"
"""Section of sentences that several findings share."""

_WRITERS: Mapping[str, Callable[[Any, str], str]] = {
    "amount": lambda value, _: wording.amount(value),
    "binary_rate": lambda value, _: wording.binary_rate(value),
    "chosen_time": lambda value, _: wording.chosen_time(value),
    "clock": lambda value, _: wording.clock(value),
    "count": lambda value, noun: wording.count(round(value), noun),
    "durations": lambda values, word: f" {word} ".join(map(wording.duration, values)),
    "duration": lambda value, _: wording.duration(value),
    "inside": lambda text, _: wording.inside(text),
    "number": lambda value, digits: wording.number(value, int(digits or 3)),
    "often": lambda value, _: wording.often(value),
    "percent": lambda value, digits: wording.percent(value, int(digits or 3)),
    "quoted": lambda text, _: f"“{text}”",
    "rate": lambda value, _: wording.rate(value),
    "size": lambda value, _: wording.size(value),
    "spread": lambda of, unit: wording.spread(of[0], of[1], unit),
    "start": lambda text, _: wording.at_start(text),
    "times": lambda value, _: wording.times(value),
    "whole": lambda value, _: f"{round(value):,}",
}

_JOINS: Mapping[str, Callable[[list[str]], str]] = {
    "commas": ", ".join,
    "run": "".join,
    "said": " ".join,
    "list": wording.sentence_list,
    "semicolons": "; ".join,
    "then": ", then ".join,
}
"""How several sentences become one."""


def sentence(said: Said, known: Mapping[str, Any] | None = None) -> str:
    """The words for a code.

    Args:
        said: the code and its parameters.
        known: what else its sentence may name.

    Raises:
        KeyError: there is no such sentence, or it names what is not known.
    """
    section, _, name = said.code.partition(".")
    return _Writer().vformat(_table()[section][name], (), {**(known or {}), **said.parameters})


def code_of(finding: str, name: str) -> str:
    """The whole code of a finding's sentence: its own, or the one that it shares with others."""
    section = finding if name in _table().get(finding, {}) else COMMON
    return f"{section}.{name}"


@cache
def _table() -> dict[str, dict[str, str]]:
    table: dict[str, dict[str, str]] = {}
    for file in files(__name__).iterdir():
        if file.name.endswith(".toml"):
            sections = tomllib.loads(file.read_text("utf-8"))
            assert not table.keys() & sections.keys(), f"{file.name} has sections of another file"
            table |= sections
    return table


class _Writer(string.Formatter):
    """Writes quantities as :mod:`fourcorners.wording` does, by the name of the way."""

    def format_field(self, value: Any, format_spec: str) -> str:
        name, _, argument = format_spec.partition(" ")
        if name in _JOINS:
            texts = [sentence(said) for said in (value if isinstance(value, list) else [value])]
            text = _JOINS[name]([text for text in texts if text])
            first = {"lower": str.lower, "upper": str.upper}.get(argument, str)
            return f"{first(text[:1])}{text[1:]}"
        if name in _WRITERS:
            return _WRITERS[name](value, argument)
        return str(format(value, format_spec))
