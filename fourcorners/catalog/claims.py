"""What a vendor claims of a drive: from the catalog's published figures, or from a person's file.

Such a file is TOML (docs/spec-sheet.md)::

    drive = "Example 1 TB"
    source = "Example's data sheet, revision 3"

    [claims]
    sequential_read = "3500 MB/s"
    random_read = "600000 IOPS"
    read_access = "80 us"
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from fourcorners import wording
from fourcorners.catalog.published import Published, Relation, published
from fourcorners.documents import FixedPart
from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.units import parse_iops, parse_rate, parse_seconds

Quantity = Literal[
    "sequential_read",
    "sequential_write",
    "random_read",
    "random_write",
    "random_write_steady",
    "read_access",
    "write_access",
]

_PARSERS = {
    "sequential_read": parse_rate,
    "sequential_write": parse_rate,
    "random_read": parse_iops,
    "random_write": parse_iops,
    "random_write_steady": parse_iops,
    "read_access": parse_seconds,
    "write_access": parse_seconds,
}
QUANTITIES = tuple(_PARSERS)
"""What can be claimed, by the names that a file of claims uses."""

# How the claims among the catalog's published figures word what they claim.
_PUBLISHED: dict[str, Quantity] = {
    "Sequential read": "sequential_read",
    "Read rate": "sequential_read",
    "Sequential write": "sequential_write",
    "Write rate": "sequential_write",
    "Random read of 4 KiB": "random_read",
    "Random write of 4 KiB": "random_write",
    "Access time of single reads": "read_access",
    "Access time of reads": "read_access",
    "Access time of writes": "write_access",
}
_SCALES = {"MB/s": 1e6, "MiB/s": 2.0**20, "IOPS": 1.0, "ms": 1e-3}

_RELATIONS = {"is": "", "about": "about ", "above": "above ", "below": "below ", "between": ""}
_UNITS = {"sequential": "B/s", "random": "IOPS", "read": "s", "write": "s"}


class Claim(FixedPart, frozen=True):
    """One claimed figure, in bytes per second, I/Os per second or seconds.

    ``high`` is the upper end where a vendor claims a range; ``relation`` as of a published figure.
    """

    quantity: Quantity
    value: Annotated[float, msgspec.Meta(gt=0)]
    high: float | None
    relation: Relation
    source: str
    url: str

    @property
    def unit(self) -> str:
        """Of ``value`` and ``high``: B/s, IOPS or s."""
        return _UNITS[self.quantity.partition("_")[0]]

    @property
    def words(self) -> str:
        """What is claimed, with its unit: "above 500 MB/s", "120 to 143 MB/s"."""
        if self.high is not None:
            return wording.interval((self.value, self.high), self.unit)
        return f"{_RELATIONS[self.relation]}{wording.quantity(self.value, self.unit)}"


def claims_of(drive: str) -> list[Claim]:
    """The vendor's claims of a drive of the catalog, by its full name; none for another name."""
    return [
        _of_published(figure)
        for figure in published().values()
        if figure.drive == drive and figure.verified == "claim"
    ]


def _of_published(figure: Published) -> Claim:
    scale = _SCALES[figure.unit]
    return Claim(
        quantity=_PUBLISHED[figure.what],
        value=figure.value * scale,
        high=None if figure.high is None else figure.high * scale,
        relation=figure.relation,
        source=figure.source,
        url=figure.url,
    )


def claims_in(given: Sequence[Claim] | str | Path) -> list[Claim]:
    """Claims that were given, or those in the file that was; raises as :func:`read_claims` does."""
    return read_claims(Path(given)) if isinstance(given, str | Path) else list(given)


def read_claims(path: Path) -> list[Claim]:
    """The claims in a file of one's own.

    Raises :class:`UserError` for what cannot be read, an unknown key and a value without its unit.
    """
    try:
        document = tomllib.loads(text_of(path, "the claims"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from error
    unknown = sorted(set(document) - {"drive", "source", "url", "claims"})
    if unknown:
        raise UserError(f"{path}: unknown key {unknown[0]}; use drive, source, url and claims")
    claims = document.get("claims")
    if not isinstance(claims, dict) or not claims:
        raise UserError(f'{path}: no claims: write [claims] and sequential_read = "3500 MB/s"')
    source = document.get("source")
    if not isinstance(source, str) or not source:
        raise UserError(f'{path}: say whose claims these are: source = "data sheet, revision 3"')
    url = document.get("url", "")
    if not isinstance(url, str):
        raise UserError(f"{path}: url is not a text")
    return [_read(path, key, value, source, url) for key, value in claims.items()]


def _read(path: Path, key: Any, value: Any, source: str, url: str) -> Claim:
    if key not in _PARSERS:
        raise UserError(f"{path}: unknown claim {key}; use one of {', '.join(_PARSERS)}")
    try:
        number = _PARSERS[key](str(value))
    except UserError as error:
        raise UserError(f"{path}: {key}: {error}") from error
    if number <= 0:
        raise UserError(f"{path}: {key}: a claim is above 0")
    return Claim(key, number, None, "is", source, url)
