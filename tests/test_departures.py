"""Levels that are left while a drive is measured: said at once, by looks at the counters."""

import dataclasses

import numpy as np
import pytest

import fourcorners as fc
from fourcorners.running.departures import Departures
from fourcorners.suites.test import Measurement
from fourcorners.workload import Workload

CAPACITY = 10 * 10**9


def _measurement(seconds: float = 600, **stream: object) -> Measurement:
    hammering = fc.Stream.write("random", 4096, queue_depth_per_worker=32)
    access = dataclasses.replace(hammering, **stream)  # type: ignore[arg-type]
    return Measurement("soak/one", "writes", Workload([access], duration_s=seconds))


def _departures(measurement: Measurement) -> Departures | None:
    return Departures.of(measurement, capacity_bytes=CAPACITY, purged=True, written_bytes=CAPACITY)


@pytest.mark.parametrize("apart_s", [0.73, 7.0])
def test_a_fall_is_said_soon_after_it_happens_and_once(apart_s: float) -> None:
    departures = _departures(_measurement())
    assert departures is not None
    chance, ios, said = np.random.default_rng(1), 0.0, []
    for look in range(1, int(300 / apart_s)):
        now = look * apart_s
        ios += apart_s * (20_000 if now < 120 else 9_000) * chance.normal(1, 0.02)
        said += [(now, text) for text in departures.look(now, round(ios), round(ios) * 4096)]
    [(when, text)] = said
    assert 120 <= when < 140
    assert "left the level of its start" in text
    assert "it fell by" in text


def test_a_level_that_is_kept_is_not_talked_about() -> None:
    departures = _departures(_measurement())
    assert departures is not None
    chance, ios = np.random.default_rng(2), 0.0
    for look in range(1, 600):
        ios += 20_000 * chance.normal(1, 0.03)
        assert departures.look(float(look), round(ios), round(ios) * 4096) == []


def test_short_measurements_rounds_and_given_rates_are_not_followed() -> None:
    assert _departures(_measurement(30)) is None
    assert _departures(_measurement(arrival=fc.fixed_rate(100))) is None
    whole = _measurement()
    assert _departures(dataclasses.replace(whole, axes={"round": 3})) is None
