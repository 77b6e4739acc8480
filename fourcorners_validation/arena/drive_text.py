"""Drive files made from numbers, written in the units of a drive file."""

from collections.abc import Mapping
from typing import Any

from fourcorners.catalog import DriveFile, parse

Sections = Mapping[str, Mapping[str, Any]]
"""A drive file's sections, parameters and values."""


class Bytes(int):
    """A size."""


class Seconds(float):
    """A time; drive files are made of whole nanoseconds."""


class BytesPerSecond(float):
    """A data rate."""


class GigabitsPerSecond(float):
    """A line rate."""


def drive_file(name: str, kind: str, sections: Sections) -> DriveFile:
    """The drive file of that kind with these sections."""
    lines = [f'name = "{name}"', f'kind = "{kind}"', 'summary = "Drawn at random."']
    for section, entries in sections.items():
        lines.append(f"[{section}]")
        lines += [
            f'{key} = {{ value = {_toml(value)}, source = "drawn at random" }}'
            for key, value in entries.items()
        ]
    return parse(name, "\n".join(lines) + "\n")


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case Bytes():
            return f'"{int(value)} B"'
        case Seconds():
            return f'"{round(value * 1e9)} ns"'
        case BytesPerSecond():
            return f'"{round(value)} B/s"'
        case GigabitsPerSecond():
            return f'"{float(value):g} Gb/s"'
        case str():
            return f'"{value}"'
        case list() | tuple():
            return f"[{', '.join(_toml(one) for one in value)}]"
    return repr(value)
