"""Finding ``explanation``: what kind of drive the probes met, in plain words.

The kind follows from the first of these that was measured: rotation (a disk), a mapping unit of at
least 256 KiB (a drive that maps clusters), a smaller one or spare area (a drive that maps pages).
Each finding adds a sentence, the most telling first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fourcorners import wording
from fourcorners.analysis.finding import Finding

CLUSTER_MIN_BYTES = 256 * 2**10

_Say = Callable[[Finding], str]

_SENTENCES: tuple[tuple[str, _Say], ...] = (
    ("mapping_unit", lambda f: f"It maps {wording.size(_value(f))} at a time."),
    ("extended_model", lambda f: f.text),
    (
        "over_provisioning",
        lambda f: f"Its spare area is {wording.percent(_value(f))} of what the user has.",
    ),
    (
        "superblock_bytes",
        lambda f: f"It erases about {wording.size(_value(f))} at a time.",
    ),
    (
        "slc_cache_bytes",
        lambda f: f"The first {wording.amount(_value(f))} of a burst go to an SLC cache.",
    ),
    (
        "write_buffer_bytes",
        lambda f: f"A buffer takes the first {wording.size(_value(f))} of a burst.",
    ),
    ("compression", lambda f: "It compresses what it stores."),
    ("deduplication", lambda f: "It stores once what is written twice."),
    ("dies", lambda f: f"{wording.count(round(_value(f)), 'die')} work at the same time."),
    (
        "command_queue_depth",
        lambda f: f"It accepts {wording.count(round(_value(f)), 'command')} at once.",
    ),
    ("rotation_rpm", lambda f: f"It turns {wording.number(_value(f))} times a minute."),
    ("zones", lambda f: f.text if _value(f) > 1 else ""),
    ("power_loss_protection", lambda f: "What it has confirmed survives a loss of power."),
    ("link", lambda f: f"The link is {f.detail['label']}." if "label" in f.detail else ""),
)
"""What each finding says in the story, the most telling first."""


def tell(findings: Sequence[Finding]) -> list[Finding]:
    """The finding; none where nothing was probed."""
    measured = {f.name: f for f in findings if f.verdict == "measured"}
    unknown = [f for f in findings if f.verdict == "not identifiable"]
    kind, sentence = _kind(measured)
    told = [
        (name, say(found))
        for name, say in _SENTENCES
        if (found := measured.get(name)) and found.value
    ]
    text = [sentence, *(said for _, said in told if said)]
    if unknown:
        text.append(
            f"Not identifiable here: {len(unknown)} of {len(measured) + len(unknown)} quantities; "
            "each says why."
        )
    return [
        Finding(
            "explanation",
            "What kind of drive this is",
            "not identifiable" if kind == "unknown" else "measured",
            " ".join(text),
            evidence=[recording for name, _ in told for recording in measured[name].evidence],
            detail={"kind": kind, "from": [name for name, _ in told]},
        )
    ]


def _value(finding: Finding) -> float:
    assert finding.value is not None
    return finding.value


def _kind(measured: Mapping[str, Finding]) -> tuple[str, str]:
    rotation, unit = measured.get("rotation_rpm"), measured.get("mapping_unit")
    if rotation is not None and rotation.value:
        return "disk", "This is a mechanical disk."
    if unit is not None and unit.value and unit.value >= CLUSTER_MIN_BYTES:
        return "cluster-mapped", (
            "This is a solid-state drive that maps whole clusters, so that a small write rewrites "
            "one."
        )
    spare = measured.get("over_provisioning")
    if (unit is not None and unit.value) or (spare is not None and spare.value):
        return "page-mapped", (
            "This is a solid-state drive that maps small units and collects garbage."
        )
    return "unknown", "The probes do not tell what kind of drive this is."
