"""The judgement of benches/serve_fidelity.py, on made-up measurements."""

import pytest
from served_agreement import Cell, Latency, latency, middle

FLOOR = Latency(30e-6, 90e-6, 10_000)
VIRTUAL = Latency(200e-6, 200e-6, 10_000, p99_range_s=(200e-6, 200e-6))
WAITS = Latency(230e-6, 280e-6, 10_000)


def cell(
    served: Latency,
    virtual: Latency = VIRTUAL,
    waits: Latency = WAITS,
    *,
    late: bool = False,
) -> Cell:
    return Cell(served, virtual, FLOOR, waits, virtual.mean_s, 0.0, session_was_late=late)


@pytest.mark.parametrize(
    ("mean_us", "p99_us", "verdict"),
    [
        (239, 299, "agrees"),
        (161, 101, "agrees"),
        (241, 299, "**differs**"),
        (239, 301, "**differs**"),
        (159, 200, "**differs**"),
    ],
)
def test_a_cell_agrees_within_five_percent_and_the_floor(
    mean_us: float, p99_us: float, verdict: str
) -> None:
    assert cell(Latency(mean_us * 1e-6, p99_us * 1e-6, 10_000)).verdict == verdict


def test_the_machine_is_blamed_where_a_server_that_waits_does_not_agree_with_itself() -> None:
    far = Latency(500e-6, 900e-6, 10_000)
    assert cell(far).verdict == "**differs**"
    assert cell(far, late=True).verdict == "host"
    assert cell(far, waits=Latency(230e-6, 400e-6, 10_000)).verdict == "host"
    assert cell(far, waits=Latency(250e-6, 280e-6, 10_000)).verdict == "host"
    # Also where the drive happens to agree: such a cell shows nothing.
    near = Latency(210e-6, 210e-6, 10_000)
    assert cell(near, waits=Latency(250e-6, 280e-6, 10_000)).verdict == "host"


def test_few_ios_are_told_from_a_difference() -> None:
    seeks = Latency(10e-3, 20e-3, 100, p99_range_s=(18e-3, 25e-3))
    waits = Latency(10.03e-3, 10.1e-3, 100)
    near = Latency(11e-3, 25e-3, 100, deviation_s=5e-3)
    assert cell(near, seeks, waits).verdict == "few I/Os"
    far = Latency(13e-3, 25e-3, 100, deviation_s=5e-3)
    assert cell(far, seeks, waits).verdict == "**differs**"


def test_a_latency_is_that_of_all_and_a_stall_of_one_measurement_does_not_count() -> None:
    one = latency([1.0] * 98 + [2.0, 3.0])
    assert (one.mean_s, one.p99_s, one.ios) == (1.03, 3.0, 100)
    assert middle([one, Latency(1.0, 1.0, 10), Latency(9.0, 9.0, 10)]).p99_s == 3.0
