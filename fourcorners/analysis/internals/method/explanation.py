"""Finding ``explanation``: what kind of drive the probes met, in plain words.

The kind follows from the first of these that was measured: rotation (a disk), log blocks, a mapping
unit of at least 256 KiB (a drive that maps clusters), a smaller one, spare area or that small
writes have no block rewritten (a drive that maps pages), dies, or that nothing rotates (a
solid-state drive).
Then each finding that tells something adds a sentence: how it reads and writes, what is inside, how
it is attached, and what a person should know who uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fourcorners import wording
from fourcorners.analysis.finding import ODD, Finding
from fourcorners.analysis.internals.method.drift import DISTURBED

CLUSTER_MIN_BYTES = 256 * 2**10

FLASH_READ_S = 10e-6
"""Time of a small read below which it comes out of memory: flash takes 20 us for a page."""

_Measured = Mapping[str, Finding]
_Say = Callable[[Finding, _Measured], str]


def _reads(f: Finding, all: _Measured) -> str:
    """Only where the access model holds: else the cost of an access depends on its size."""
    rate = all.get("read_sequential_rate")
    if rate is None or "misfit_read" in all:
        return f"A small read takes {wording.duration(f.detail['measured_s'][0])}."
    return (
        f"A read costs {wording.duration(f.value)} beside its transfer, at "
        f"{wording.rate(rate.value)}."
    )


def _tax(f: Finding, all: _Measured) -> str:
    goodness = f.detail["goodness"]
    rate = f.detail["sequential_rate_bytes_per_second"]
    return (
        f"Each unit that a write covers only in part costs {wording.duration(f.value)}: one for a "
        f"small write, mostly two for a large one, beside a transfer at {wording.rate(rate)}. That "
        "tax is what the access model does not know: without it the model misses writes by "
        f"{wording.percent(goodness['relative_rms_without_tax'])}, with it by "
        f"{wording.percent(goodness['relative_rms'])}."
    )


def _dies(f: Finding, all: _Measured) -> str:
    channels = all.get("channels")
    on = f" on {wording.count(_whole(channels), 'channel')}" if channels else ""
    return f"{wording.count(_whole(f), 'die')}{on} work at the same time."


def _zones(f: Finding, all: _Measured) -> str:
    outer, inner = all.get("outer_rate"), all.get("inner_rate")
    if _whole(f) < 2 or outer is None or inner is None:
        return ""
    return (
        f"Its rate falls from {wording.rate(outer.value)} at the outer edge to "
        f"{wording.rate(inner.value)} at the inner one, in {_whole(f)} zones."
    )


def _seeks(f: Finding, all: _Measured) -> str:
    return (
        f"An arm that crosses all tracks takes {wording.duration(f.value)} longer than on the "
        "shortest way."
    )


def _queue(f: Finding, all: _Measured) -> str:
    count = _whole(f)
    text = f"It accepts {wording.count(count, 'command')} at once"
    if count == 1:
        return f"{text}, so that a queue gains nothing."
    reordering = all.get("reordering")
    if reordering is not None and reordering.value:
        return (
            f"{text} and reorders them: random reads become up to "
            f"{wording.times(reordering.detail['gain'])} as fast."
        )
    return f"{text}."


def _ahead(f: Finding, all: _Measured) -> str:
    streams, far = all.get("read_ahead_streams"), all.get("read_ahead_bytes")
    text = "It reads ahead"
    if streams is not None and streams.value:
        count = _whole(streams)
        text += " of one sequence at a time" if count == 1 else f" of {count} sequences at a time"
    return f"{text}, by {wording.size(far.value)}." if far is not None and far.value else f"{text}."


_SENTENCES: tuple[tuple[str, _Say], ...] = (
    ("rotation_rpm", lambda f, _: f"It turns {_whole(f):,} times a minute."),
    ("zones", _zones),
    ("seek_stroke", _seeks),
    ("read_access_penalty", _reads),
    ("extended_model", _tax),
    (
        "over_provisioning",
        lambda f, _: f"Its spare area is {wording.percent(f.value)} of what the user has.",
    ),
    ("superblock_bytes", lambda f, _: f"It erases about {wording.size(f.value)} at a time."),
    (
        "slc_cache_bytes",
        lambda f, _: f"The first {wording.size(f.value)} of a burst go to an SLC cache.",
    ),
    (
        "write_buffer_bytes",
        lambda f, _: f"A buffer takes the first {wording.size(f.value)} of a burst of writes.",
    ),
    ("read_ahead", _ahead),
    ("compression", lambda f, _: "It compresses what it stores."),
    ("deduplication", lambda f, _: "It stores once what is written twice."),
    ("dies", _dies),
    ("command_queue_depth", _queue),
    ("link", lambda f, _: f"Its link carries what {f.detail['label']} does."),
    (
        "volatile_write_cache",
        lambda f, _: (
            "It confirms writes before they are durable: what was not flushed is lost "
            "with the power."
        ),
    ),
    ("power_loss_protection", lambda f, _: "What it has confirmed survives a loss of power."),
    ("trim_effect", lambda f, _: "TRIM brings back what overwriting took from its speed."),
    ("idle_recovery", lambda f, _: "So does a pause."),
)
"""What each finding says in the story, in its order."""

_FIGURES = (
    "rotation_rpm",
    "zones",
    "outer_rate",
    "inner_rate",
    "seek_stroke",
    "mapping_unit",
    "read_access_penalty",
    "read_sequential_rate",
    "extended_model",
    "write_sequential_rate",
    "over_provisioning",
    "superblock_bytes",
    "slc_cache_bytes",
    "slc_direct_rate",
    "write_buffer_bytes",
    "write_drain_rate",
    "compression_floor",
    "dies",
    "channels",
    "page_bytes",
    "command_queue_depth",
    "link",
)
"""What a person asks for first of a drive, with its interval, in the story's order."""


def tell(findings: Sequence[Finding]) -> list[Finding]:
    """The finding; none where nothing was probed."""
    measured = {f.name: f for f in findings if f.verdict == "measured"}
    unknown = [f for f in findings if f.verdict == "not identifiable"]
    odd = [f for f in findings if f.name.startswith(ODD)]
    kind, sentence = _kind(measured)
    told = [
        (name, said)
        for name, say in _SENTENCES
        if (found := measured.get(name)) and found.value and (said := say(found, measured))
    ]
    text = [sentence, *(said for _, said in told)]
    if unknown:
        asked = len(measured) - len(odd) + len(unknown)
        text.append(f"Not identifiable here: {len(unknown)} of {asked} quantities; each says why.")
    disturbed = [f for f in unknown if f.text.startswith(DISTURBED)]
    if disturbed:
        text.append(
            f"{DISTURBED} what {len(disturbed)} of them rest on: explain the drive again when "
            "nothing else uses it, nor the machine."
        )
    if odd:
        text.append(f"{wording.count(len(odd), 'thing')} did not fit.")
    return [
        Finding(
            "explanation",
            "What kind of drive this is",
            "not identifiable" if kind == "unknown" else "measured",
            " ".join(text),
            evidence=[recording for name, _ in told for recording in measured[name].evidence],
            detail={
                "kind": kind,
                "from": [name for name, _ in told],
                "figures": [name for name in _FIGURES if _holds(name, measured)],
            },
        )
    ]


def _holds(name: str, measured: _Measured) -> bool:
    """Whether there is such a thing (one zone is none), and no model behind it that fails."""
    operation, _, part = name.partition("_")
    if part in ("access_penalty", "sequential_rate") and f"misfit_{operation}" in measured:
        return False
    return name in measured and (measured[name].value or 0) > (1 if name == "zones" else 0)


def _whole(finding: Finding | None) -> int:
    assert finding is not None
    assert finding.value is not None
    return round(finding.value)


def _kind(measured: _Measured) -> tuple[str, str]:
    rotation, unit = measured.get("rotation_rpm"), measured.get("mapping_unit")
    if rotation is not None and rotation.value:
        return "disk", "This is a mechanical disk."
    logs = measured.get("log_blocks")
    if logs is not None and logs.value:
        blocks = f"blocks of {wording.size(unit.value)}" if unit and unit.value else "whole blocks"
        return "log-block", (
            f"This is a solid-state drive that maps {blocks} and collects small writes in log "
            "blocks, which it merges into them."
        )
    if unit is not None and unit.value and unit.value >= CLUSTER_MIN_BYTES:
        return "cluster-mapped", (
            f"This is a solid-state drive that maps whole clusters of {wording.size(unit.value)}, "
            "so that a small write rewrites one."
        )
    if unit is not None and unit.value:
        return "page-mapped", (
            f"This is a solid-state drive that maps {wording.size(unit.value)} at a time and "
            "collects garbage."
        )
    spare = measured.get("over_provisioning")
    if spare is not None and spare.value:
        return "page-mapped", (
            "This is a solid-state drive that collects garbage; what it maps at a time does not "
            "show."
        )
    if logs is not None and not logs.detail["rewrites"] and logs.detail["read_s"] > FLASH_READ_S:
        return "page-mapped", (
            "This is a solid-state drive that maps pages, as no small write has a block rewritten; "
            "how much it maps at a time does not show."
        )
    if "dies" in measured:
        return "solid-state", (
            "This is a solid-state drive; what it maps at a time does not show, or was not probed."
        )
    if rotation is not None:
        return "solid-state", "Nothing in this drive moves: it is flash, or memory."
    return "unknown", "The probes do not tell what kind of drive this is."
