"""An explanation as a person reads it in a terminal."""

from typing import Any

import pytest
from rich.console import Console

from fourcorners.finding import PRESENCE, RESOLUTION, Finding
from fourcorners.reporting.explanation import render_explanation


def _text(*findings: Finding) -> str:
    console = Console(width=80)
    with console.capture() as capture:
        console.print(render_explanation("X", findings, []))
    return capture.get()


@pytest.mark.parametrize(
    ("value", "unit", "detail", "text"),
    [
        (1.0, PRESENCE, {}, "yes"),
        (0.0, PRESENCE, {}, "no"),
        (0.0, "B", {}, "none"),
        (20.0, "1", {"discrete": True}, "20"),
        (0.0455, "of user area", {}, "4.55 % of user area"),
        (3e8, "B/s", {"label": "SATA 3 Gb/s"}, "SATA 3 Gb/s"),
    ],
)
def test_a_value_is_told_as_people_say_it(
    value: float, unit: str, detail: dict[str, Any], text: str
) -> None:
    finding = Finding("x", "X", "measured", "", value=value, unit=unit, detail=detail)
    assert finding.shown_value == text


def test_a_resolution_is_told_from_an_interval_of_chance() -> None:
    found = Finding("x", "X", "measured", "", value=2.0, unit="s", interval=(2.0, 3.0))
    assert found.shown_interval == "2.00 to 3.00 s"
    bounds = Finding(
        "x", "X", "measured", "", 2.0, "s", (2.0, 3.0), detail={"interval": RESOLUTION}
    )
    assert bounds.shown_interval == "2.00 to 3.00 s, bounds"


def test_each_says_what_it_rests_on_and_what_is_no_question_stands_apart() -> None:
    text = _text(
        Finding("a", "A", "measured", "it is", 1.0, PRESENCE, evidence=("probe-a/1", "probe-a/2")),
        Finding("b", "B", "not identifiable", "too noisy", evidence=("probe-b/1",)),
        Finding("c", "C", "not applicable", "a disk", evidence=("probe-b/2",)),
        Finding("drift_probe-b", "Drift", "measured", "it changed", 1.0),
    )
    assert "A (probe-a: 2 recordings)" in text
    order = ["Not identifiable", "too noisy", "No question of this drive", "a disk"]
    order += ["What does not fit", "it changed"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_what_may_mislead_comes_before_what_is_said_of_the_drive() -> None:
    text = _text(
        Finding("a", "A", "measured", "it is", 1.0, PRESENCE),
        Finding(
            "artefact_page_cache",
            "Page cache in the way",
            "measured",
            "Reads came out of memory.",
            detail={"severity": "severe"},
        ),
    )
    assert "Page cache in the way (severe): Reads came out of memory." in text
    assert text.index("What may mislead") < text.index("it is")
