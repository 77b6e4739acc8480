"""Findings ``heads`` and ``head_switch`` of a disk.

Where the disk uses its heads in turn on each cylinder, the reads that follow the head show both
(:mod:`tracks`). A disk that stays with a head for a whole zone shows the number of heads by how
often it sweeps over the cylinders of the zone (:mod:`sweeps`), and the switch of heads by the
angles of the sectors on two surfaces (:mod:`angles`). This assumes that each sweep is that of
another head. If heads took turns within a sweep, all their switches would have to take equally
long, as the reads that follow the head meet one kind of switches there.
"""

from __future__ import annotations

from fourcorners.analysis.internals.answer import Answer, about, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.disk import angles, sweeps, tracks
from fourcorners.analysis.internals.view import View, ids
from fourcorners.sentences import say


def heads(view: View) -> Answer:
    """Finds the number of heads."""
    in_turn = tracks.heads(view)
    swept = _swept(view, in_turn)
    if swept is None:
        return in_turn.checked(Assumption.SURFACE_BY_SURFACE, None)
    said = say("heads.swept", heads=swept.heads, reads=len(swept.ways.seconds))
    return _checked(view, known(swept.heads, said, detail=_detail(swept)))


def head_switch(view: View) -> Answer:
    """Finds the time of a switch to the next head."""
    in_turn = tracks.head_switch(view)
    swept, alike = _swept(view, in_turn), view.once(tracks.alike)
    if swept is None or alike is None:
        return in_turn.checked(Assumption.SURFACE_BY_SURFACE, None)
    layout = swept.fit.layout
    skew = None
    if layout.begin == 0 and layout.groups == 1:
        about_s = alike.switch_s, alike.error_s
        skew = angles.between_surfaces(swept.ways, layout, alike.bounds, about_s, alike.turn_s)
    if skew is None:
        return unknown(say("head_switch.no_angles", heads=swept.heads), detail=_detail(swept))
    between = (layout.end - layout.begin) / layout.sweeps / (sum(alike.bounds) / 2)
    said = say("head_switch.by_angle", tracks=round(between))
    detail = _detail(swept, angles_agree=skew.agree)
    bounds = about(skew.seconds, skew.error_s + tracks.CLOCK_S)
    return _checked(view, known(skew.seconds, said, bounds=bounds, detail=detail))


def _swept(view: View, in_turn: Answer) -> sweeps.Swept | None:
    """The sweeps of the heads, where the reads that follow the head show no heads in turn."""
    if in_turn.verdict != "not identifiable" or view.once(tracks.alike) is None:
        return None
    return view.once(sweeps.swept)


def _detail(swept: sweeps.Swept, **more: float) -> dict[str, object]:
    layout = swept.fit.layout
    goodness = {"log_likelihood_ahead": swept.ahead, **more}
    return {
        "zone_bytes": layout.end - layout.begin,
        "sweeps": layout.sweeps,
        "groups": layout.groups,
        "folded": layout.folded,
        "goodness": goodness,
    }


def _checked(view: View, answer: Answer) -> Answer:
    evidence = ids(sweeps.WITHIN(view))
    answer = answer.checked(Assumption.SURFACE_BY_SURFACE, True, evidence)
    answer = answer.checked(Assumption.FOLLOWS_TRACKS, True, ids(tracks.FOLLOWING(view)))
    return answer.checked(Assumption.HEADS_IN_TURN, None)
