"""The catalog's drives in the contest: what their files say, as numbers.

Hidden drives are small and drawn from simple ranges; those of the catalog are of full size and have
what products have (a data path slower than the dies, firmware that takes its time), some of which
nothing draws.
"""

import tomllib
from collections.abc import Callable
from typing import Any

from fourcorners import catalog
from fourcorners.errors import UserError
from fourcorners.units import parse_bytes, parse_rate, parse_seconds
from fourcorners.validation.arena.explain.drives import Hidden

_QUANTITIES: tuple[Callable[[str], float], ...] = (parse_bytes, parse_seconds, parse_rate)
_LINE_RATE = " Gb/s"


def known(index: int, seed: int) -> Hidden:
    """The drive of that number, in the order of their names."""
    drive = catalog.load(catalog.names()[index])
    sections = {
        name: {key: _number(entry["value"]) for key, entry in section.items()}
        for name, section in tomllib.loads(drive.text).items()
        if isinstance(section, dict)
    }
    if drive.kind == "page-mapped-ssd":
        buffer = sections["write_buffer"]
        sections["write_buffer"] = {"write_back": True, "power_loss_protection": False} | buffer
    return Hidden(_kind(drive.kind, sections), drive, sections, seed)


def _kind(kind: str, sections: dict[str, dict[str, Any]]) -> str:
    match kind:
        case "disk":
            return "disk"
        case "block-mapped-ssd":
            return "cluster-mapped SSD"
        case "log-block-ssd":
            return "log-block SSD"
    if "compression" in sections:
        return "compressing SSD"
    if "slc_cache" in sections:
        return "SLC-cached SSD"
    return "SATA SSD" if "line_rate" in sections["link"] else "NVMe SSD"


def _number(value: Any) -> Any:
    """A quantity in bytes, seconds, bytes per second or Gb/s; what is none as it is."""
    if not isinstance(value, str):
        return value
    if value.endswith(_LINE_RATE):
        return float(value.removesuffix(_LINE_RATE))
    for parse in _QUANTITIES:
        try:
            return parse(value)
        except UserError:
            continue
    return value
