"""Findings of the test of recovery: what pauses and TRIM give back to a hammered drive, and how
fast."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import Array, Measured, RunData, measured

HAMMERED_MAX = 0.9
"""Share of the fresh drive's rate above which a drive counts as not slowed by hammering."""

FRESH_S, HAMMERED_S = 10, 60
"""What of the hammering is the fresh drive's rate, its first seconds, and the hammered one's, its
last."""

BACK_SHARE = 0.5
"""Of the fresh drive's rate: from here on a drive is back."""


def find(run: RunData) -> list[Finding]:
    """The rate after a pause or TRIM over that of the hammered drive just before it, where the
    hammering had slowed it; and after how long a pause it is back."""
    fresh = before = None
    pauses: dict[float, tuple[float, Measured]] = {}
    findings = []
    for one in measured(run, "recovery", "write"):
        variant = str(one.point.get("variant"))
        rates = _whole_seconds(run, one)
        if variant == "hammered":
            before, reference = one, float(rates[-HAMMERED_S:].mean()) if len(rates) else one.iops
            if "/hammer" in one.recording:
                fresh = float(rates[:FRESH_S].mean()) if len(rates) else one.iops
            continue
        if before is None or fresh is None:
            continue
        slowed = reference <= HAMMERED_MAX * fresh
        idle_s = one.point.get("idle_s")
        if slowed and idle_s is not None:
            pauses[float(idle_s)] = (one.iops / fresh, one)
        gain = one.iops / reference if reference and slowed else None
        said = f"{variant[0].upper()}{variant[1:]}: {wording.number(one.iops)} IOPS"
        if gain is not None:
            said += f", {wording.times(gain)} the hammered drive's {wording.number(reference)}."
        elif slowed:
            said += "; hammered, the drive stalls."
        else:
            said += (
                f"; the hammering had not slowed the drive ({wording.number(reference)} IOPS at "
                f"its end, {wording.number(fresh)} fresh), so that there is nothing to come back "
                "from. Hammer it longer if that was not the drive's own doing (hammer)."
            )
        findings.append(
            Finding(
                name=f"recovery_{one.recording.partition('/')[2]}",
                title=f"Recovery {variant}",
                verdict="measured" if gain is not None else "not identifiable",
                text=said,
                value=gain,
                unit="1",
                evidence=[before.recording, one.recording],
            )
        )
    return [*findings, *_time(pauses)]


def _time(pauses: Mapping[float, tuple[float, Measured]]) -> list[Finding]:
    """The shortest pause after which the next minute reaches half of the fresh drive's rate."""
    if not pauses:
        return []
    back = [idle_s for idle_s, (share, _) in sorted(pauses.items()) if share >= BACK_SHARE]
    best_s, (best, _) = max(pauses.items(), key=lambda item: item[1][0])
    half = wording.percent(BACK_SHARE)
    text = (
        f"A pause of {back[0]:g} s brings the drive back to {half} of its fresh rate or more."
        if back
        else f"No pause up to {max(pauses):g} s brings the drive back to {half} of its fresh rate: "
        f"the most is {wording.percent(best)}, after {best_s:g} s."
    )
    return [
        Finding(
            name="recovery_time",
            title="How fast the drive comes back",
            verdict="measured",
            text=text,
            value=back[0] if back else None,
            unit="s",
            evidence=[one.recording for _, one in pauses.values()],
            detail={
                "idle_s": list(pauses),
                "share_of_fresh": [share for share, _ in pauses.values()],
            },
        )
    ]


def _whole_seconds(run: RunData, one: Measured) -> Array:
    """IOPS of the whole seconds of a recording, shape (seconds,)."""
    series = run.series(one.recording, one.operation)["ios"]
    return np.asarray(series, dtype=np.float64)[: int(one.number("elapsed_s") or 0)]
