"""What is in a trace, in words: the same for the terminal and the page."""

from __future__ import annotations

from fourcorners import wording
from fourcorners.recording import NS
from fourcorners.trace.figures import Quantiles, TraceInformation

Fact = tuple[str, str]
"""What it is about, and what is said of it."""

# Of more lengths the rest is in --json.
_LENGTHS_SHOWN = 5


def facts(found: TraceInformation) -> list[Fact]:
    """All that is said of a trace, one thing a line."""
    said = [("origin", "; ".join(found.header.origin) or "not said")]
    if found.header.lost_events:
        said.append(
            ("lost", f"the recorder lost {wording.count(found.header.lost_events, 'event')}")
        )
    said.append(("length", _length(found)))
    said += _operations(found)
    if found.ios:
        said += [*_blocks(found), *_places(found), *_arrivals(found), *_durability(found)]
    return said


def _length(found: TraceInformation) -> str:
    if not found.ios:
        return "no I/Os"
    text = wording.count(found.ios, "I/O")
    if not found.length_ns:
        return text if found.ios == 1 else f"{text}, all at the same time"
    rate = found.ios / (found.length_ns * NS)
    text += f" in {_time(found.length_ns)}, {wording.number(rate)} a second"
    return f"{text}; times are multiples of {_time(found.time_step_ns)}"


def _operations(found: TraceInformation) -> list[Fact]:
    said = []
    for name, own in found.operations.items():
        parts = [f"{wording.count(own.ios, 'I/O')} ({wording.percent(own.ios / found.ios)})"]
        if own.bytes:
            parts.append(wording.amount(own.bytes))
            parts.append(_lengths(own.lengths, own.ios))
        if own.fua_ios:
            parts.append(f"{wording.percent(own.fua_ios / own.ios)} with FUA")
        if own.latency_ns is not None:
            parts.append(f"latency {_spread(own.latency_ns)}")
        said.append((name, "; ".join(parts)))
    return said


def _lengths(lengths: dict[int, int], ios: int) -> str:
    most = sorted(lengths.items(), key=lambda one: (-one[1], one[0]))[:_LENGTHS_SHOWN]
    listed = [
        f"{wording.size(length) if length else 'other lengths'} {wording.percent(count / ios, 2)}"
        for length, count in most
    ]
    rest = len(lengths) - len(most)
    return ", ".join(listed) + (f" and {wording.count(rest, 'more length')}" if rest > 0 else "")


def _blocks(found: TraceInformation) -> list[Fact]:
    blocks = found.blocks
    if not blocks.sampled_blocks:
        return []
    sampled = ""
    if blocks.sampled_share < 1:
        sampled = (
            f" (estimated from {wording.count(blocks.sampled_blocks, 'block')}, "
            f"{wording.percent(blocks.sampled_share, 2)} of all)"
        )
    said = [
        (
            "footprint",
            f"{wording.amount(blocks.footprint_bytes)} in blocks of 4 KiB, of which "
            f"{wording.amount(blocks.read_footprint_bytes)} are read and "
            f"{wording.amount(blocks.written_footprint_bytes)} written; addresses reach up to "
            f"{wording.amount(found.end_bytes)}{sampled}",
        ),
        (
            "hot and cold",
            "; ".join(
                f"the hottest {100 * share:g} % of the blocks have "
                f"{wording.percent(accesses)} of the accesses"
                for share, accesses in blocks.hottest
                if share in (0.01, 0.1, 0.2)
            )
            + f"; {wording.percent(blocks.accessed_once_share)} are accessed once",
        ),
    ]
    for name, curve, what in (
        (
            "reuse",
            blocks.reuse,
            "accesses go to a block again, with at most {} of other blocks in between",
        ),
        (
            "rewrite",
            blocks.rewrite,
            "block writes overwrite a block again, at most {} of writes later",
        ),
    ):
        if curve:
            half = next((at for at in curve if at[1] >= curve[-1][1] / 2), curve[-1])
            said.append(
                (
                    name,
                    f"{wording.percent(half[1])} of the {what.format(wording.size(half[0]))}; "
                    f"{wording.percent(1 - curve[-1][1])} are the first to their block",
                )
            )
    return said


def _places(found: TraceInformation) -> list[Fact]:
    places = found.places
    parts = [
        f"{wording.percent(share)} of the {name}"
        for name, share in (
            ("reads", places.sequential_read_share),
            ("writes", places.sequential_write_share),
        )
        if share is not None
    ]
    said = [("sequential", f"{' and '.join(parts)} begin where another one ended")] if parts else []
    if places.aligned:
        listed = [f"{wording.size(at)} in {wording.percent(share)}" for at, share in places.aligned]
        said.append(
            ("aligned", f"place and length are multiples of {', of '.join(listed)} of the I/Os")
        )
    return said


def _arrivals(found: TraceInformation) -> list[Fact]:
    arrivals = found.arrivals
    said = []
    if arrivals.gap_ns is not None:
        said.append(("gaps", f"from one I/O to the next: {_spread(arrivals.gap_ns)}"))
    if arrivals.dispersion:
        listed = [
            f"{wording.number(one.index)} in {_chosen(one.window_ns)}"
            for one in arrivals.dispersion
        ]
        said.append(
            ("bursts", f"index of dispersion {', '.join(listed)} (1 if arrivals are random)")
        )
    pauses = [
        f"{wording.percent(share)} of the time in {wording.count(gaps, 'gap')} of "
        f"{_chosen(least)} or more without a new I/O"
        for least, gaps, share in arrivals.idle
        if gaps
    ]
    if pauses:
        said.append(("pauses", "; ".join(pauses)))
    if found.queue is not None:
        depth = found.queue.depth
        said.append(
            (
                "queue depth",
                f"{wording.number(depth.mean)} in the mean, {depth.p50} in the median, {depth.p99} "
                f"at the 99th percentile, {depth.max} at most; something is outstanding for "
                f"{_time(found.queue.busy_ns)}",
            )
        )
    return said


def _durability(found: TraceInformation) -> list[Fact]:
    own = found.durability
    said = []
    if own.flush_interval_ns is not None:
        text = f"from one to the next: {_spread(own.flush_interval_ns)}"
        if own.bytes_between_flushes is not None:
            between = own.bytes_between_flushes
            text += f"; {wording.amount(between.p50)} are written in between in the median, "
            text += f"{wording.amount(between.p99)} at the 99th percentile"
        said.append(("flushes", text))
    if own.fua_interval_ns is not None:
        said.append(("FUA", f"from one to the next: {_spread(own.fua_interval_ns)}"))
    return said


def _time(ns: float) -> str:
    return wording.duration(ns * NS)


def _chosen(ns: float) -> str:
    return wording.chosen_time(ns * NS)


def _spread(values: Quantiles) -> str:
    return (
        f"{_time(values.p50)} in the median, {_time(values.p99)} at the 99th percentile, "
        f"{_time(values.max)} at most"
    )
