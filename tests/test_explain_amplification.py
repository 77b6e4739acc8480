"""The spare area by amplification: which drives do not show it, and why."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.caches import write_buffer
from fourcorners.analysis.internals.collection import relocation_cost, spare_area
from fourcorners.analysis.internals.collection.cliff import cliff_of
from fourcorners.analysis.internals.collection.spare_area import counted
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say


@pytest.mark.parametrize(
    ("fresh", "first", "through", "said"),
    [
        # 4 KiB in pages of 16 KiB.
        (0.25, 1.0, True, "other_pace"),
        (1.0, 1.0, True, "through"),
        (1.0, 1.0, False, "not_flash"),
    ],
)
def test_what_limits_writes_is_not_told_from_their_pace_alone(
    fresh: float, first: float, through: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates over that at the end of the fill: of random writes, and of its first bytes."""
    cliff = SimpleNamespace(fresh_s=1.0)
    curve = SimpleNamespace(
        count_bytes=[0.0, 1e9], rate=lambda begin, _: 1e8 * (first if begin < 1e8 else 1.0)
    )
    replaced: dict[str, Any] = {
        "parts": lambda _: [(1e8 * fresh, 1.0)],
        "completion_curve": lambda *_: curve,
        "OVERWRITE": lambda _: [],
        "FILL": lambda _: [None],
        "filled_bytes": lambda _: 1e9,
    }
    for name, value in replaced.items():
        monkeypatch.setattr(spare_area, name, value)
    monkeypatch.setattr(write_buffer, "writes_through", lambda _: through)
    view = SimpleNamespace(run=None, once=lambda ask: cliff if ask is cliff_of else None)
    found = spare_area.by_amplification(cast(View, view))
    assert found.said is not None
    assert found.said.code == said


def test_an_amplification_beside_the_cliff_reaches_to_it() -> None:
    said = say("any.value")
    by_pace = known(0.12, said, interval=(0.106, 0.135))
    near = counted(by_pace, known(0.1, said, interval=(0.098, 0.102)), [])
    assert near.interval == (0.098, 0.135)
    far = counted(by_pace, known(0.155, said, interval=(0.13, 0.18)), [])
    assert far.value is None


@pytest.mark.parametrize(
    ("read_s", "waited_s", "round_s", "said"),
    [
        (1e-4, 1e-3, 1e-3, None),
        (1e-4, 1e-3, 2e-4, "op_by_amplification.no_rounds"),
        # A cache answers.
        (2e-5, 1e-3, 1e-3, "op_by_amplification.no_waits"),
        (1e-4, 1e-4, 1e-3, "op_by_amplification.no_waits"),
    ],
)
def test_what_hides_the_cost_of_relocating_is_told(
    read_s: float,
    waited_s: float,
    round_s: float,
    said: str | None,
) -> None:
    """Half of the reads during writes wait for a program."""
    beside = SimpleNamespace(seconds=np.repeat([read_s, waited_s], 500))
    view = SimpleNamespace(once=lambda _: beside, value=lambda _: None)
    cost = relocation_cost.cost_of_moving(cast(View, view), round_s, round_s)
    if said is None:
        assert isinstance(cost, float)
        assert 1 < cost < 1.5
    else:
        assert isinstance(cost, Said)
        assert cost.code == said


def test_where_a_cache_answers_reads_other_probes_show_the_cost_of_relocating() -> None:
    """From reads during writes the cost is the same, but for the time that a command takes."""
    times = {"page_read_time": 8e-5, "program_time": 1e-3}

    def cost(seconds: Floats, round_s: float) -> float | Said:
        beside = SimpleNamespace(seconds=seconds)
        view = SimpleNamespace(once=lambda _: beside, value=times.get)
        return relocation_cost.cost_of_moving(cast(View, view), round_s, round_s)

    waiting, kept = np.repeat([8e-5, 1.08e-3], 500), np.full(500, 2e-5)
    assert cost(waiting, 1e-3) == pytest.approx(1.1)
    assert cost(kept, 1e-3) == pytest.approx(1.1)
    # Something before the dies delivers rows one by one.
    hidden = cost(kept, 2e-4)
    assert isinstance(hidden, Said)
    assert hidden.code == "op_by_amplification.no_rounds"
