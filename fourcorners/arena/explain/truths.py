"""What is true of a hidden drive, finding by finding."""

from fourcorners.arena.explain.drives import Hidden
from fourcorners.arena.explain.flash_truths import FLASH_TRUTHS
from fourcorners.arena.explain.truth import Truth


def _mapping_unit(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    unit = hidden.get("translation.unit")
    return cluster_bytes(hidden) if unit is None else float(unit)


def cluster_bytes(hidden: Hidden) -> float:
    """Of a cluster-mapped drive: one block of every plane of all dies that work together."""
    flash = hidden.sections["flash"]
    return float(
        flash["channels"] * flash["planes"] * flash["page_size"] * flash["pages_per_block"]
    )


def _stripe(hidden: Hidden) -> float | None:
    if hidden.kind == "disk":
        return 0
    page = hidden.get("flash.page_size")
    return page * hidden.get("flash.planes") if hidden.get("flash.dies") else None


def _page(hidden: Hidden) -> float | None:
    # How a controller that compresses packs units into pages is not in its drive file.
    if hidden.kind == "compressing SSD" or hidden.kind == "cluster-mapped SSD":
        return None
    return 0 if hidden.kind == "disk" else float(hidden.get("flash.page_size"))


def _dies(hidden: Hidden) -> float | None:
    return 0 if hidden.kind == "disk" else hidden.get("flash.dies")


def _queue_depth(hidden: Hidden) -> float | None:
    return float(hidden.get("link.queue_depth"))


def _reordering(hidden: Hidden) -> float | None:
    return float(hidden.get("link.queue_depth") > 1) if hidden.kind == "disk" else None


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


def _link_ceiling(hidden: Hidden) -> float | None:
    # What drive/sim/src/link.rs leaves of the line rate.
    share = 8192 / 8792 if "line_rate" in hidden.sections["link"] else 256 / 280
    return _line_rate(hidden) * share


def _zones(hidden: Hidden) -> float | None:
    return float(hidden.get("geometry.zones")) if hidden.kind == "disk" else 1.0


def _edge_rate(hidden: Hidden, zone_share: float) -> float | None:
    """The rate of the first or last zone, whose middle is half a zone from the edge."""
    if hidden.kind != "disk":
        return None
    geometry = hidden.sections["geometry"]
    outer, inner = float(geometry["outer_rate"]), float(geometry["inner_rate"])
    inwards = abs(zone_share - 0.5 / float(geometry["zones"]))
    track_s = 60 / float(geometry["rotation_rpm"]) + float(hidden.get("seek.track_switch"))
    # A track holds whole sectors.
    return round((outer - inwards * (outer - inner)) * track_s / 512) * 512 / track_s


def _outer_rate(hidden: Hidden) -> float | None:
    return _edge_rate(hidden, 0.0)


def _inner_rate(hidden: Hidden) -> float | None:
    return _edge_rate(hidden, 1.0)


def _rotation(hidden: Hidden) -> float | None:
    return float(hidden.get("geometry.rotation_rpm")) if hidden.kind == "disk" else 0.0


def _seek_stroke(hidden: Hidden) -> float | None:
    return float(hidden.get("seek.stroke")) if hidden.kind == "disk" else None


TRUTHS = (
    Truth("mapping_unit", True, _mapping_unit),
    Truth("stripe_bytes", True, _stripe),
    Truth("page_bytes", True, _page),
    Truth("dies", True, _dies),
    Truth("command_queue_depth", True, _queue_depth),
    Truth("reordering", True, _reordering),
    Truth("link", True, _link),
    Truth("link_ceiling", False, _link_ceiling),
    *FLASH_TRUTHS,
    Truth("zones", True, _zones),
    Truth("outer_rate", False, _outer_rate),
    Truth("inner_rate", False, _inner_rate),
    Truth("rotation_rpm", True, _rotation),
    Truth("seek_stroke", False, _seek_stroke),
)
