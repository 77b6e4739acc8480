"""The catalog's drives in the contest.

Hidden drives are small and drawn from simple ranges; those of the catalog are of full size and have
what products have (a data path slower than the dies, firmware that takes its time), some of which
nothing draws.
"""

import tomllib

from fourcorners import catalog
from fourcorners_validation.arena.explain.drives import Hidden


def known(index: int, seed: int) -> Hidden:
    """The drive of that number, in the order of their names."""
    drive = catalog.load(catalog.names()[index])
    return Hidden(_kind(drive), drive, seed)


def _kind(drive: catalog.DriveFile) -> str:
    match drive.kind:
        case "disk":
            return "disk"
        case "block-mapped-ssd":
            return "block-mapped SSD"
        case "log-block-ssd":
            return "log-block SSD"
    sections = tomllib.loads(drive.text)
    if "compression" in sections:
        return "compressing SSD"
    if "slc_cache" in sections:
        return "SLC-cached SSD"
    return "SATA SSD" if "line_rate" in sections["link"] else "NVMe SSD"
