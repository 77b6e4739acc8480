"""Drive files: one TOML per drive. They are shown as written; only the core interprets them."""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from fourcorners.catalog import array
from fourcorners.errors import UserError
from fourcorners.input_files import text_of

SIMULATED_PREFIX = "sim:"
"""Before the name of a drive of the catalog, where other targets can be named as well."""

DRIVE_FILE_SUFFIX = ".toml"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a drive file as written: the value has its unit, the source says whence."""

    section: str
    name: str
    value: str
    source: str


@dataclass(frozen=True)
class ListedDrive:
    """A drive in one row; its ``id`` is what follows ``sim:``."""

    id: str
    name: str
    kind: str
    summary: str


@dataclass(frozen=True)
class ListedDrives:
    """The drives of the catalog, in the order of their ids."""

    drives: tuple[ListedDrive, ...]


@dataclass(frozen=True)
class DescribedDrive(ListedDrive):
    """What a drive file says, flattened for display."""

    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class DriveFile(DescribedDrive):
    """A drive file: its text, and what it says."""

    text: str
    folder: Path | None = None
    """Where the file lies; ``None`` in the catalog."""

    def to_dict(self) -> dict[str, object]:
        """The drive as a :class:`DescribedDrive`."""
        return {one.name: getattr(self, one.name) for one in fields(DescribedDrive)}


def names() -> list[str]:
    """Catalog names, in order: what follows ``sim:``."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in _folder().iterdir()
        if entry.name.endswith(".toml")
    )


def resolve(query: str) -> str:
    """The catalog name that ``query`` means: case, spaces and punctuation do not matter, and a
    part that fits one drive only is enough.

    Raises :class:`UserError` with suggestions when it fits none or several.
    """
    fitting = _fitting(query)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise UserError(f'"{query}" fits several drives: {", ".join(fitting)}')
    near = similar(query, 0.5)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else '"fourcorners drives" lists the catalog'
    )
    raise UserError(f'no drive named "{query}" in the catalog: {hint}')


def similar(query: str, cutoff: float) -> list[str]:
    """The up to three catalog names that ``query`` is a part of, or else up to two that are as
    like it as ``cutoff`` (difflib's ratio) asks."""
    if 1 <= len(fitting := _fitting(query)) <= 3:
        return fitting
    plain = {_plain(name): name for name in names()}
    near = difflib.get_close_matches(_plain(query), plain, n=2, cutoff=cutoff)
    return [plain[key] for key in near]


def _fitting(query: str) -> list[str]:
    """The drive of that very name, or else those that ``query`` is a part of."""
    plain = {_plain(name): name for name in names()}
    wanted = _plain(query)
    if wanted in plain:
        return [plain[wanted]]
    return [name for key, name in plain.items() if wanted and wanted in key]


def load(query: str) -> DriveFile:
    """The drive file of the catalog that ``query`` means; raises as :func:`resolve`.

    ``raid0:4xNAME`` makes one for an array of catalog drives.
    """
    query = array.normalized(query)
    if query.startswith(array.PREFIX):
        drives = [(count, load(part)) for count, part in array.split(query)]
        members = [(count, drive.id, drive.name) for count, drive in drives]
        return parse(array.identifier(members), array.text(members))
    name = resolve(query)
    return parse(name, (_folder() / f"{name}.toml").read_text("utf-8"))


def load_path(path: str | Path) -> DriveFile:
    """A drive file outside the catalog; raises :class:`UserError` when it cannot be read."""
    path = Path(path)
    return parse_own(path, text_of(path, "the drive file"))


def parse_own(path: Path, text: str) -> DriveFile:
    """A drive file outside the catalog that has been read; raises :class:`UserError` when it is
    not TOML."""
    try:
        return replace(parse(path.stem, text), folder=path.parent)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"drive file {path}: {error}") from None


def load_members(drive: DriveFile, names: Iterable[str]) -> list[DriveFile]:
    """The drive files that an array names: of the catalog, or ``NAME.toml`` beside its own file.

    Raises as :func:`load` and :func:`load_path`.
    """
    folder = drive.folder or Path()
    return [load_path(folder / name) if name.endswith(".toml") else load(name) for name in names]


def parse(name: str, text: str) -> DriveFile:
    """Reads a drive file for display, whatever parameters it has.

    Raises ``tomllib.TOMLDecodeError``; everything else is for the core to check.
    """
    document = tomllib.loads(text)
    return DriveFile(
        id=name,
        name=str(document.get("name", name)),
        kind=str(document.get("kind", "")),
        summary=str(document.get("summary", "")),
        parameters=tuple(_parameters("", document)),
        text=text,
    )


def _parameters(section: str, table: Mapping[str, Any]) -> Iterator[Parameter]:
    for key, entry in table.items():
        if not isinstance(entry, Mapping):
            continue
        if "value" in entry:
            yield Parameter(section, key, _shown(entry["value"]), str(entry.get("source", "")))
        else:
            yield from _parameters(f"{section}.{key}" if section else key, entry)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
    return str(value)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _folder() -> Any:
    return resources.files(__package__).joinpath("drives")
