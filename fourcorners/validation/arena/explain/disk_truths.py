"""What is true of a hidden drive's platters and arm; of flash, that it has none."""

import numpy as np

from fourcorners.validation.arena.explain.drives import Hidden
from fourcorners.validation.arena.explain.link_truths import link_bytes_per_second
from fourcorners.validation.arena.explain.truth import Truth

_CYLINDERS_PER_ZONE = 50
"""Places that stand for all of a zone's cylinders, which hold the same."""


def _read_penalty(hidden: Hidden) -> float | None:
    """Of a disk: what an access takes, and the link's time for the last 4 KiB, which are still in
    the drive when they have passed the head."""
    return _access_s(hidden) + 4096 / link_bytes_per_second(hidden) if _is_disk(hidden) else None


def _access_s(hidden: Hidden) -> float:
    """Firmware, a seek between two random places, and half a turn."""
    controller, geometry = hidden.sections["controller"], hidden.sections["geometry"]
    seek = _mean_seek_s(hidden)
    overhead = float(hidden.get("host.overhead")) + float(controller["command_overhead"])
    return (
        overhead
        + float(controller["access_overhead"])
        + seek
        + 30 / float(geometry["rotation_rpm"])
    )


def _mean_seek_s(hidden: Hidden) -> float:
    """Between two places that are drawn by bytes, of which outer cylinders have more."""
    weight = np.repeat(_zone_rates(hidden), _CYLINDERS_PER_ZONE)
    weight /= weight.sum()
    cylinders = (np.arange(len(weight)) + 0.5) / len(weight)
    root = np.sqrt(np.abs(cylinders[:, None] - cylinders[None, :]))
    return float(hidden.get("seek.base")) + float(hidden.get("seek.stroke")) * float(
        weight @ root @ weight
    )


def _read_rate(hidden: Hidden) -> float | None:
    """Of a disk: bytes over the time that they take at their places."""
    return float(_zone_rates(hidden).mean()) if hidden.kind == "disk" else None


def _is_disk(hidden: Hidden) -> bool:
    return hidden.kind == "disk"


def _writes_through(hidden: Hidden) -> bool:
    return _is_disk(hidden) and not hidden.get("cache.write_back")


def _write_penalty(hidden: Hidden) -> float | None:
    """Of a disk that writes through: an access, a longer settling, and its firmware's part. A write
    cache chooses among what waits, and what that saves follows from no parameter alone."""
    if not _writes_through(hidden):
        return None
    settle_s = float(hidden.get("seek.write_settle"))
    return _access_s(hidden) + settle_s + float(hidden.get("controller.write_through_overhead"))


def _write_rate(hidden: Hidden) -> float | None:
    return _read_rate(hidden) if _writes_through(hidden) else None


def _zone_rates(hidden: Hidden) -> np.ndarray:
    """Rate of each zone of a disk, from the outer edge, in bytes per second."""
    geometry = hidden.sections["geometry"]
    outer, inner = float(geometry["outer_rate"]), float(geometry["inner_rate"])
    inwards = (np.arange(geometry["zones"]) + 0.5) / float(geometry["zones"])
    return np.asarray(outer - inwards * (outer - inner))


def _zones(hidden: Hidden) -> float | None:
    return float(hidden.get("geometry.zones")) if hidden.kind == "disk" else 1.0


def _edge_rate(hidden: Hidden, zone_share: float) -> float | None:
    """The rate of the first or last zone, whose middle is half a zone from the edge."""
    if hidden.kind != "disk":
        return None
    geometry = hidden.sections["geometry"]
    outer, inner = float(geometry["outer_rate"]), float(geometry["inner_rate"])
    inwards = abs(zone_share - 0.5 / float(geometry["zones"]))
    track_s = _track_s(hidden)
    # A track holds whole sectors.
    return round((outer - inwards * (outer - inner)) * track_s / 512) * 512 / track_s


def _track_s(hidden: Hidden) -> float:
    """A turn and the way to the next track, on the average of a cylinder."""
    turn_s = 60 / float(hidden.get("geometry.rotation_rpm"))
    heads = int(hidden.get("geometry.heads"))
    switches_s = float(hidden.get("seek.track_switch")) + (heads - 1) * float(
        _head_switch_s(hidden)
    )
    return turn_s + switches_s / heads


def _head_switch_s(hidden: Hidden) -> float:
    given = hidden.get("seek.head_switch")
    return float(hidden.get("seek.track_switch") if given is None else given)


def _outer_rate(hidden: Hidden) -> float | None:
    return _edge_rate(hidden, 0.0)


def _inner_rate(hidden: Hidden) -> float | None:
    return _edge_rate(hidden, 1.0)


def _rotation(hidden: Hidden) -> float | None:
    return float(hidden.get("geometry.rotation_rpm")) if hidden.kind == "disk" else 0.0


def _seek_stroke(hidden: Hidden) -> float | None:
    return float(hidden.get("seek.stroke")) if hidden.kind == "disk" else None


def _seek_base(hidden: Hidden) -> float | None:
    return float(hidden.get("seek.base")) if hidden.kind == "disk" else None


def _seek_mean(hidden: Hidden) -> float | None:
    return _mean_seek_s(hidden) if hidden.kind == "disk" else None


def _track_bytes(hidden: Hidden) -> float | None:
    """Of the first zone, in whole sectors."""
    rate = _edge_rate(hidden, 0.0)
    return None if rate is None else rate * _track_s(hidden)


def _track_switch(hidden: Hidden) -> float | None:
    return float(hidden.get("seek.track_switch")) if hidden.kind == "disk" else None


def _head_switch(hidden: Hidden) -> float | None:
    return _head_switch_s(hidden) if hidden.kind == "disk" else None


def _heads(hidden: Hidden) -> float | None:
    return float(hidden.get("geometry.heads")) if hidden.kind == "disk" else None


def _reordering(hidden: Hidden) -> float | None:
    return float(hidden.get("link.queue_depth") > 1) if hidden.kind == "disk" else None


def _read_ahead_bytes(hidden: Hidden) -> float | None:
    return float(hidden.get("cache.read_ahead")) if hidden.kind == "disk" else None


DISK_TRUTHS = (
    Truth("read_ahead_bytes", False, _read_ahead_bytes),
    Truth("reordering", True, _reordering),
    Truth("read_access_penalty", False, _read_penalty),
    Truth("read_sequential_rate", False, _read_rate),
    Truth("write_access_penalty", False, _write_penalty),
    Truth("write_sequential_rate", False, _write_rate),
    Truth("zones", True, _zones),
    Truth("outer_rate", False, _outer_rate),
    Truth("inner_rate", False, _inner_rate),
    Truth("rotation_rpm", True, _rotation),
    Truth("seek_stroke", False, _seek_stroke),
    Truth("seek_base", False, _seek_base),
    Truth("seek_mean", False, _seek_mean),
    Truth("track_bytes", False, _track_bytes),
    Truth("track_switch", False, _track_switch),
    Truth("head_switch", False, _head_switch),
    Truth("heads", True, _heads),
)
