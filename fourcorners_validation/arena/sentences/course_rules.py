"""Rules for sentences on a rate over time, in the consistency test and other long recordings.

The rules use the seconds themselves, with definitions of their own, and none of the thresholds or
fits of the analysis. If the drive is known, its theoretical steady state is a second check.
"""

from __future__ import annotations

import re

import numpy as np

from fourcorners import wording
from fourcorners.recording.arrays import Floats
from fourcorners_validation.arena.sentences.drive import KnownDrive
from fourcorners_validation.arena.sentences.page import Page, PageSentence
from fourcorners_validation.arena.sentences.ruling import (
    TRUE,
    UNTOLD,
    Rule,
    Ruling,
    all_of,
    close,
    require,
)

EXACT = 0.02
"""Tolerance of figures counted from the same seconds, as sentences have three digits."""

SAME_MIN = 0.65
"""A little below what the analysis calls even: a sentence at its edge is not false."""

STEADY_WITHIN = 0.15
"""Distance of a steady rate from theory's: half as much again as the contest of steady state grants
(:mod:`fourcorners_validation.arena.steady`), since theory is off by some percent, too."""

SLOPE_SEEN = 0.02
"""Change from a quarter of a series to the next from which a reader sees the rate change."""

STEP_SEEN = 0.2
"""Change of a level from which a reader sees a step, and not a slow fall."""

_LONGER_IOS_MAX = 3e6
"""Writes of the longer run that shows whether a drive slows down later: seconds of simulation."""

_ROLL_S, _LEVEL_S = 3, 30
"""Seconds whose mean one odd second does not decide, and in which a reader sees a level."""


def _rolling(iops: Floats, seconds: int) -> Floats:
    count = min(seconds, len(iops))
    return np.convolve(iops, np.ones(count) / count, mode="valid")


def _series(claim: PageSentence, page: Page) -> Floats:
    return page.iops(page.findings["consistency_write"].evidence[0])


def _last(claim: PageSentence, page: Page) -> Floats:
    first = page.findings["consistency_write"].detail["steady_from_s"]
    return _series(claim, page)[first:]


def dropped(iops: Floats) -> bool:
    """Whether the first seconds, two or more, are all a quarter faster than all that follow but a
    stray one in twenty."""
    return any(
        iops[:k].min() > 1.25 * float(np.quantile(iops[k:], 0.95)) for k in range(2, len(iops) - 3)
    )


def _cliff(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    seen, iops = page.findings["consistency_write"].detail, _series(claim, page)
    at = seen["cliff_s"]
    after = float(np.median(iops[at:]))
    return all_of(
        close(seen["fresh_iops"], float(iops[:at].mean()), EXACT, "the rate until the drop"),
        require(
            float(np.median(iops[:at])) > 1.2 * after, "the seconds after it are not a fifth slower"
        ),
    )


def _no_cliff(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    iops = _series(claim, page)
    row = page.row(page.findings["consistency_write"].evidence[0], "write")
    moved = 0.0 if row is None else float(np.sum(row.second_bytes[: len(iops)]))
    written = wording.amount(moved)
    return all_of(
        require(not dropped(iops), "all of its first seconds are faster"),
        require(f"within {written} written" in claim.text, f"{written} were written"),
    )


def _last_seconds(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    seen, last = page.findings["consistency_write"].detail, _last(claim, page)
    return all_of(
        close(seen["steady_iops"], float(last.mean()), EXACT, "the mean of the last seconds"),
        close(seen["worst_second_iops"], float(last.min()), EXACT, "the worst of them"),
    )


def _longest_stall(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    seconds = int(page.findings["consistency_write"].detail["longest_stall_s"])
    still = "0" * seconds
    course = "".join("0" if one == 0 else "1" for one in _series(claim, page))
    return require(still in course and still + "0" not in course, "no such row of empty seconds")


def _fell(claim: PageSentence, page: Page) -> Ruling:
    """The sentence's "as fast as at its fastest", where it has one."""
    said = re.search(r"then (below )?(\S+) % as fast as at its fastest", claim.text)
    iops, last = _series(claim, page), _last(claim, page)
    share = float(last.mean() / _rolling(iops, _ROLL_S).max())
    if said is None:
        return require(share > SAME_MIN, f"it ends at {share:.0%} of its fastest seconds")
    if said[1]:
        return require(share < float(said[2]) / 100, f"it ends at {share:.2%} of its fastest")
    return close(float(said[2]) / 100, share, EXACT, "the end, of the fastest seconds,")


def _the_same(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    iops = _series(claim, page)
    usual = float(np.median(iops))
    slowest, fastest = float(iops.min()), float(_rolling(iops, _ROLL_S).max())
    return all_of(
        require(slowest >= SAME_MIN * usual, f"a second has {slowest / usual:.0%} of the usual"),
        require(usual >= SAME_MIN * fastest, f"it was {fastest / usual:.3g} times as fast before"),
    )


def _even_at_the_end(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    last = _last(claim, page)
    share = float(last.min() / last.mean())
    return all_of(
        require(share >= SAME_MIN, f"its worst second has {share:.0%} of the mean"),
        _fell(claim, page) if claim.name.startswith("feels") else TRUE,
    )


def _uneven(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    last = _last(claim, page)
    return all_of(
        require(float(last.min() / last.mean()) < 0.75, "its worst second is near the mean"),
        _fell(claim, page) if claim.name.startswith("feels") else TRUE,
    )


def _restless(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    last = _last(claim, page)
    return all_of(
        require(float(last.std() / last.mean()) > 0.15, "its seconds hardly differ"),
        _fell(claim, page),
    )


def _stuck(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    return all_of(
        require(float(_last(claim, page).mean()) < 60, "it is faster"), _fell(claim, page)
    )


def _stopped(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    return require(not _last(claim, page).any(), "it still answers")


def _words_of_the_judge(text: str, iops: Floats) -> Ruling:
    """A rate that is said to change does so: from quarter to quarter, or a moment ago."""
    falling, rising = "still falling" in text, "still rising" in text
    if not (falling or rising) or len(iops) < 16:
        return UNTOLD
    sign = -1 if falling else 1
    quarters = [float(part.mean()) for part in np.array_split(iops, 4)]
    parts = [float(part.mean()) for part in np.array_split(iops, 16)]
    moves = (
        max(sign * (quarters[3] / max(before, 1e-9) - 1) for before in quarters[1:3]) > SLOPE_SEEN
        or sign * (parts[15] / max(parts[14], 1e-9) - 1) > SLOPE_SEEN
    )
    return require(moves, "its quarters, and its last sixteenths, do not differ in that way")


def _not_steady(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    cliff = page.findings["consistency_write"].detail["cliff_s"]
    return _words_of_the_judge(claim.text, _series(claim, page)[cliff or 0 :])


def steady_rate(value: float, drive: KnownDrive | None) -> Ruling:
    """A rate that is said to be the steady state's."""
    true = None if drive is None else drive.steady_iops
    return UNTOLD if true is None else close(value, true, STEADY_WITHIN, "the steady rate")


def _steady(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    value = claim.numbers["value"]
    return all_of(_last_seconds(claim, page, drive), steady_rate(value, drive))


def _fresh_and_last(claim: PageSentence, page: Page) -> tuple[float, float]:
    seen, iops = page.findings["consistency_write"].detail, _series(claim, page)
    return float(iops[: seen["cliff_s"]].mean()), float(iops[seen["cliff_s"] :].mean())


def drop(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """The cliffs that a sentence describes by the drop: "from A a second to B, the mean of"."""
    seen, iops = page.findings["consistency_write"].detail, _series(claim, page)
    fresh, after = _fresh_and_last(claim, page)
    said = re.search(
        r" a second to (\S+), the mean of (?:all later|the last ([\d,]+)) second", claim.text
    )
    if said is None:
        return Ruling(False, "it does not say of what the second number is the mean")
    last = 0 if said[2] is None else int(said[2].replace(",", ""))
    mean = float(iops[-last:].mean()) if last else after
    settled = float(said[1].replace(",", ""))
    return all_of(
        close(seen["fresh_iops"], fresh, EXACT, "the rate until the drop"),
        close(settled, mean, EXACT, "the mean of those seconds"),
        require(max(settled, after) * 1.2 < fresh, "what follows is not a fifth slower"),
    )


def _sustained_fall(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    fresh, after = _fresh_and_last(claim, page)
    last = float(_last(claim, page).mean())
    share = claim.numbers["value"]
    return require(
        min(after, last) / fresh - 0.05 <= share <= max(after, last) / fresh + 0.05,
        f"it ends at {last / fresh:.0%} of the rate until the drop",
    )


def _no_slowing_down(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    iops = _series(claim, page)
    seconds = min(2.0 * len(iops), _LONGER_IOS_MAX / max(float(iops.mean()), 1.0))
    longer = iops if drive is None else drive.longer(seconds)
    after = float(np.median((longer if len(longer) > len(iops) else iops)[-10:]))
    first = float(np.median(iops[:10]))
    return require(after > 0.75 * first, f"it falls from {first:.4g} to {after:.4g} a second")


def _kept(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    for one in page.findings[claim.place].detail["recordings"]:
        if not one.get("kept", not one["left"]):
            continue
        later = claim.text.startswith(("From second", "Once level"))
        since = (one.get("steady_from_s") or 0) if later else 0
        means = _rolling(page.iops(one["recording"])[since:], _LEVEL_S)
        usual = float(np.median(means))
        if means.min() < 0.85 * usual or means.max() > 1.15 * usual:
            return Ruling(
                False,
                f"half a minute of {one['recording']} has {means.min():.4g}, another "
                f"{means.max():.4g} a second",
            )
    return TRUE


def _left(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    rulings = [TRUE]
    for one in page.findings[claim.place].detail["recordings"]:
        iops = page.iops(one["recording"])
        for end in one["left"][:3]:
            after = iops[end["noticed_second"] + 1 :][:_LEVEL_S]
            change = float(after.mean()) / end["iops"] - 1 if len(after) else end["change"]
            rulings.append(require(abs(change - end["change"]) < 0.03, "another change is seen"))
        if one["recording"] in claim.evidence and one["judge"] in claim.text:
            steps = [end for end in one["left"] if abs(end["change"]) > STEP_SEEN]
            # After a step, only what follows it counts; a small change is part of a slow fall.
            since = steps[-1]["noticed_second"] if steps else 0
            rulings.append(_words_of_the_judge(one["judge"], iops[since:]))
    return all_of(*rulings)


def _no_level(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    for one in page.findings[claim.place].detail["recordings"]:
        if not one["left"] and not one["kept"]:
            means = _rolling(page.iops(one["recording"]), _ROLL_S)
            if means.min() > 0.95 * means.max():
                return Ruling(False, f"{one['recording']} is level all along")
            if (words := _words_of_the_judge(one["judge"], page.iops(one["recording"]))).why:
                return words
    return TRUE


def _counted(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """A row of the sheet that the last seconds of the consistency test have."""
    last, value = _last(claim, page), claim.numbers["value"]
    match claim.name:
        case "sheet_worst_second":
            return close(value, float(last.min()), EXACT, "the worst second")
        case "sheet_below_half_median":
            true = float(np.mean(last < np.median(last) / 2))
            return require(abs(value - true) < 0.01, f"the share is {true:.3g}")
        case "sheet_variation":
            return close(value, float(last.std() / last.mean()), EXACT, "deviation over mean")
        case "sheet_longest_stall":
            return _longest_stall(claim, page, drive) if value else TRUE
        case _:
            return _last_seconds(claim, page, drive)


COURSE_RULES: dict[str, Rule] = {
    "cliff": _cliff,
    "no_cliff": _no_cliff,
    "last_seconds": _last_seconds,
    "longest_stall": _longest_stall,
    "not_steady": _not_steady,
    "feels_stopped": _stopped,
    "feels_stuck": _stuck,
    "feels_restless": _restless,
    "feels_the_same": _the_same,
    "feels_even_at_the_end": _even_at_the_end,
    "feels_even_but_for_dips": _uneven,
    "feels_uneven": _uneven,
    "even_at_the_end": _even_at_the_end,
    "uneven_at_the_end": _uneven,
    "avoid_waiting": _uneven,
    "sustained_writes_fall": _sustained_fall,
    "avoid_long_writes": _sustained_fall,
    "sustained_writes_last": _sustained_fall,
    "no_slowing_down": _no_slowing_down,
    "kept": _kept,
    "left": _left,
    "no_level": _no_level,
    "no_level_more": _no_level,
    "sheet_random_write_steady": _steady,
    "sheet_random_write_last": _counted,
    "sheet_worst_second": _counted,
    "sheet_below_half_median": _counted,
    "sheet_variation": _counted,
    "sheet_longest_stall": _counted,
}
