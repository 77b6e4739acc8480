"""What is true of the link that a hidden drive is attached by."""

from fourcorners.validation.arena.explain.drives import Hidden
from fourcorners.validation.arena.explain.truth import Truth


def _line_rate(hidden: Hidden) -> float:
    """Bytes per second after the line code."""
    link = hidden.sections["link"]
    if "line_rate" in link:
        return float(link["line_rate"]) * 1e8  # From Gb/s.
    generation = int(link["pcie_generation"])
    transfers = {1: 2.5e9, 2: 5e9}.get(generation, float(1e9 * 2**generation))
    code = 0.8 if generation < 3 else 128 / 130
    return float(link["pcie_lanes"]) * transfers / 8 * code


def _link(hidden: Hidden) -> float | None:
    return round(_line_rate(hidden))


def link_bytes_per_second(hidden: Hidden) -> float:
    """What drive/sim/src/link.rs leaves of the line rate."""
    share = 8192 / 8792 if "line_rate" in hidden.sections["link"] else 256 / 280
    return _line_rate(hidden) * share


LINK_TRUTHS = (
    Truth("link", True, _link),
    Truth("link_ceiling", False, link_bytes_per_second),
)
