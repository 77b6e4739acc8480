"""Finding ``explanation``: what kind of drive the probes met, in plain words.

The kind follows from the first of these that was measured: rotation (a disk), a mapping unit of at
least 256 KiB (a drive that maps clusters), a smaller one or spare area (a drive that maps pages).
The sentences are those of the findings themselves, the most telling first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fourcorners.analysis import wording
from fourcorners.analysis.finding import Finding

CLUSTER_MIN_BYTES = 256 * 2**10

_TELLING = (
    "mapping_unit",
    "extended_model",
    "over_provisioning",
    "slc_cache_bytes",
    "compression",
    "deduplication",
    "rotation_rpm",
    "dies",
    "link",
    "write_buffer_bytes",
    "power_loss_protection",
)


def tell(findings: Sequence[Finding]) -> list[Finding]:
    """The finding; none where nothing was probed."""
    measured = {f.name: f for f in findings if f.verdict == "measured"}
    unknown = [f.title for f in findings if f.verdict == "not identifiable"]
    kind, sentence = _kind(measured)
    told = [measured[name].text for name in _TELLING if (f := measured.get(name)) and f.value]
    text = [sentence, *told]
    if unknown:
        titles = wording.sentence_list([title[0].lower() + title[1:] for title in unknown])
        text.append(f"What these measurements do not tell: {titles}.")
    return [
        Finding(
            "explanation",
            "What kind of drive this is",
            "not identifiable" if kind == "unknown" else "measured",
            " ".join(text),
            evidence=[f"finding {name}" for name in _TELLING if name in measured],
            detail={"kind": kind},
        )
    ]


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
