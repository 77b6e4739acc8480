"""Findings ``stripe_bytes``, ``page_bytes`` and ``dies`` from reads that conflict; the arithmetic
is in :mod:`fourcorners.analysis.internals.flash.interleaving`."""

from __future__ import annotations

from typing import Any

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.flash import channels
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.method.medium import NO_FLASH, is_disk
from fourcorners.analysis.source import RunData, measured

TEST = "probe-conflicts"

_AXES = {
    "window": "window_bytes",
    "across": "boundary_bytes",
    "pair": "distance_bytes",
    "beside": "beside",
    "together": "stripes",
    "short": "stripes",
    "alone": "alone_bytes",
    "sentinel": "sentinel",
    "stride": "stride_bytes",
    "apart": "apart_bytes",
    "edge": "edge_bytes",
}


def seen(run: RunData) -> tuple[Seen | None, dict[str, list[str]]]:
    """The rates that the probe saw, ``None`` where it did not run, and the recordings of each kind
    of point."""
    points = [m for m in measured(run, TEST, "read") if m.ios > 1]
    found = Seen.of(
        (kind, int(m.point[axis]), m.iops, m.number("latency_mean_s") or 0.0)
        for m in points
        for kind, axis in _AXES.items()
        if m.point.get(axis) is not None and f"/{kind}/" in m.recording
    )
    evidence = {kind: [m.recording for m in points if f"/{kind}/" in m.recording] for kind in _AXES}
    return (found if len(found.window) > 1 else None), evidence


def find(run: RunData, link_bytes_per_second: float | None = None) -> list[Finding]:
    """The findings of the probe; none where it did not run.

    Args:
        run: the run.
        link_bytes_per_second: what the link carries, if that is known.
    """
    rates, evidence = seen(run)
    if rates is None:
        return []
    disk = is_disk(run)
    dies = _dies(rates, disk, evidence)
    return [
        _stripe(rates, disk, evidence),
        _page(rates, disk, evidence),
        dies,
        channels.find(rates, dies.value, link_bytes_per_second, disk, evidence),
    ]


def _detail(seen: Seen) -> dict[str, Any]:
    return {
        "discrete": True,
        "window_bytes": list(seen.window),
        "window_iops": list(seen.window.values()),
        "distance_bytes": list(seen.pair),
        "distance_iops": list(seen.pair.values()),
        "one_die_iops": seen.one_die,
    }


def _stripe(seen: Seen, disk: bool, evidence: dict[str, list[str]]) -> Finding:
    name, title = "stripe_bytes", "Stripe: what lies on one die before the next"
    seen_in, detail = evidence["window"], _detail(seen)
    if disk:
        return Finding(name, title, "not applicable", NO_FLASH, evidence=seen_in, detail=detail)
    stripe = seen.stripe_bytes
    if stripe is None:
        return _otherwise(seen, name, title, evidence) or Finding(
            name, title, "not identifiable", _no_stripe(seen), evidence=seen_in, detail=detail
        )
    beyond = next(w for w in seen.window if w > stripe)
    return Finding(
        name,
        title,
        "measured",
        f"Data written in sequence goes to the next die every {wording.size(stripe)}: reads "
        f"within so much come one at a time, within {wording.size(beyond)} they are "
        f"{wording.times(seen.window[beyond] / seen.one_die)} as fast.",
        value=float(stripe),
        unit="B",
        evidence=seen_in,
        detail=detail | {"goodness": {"spread_within": _spread(seen, stripe)}},
    )


def _across(seen: Seen) -> dict[str, Any]:
    return {
        "discrete": True,
        "boundary_bytes": list(seen.across),
        "across_s": [1 / iops for iops in seen.across.values()],
        "one_page_s": 1 / seen.one_die,
    }


def _otherwise(seen: Seen, name: str, title: str, evidence: dict[str, list[str]]) -> Finding | None:
    """The stripe or the page where reads of the same places do not meet on dies."""
    by_crossings = _by_crossings(seen, name, title, evidence["across"])
    return by_crossings or _unread(seen, name, title, evidence)


def _unread(seen: Seen, name: str, title: str, evidence: dict[str, list[str]]) -> Finding | None:
    """The stripe, the page or the dies where memory keeps what was read."""
    unread = seen.unread
    if unread is None or unread.dies is None or unread.stripe_bytes is None:
        return None
    stripe, page = unread.stripe_bytes, unread.page_bytes
    turn = wording.size(stripe * unread.dies)
    told = {
        "stripe_bytes": (
            stripe,
            f"Data written in sequence goes to the next die every {wording.size(stripe)}: reads "
            f"of places {turn} apart, which are on one die, are no faster beside others up to so "
            "far from them, and twice as fast from there on.",
        ),
        "dies": (
            unread.dies,
            f"{unread.dies} dies take stripes in turn: reads of places {turn} apart are as slow as "
            "of any larger stride, and of half of that faster.",
        ),
    }
    if page is not None:
        told["page_bytes"] = (
            page,
            f"One read of a die brings {wording.size(page)}"
            + (
                ": a read across a multiple of that takes it twice as long."
                if page < stripe
                else ", all that it has before the next die begins."
            ),
        )
    if name not in told:
        return None
    value, text = told[name]
    return Finding(
        name,
        title,
        "measured",
        f"{text} What was read is kept, so each place was read once.",
        value=float(value),
        unit="1" if name == "dies" else "B",
        evidence=[*evidence["stride"], *evidence["apart"], *evidence["edge"]],
        detail={
            "discrete": True,
            "stride_bytes": list(unread.stride),
            "stride_iops": list(unread.stride.values()),
            "distance_bytes": list(unread.apart),
            "distance_iops": list(unread.apart.values()),
            "boundary_bytes": list(unread.edge),
            "across_iops": list(unread.edge.values()),
            "one_die_iops": unread.one_die,
            "goodness": {"slowest": unread.stride[stripe * unread.dies] / unread.one_die - 1},
        },
    )


def _by_crossings(seen: Seen, name: str, title: str, evidence: list[str]) -> Finding | None:
    """The stripe or the page of a drive that serves one read at a time."""
    shown = seen.crossings
    if shown is None:
        return None
    value = shown.stripe_bytes if name == "stripe_bytes" else shown.page_bytes
    if value is None:
        return None
    longer = wording.times(shown.longest)
    if name == "stripe_bytes":
        text = (
            f"Data written in sequence goes to the next die every {wording.size(value)}: reads "
            "come one at a time, but one across a multiple of that has two dies work side by "
            f"side, and within it takes up to {longer} as long."
        )
    elif value < shown.stripe_bytes:
        text = (
            f"One read of a die brings {wording.size(value)}: a read across a multiple of that "
            f"takes {longer} as long as across two dies; a stripe has "
            f"{shown.stripe_bytes // value} such pages."
        )
    else:
        text = (
            f"One read of a die brings {wording.size(value)}, all that it has before the next die "
            "begins: no read within has the array read twice."
        )
    return Finding(
        name,
        title,
        "measured",
        text,
        value=float(value),
        unit="B",
        evidence=evidence,
        detail=_across(seen) | {"goodness": {"longest_within": shown.longest}},
    )


def _spread(seen: Seen, stripe: int) -> float:
    """Relative spread of the rates within the stripe, which are one die's."""
    inside = [iops for window, iops in seen.window.items() if window <= stripe]
    return max(inside) / min(inside) - 1


def _no_stripe(seen: Seen) -> str:
    if max(seen.window.values()) > seen.one_die:
        return (
            "Reads of larger and larger windows do not become faster from one size on and stay so: "
            "they do not meet on dies, or other load hides it."
        )
    return (
        "Many reads of one place are no slower than of many places: reads are served one at a "
        "time, or what is read again comes out of memory."
    )


def _page(seen: Seen, disk: bool, evidence: dict[str, list[str]]) -> Finding:
    name, title = "page_bytes", "Page: what one read of a die brings"
    seen_in = [*evidence["window"], *evidence["across"]]
    stripe, page = seen.stripe_bytes, seen.page_bytes
    detail = _across(seen)
    if disk:
        return Finding(name, title, "not applicable", NO_FLASH, evidence=seen_in, detail=detail)
    if stripe is None or page is None:
        return _otherwise(seen, name, title, evidence) or Finding(
            name, title, "not identifiable", _no_stripe(seen), evidence=seen_in, detail=detail
        )
    if page <= seen.grid_bytes:
        text = (
            f"One read of a die brings {wording.size(page)}, or less: nearer places were not read."
        )
    elif page < stripe:
        text = (
            f"One read of a die brings {wording.size(page)}: a read across a multiple of that "
            f"takes it {wording.times(seen.one_die / seen.across[page])} as long; a stripe has "
            f"{stripe // page} such pages."
        )
    else:
        text = (
            f"One read of a die brings {wording.size(page)}, all that it has before the next die "
            "begins: no read within takes it twice as long."
        )
    return Finding(
        name,
        title,
        "measured",
        text,
        value=float(page),
        unit="B",
        evidence=seen_in,
        detail=detail | {"goodness": {"spread_within": _spread(seen, stripe)}},
    )


def _dies(seen: Seen, disk: bool, evidence: dict[str, list[str]]) -> Finding:
    name, title = "dies", "Dies that work at the same time"
    seen_in, detail = [*evidence["window"], *evidence["pair"]], _detail(seen)
    if disk:
        return Finding(name, title, "not applicable", NO_FLASH, evidence=seen_in, detail=detail)
    stripe, dies = seen.stripe_bytes, seen.dies
    if stripe is None and (found := _unread(seen, name, title, evidence)):
        return found
    if stripe is None:
        reason = _no_stripe(seen)
    elif seen.turn is None:
        reason = "No two places conflict, as far apart as was tried: dies do not take turns."
    elif dies is None:
        reason = (
            f"Places {seen.turn} stripes apart conflict, but not all multiples of that: other dies "
            "take part, and how many does not show."
        )
    elif not seen.takes_turns:
        reason = (
            f"Places {dies} stripes apart conflict, but reads of a larger part are faster than of "
            "so many stripes: there are more dies, which do not take turns."
        )
    else:
        again = seen.die_offset_bytes(dies)
        return Finding(
            name,
            title,
            "measured",
            _turns(seen, stripe, dies),
            value=float(dies),
            unit="1",
            evidence=seen_in,
            detail=detail | {"goodness": {"together": seen.pair[again] / seen.one_die - 1}},
        )
    return Finding(name, title, "not identifiable", reason, evidence=seen_in, detail=detail)


def _turns(seen: Seen, stripe: int, dies: int) -> str:
    """How the dies take turns."""
    turn, bank = seen.turn, seen.bank_bytes
    if turn is None or bank is None:
        return (
            f"{dies} dies take stripes in turn: of two places that many stripes "
            f"({wording.size(stripe * dies)}) apart reads are as slow as of one, of nearer ones "
            "they are not."
        )
    return (
        f"{dies} dies, of which {turn} take stripes in turn, and after {wording.size(bank)} the "
        f"next {turn}: places {wording.size(dies // turn * bank)} apart are on one die again."
    )
