"""Access penalty and rate over all sizes follow a disk's own."""

from pathlib import Path

import numpy as np
import pytest
from analysis_fixture import FakeRun

import fourcorners as fc
from fourcorners.analysis import internals


@pytest.mark.parametrize(("rpm", "access_ms"), [(7200, 0.25), (10_000, 1.25)])
def test_the_penalty_follows_the_drives(rpm: int, access_ms: float, tmp_path: Path) -> None:
    settings = {
        "geometry.rotation_rpm": str(rpm),
        "controller.access_overhead": f"{access_ms} ms",
    }
    with fc.open_target("sim:wd6400aaks", settings=settings) as target:
        run = fc.run("probe-sizes", target, out=tmp_path)
    found = {finding.name: finding for finding in run.findings}
    # Half a turn, host and command overheads, and the seek: 1.2 ms and a mean root of 0.52 of
    # 13.63 ms, places being drawn by bytes.
    penalty = 30 / rpm + (access_ms + 0.05 + 1.2 + 0.52 * 13.63) * 1e-3
    assert found["read_access_penalty"].value == pytest.approx(penalty, rel=0.03)
    assert found["read_sequential_rate"].value == pytest.approx(85.2 * 2**20, rel=0.05)


def _probed(seconds: np.ndarray) -> FakeRun:
    run = FakeRun()
    for step, each_s in enumerate(seconds):
        size = 512 << step
        run.add(f"probe-sizes/read/{size}", "read", iops=1 / float(each_s), block_bytes=size)
    return run


def test_an_odd_size_does_not_bend_the_model_and_is_told() -> None:
    sizes = 512.0 * 2 ** np.arange(16)
    seconds = 1e-4 + sizes / 200e6
    seconds[9] *= 1.5
    _, penalty, rate, odd = internals.find(_probed(seconds))
    assert penalty.value == pytest.approx(1e-4, rel=0.01)
    assert rate.value == pytest.approx(200e6, rel=0.01)
    assert penalty.said is not None
    assert penalty.said.code == "access_penalty.fails"
    assert odd.name == "misfit_read"
    assert odd.said is not None
    assert odd.said.parameters["worst"] == 256 * 2**10
    assert odd.value == pytest.approx(1 / 3, rel=0.02)


def test_the_interval_has_what_the_ends_say_where_the_model_fails() -> None:
    # A volume paces requests by their bytes: a small one waits for the network alone.
    sizes = 512.0 * 2 ** np.arange(16)
    _, penalty, rate, *_ = internals.find(_probed(np.maximum(2.5e-3, sizes / 125e6)))
    assert penalty.interval is not None
    assert rate.interval is not None
    assert penalty.interval[0] <= 2.5e-3 <= penalty.interval[1]
    assert rate.interval[0] <= 125e6 <= rate.interval[1]


def test_intervals_hold_what_single_sizes_scatter_about() -> None:
    chance = np.random.default_rng(5)
    sizes = 512.0 * 2 ** np.arange(16)
    held = []
    for _ in range(150):
        # A disk's: half a turn and seeks, rates by place, few large requests.
        ios = np.where(sizes < 2**20, 200, 24)
        times = [
            chance.uniform(8e-3, 16e-3, count) + size / chance.uniform(60e6, 120e6, count)
            for size, count in zip(sizes, ios, strict=True)
        ]
        run = _probed(np.array([each.mean() for each in times]))
        for size, each in zip(sizes, times, strict=True):
            nanoseconds = (each * 1e9).astype(np.int64)
            key = (f"probe-sizes/read/{size:.0f}", "read")
            run.histograms[key] = (nanoseconds, nanoseconds, np.ones_like(nanoseconds))
        _, penalty, rate, *_ = internals.find(run)
        per_byte_s = np.log(2) / 60e6
        assert penalty.interval is not None
        assert rate.interval is not None
        held += [
            penalty.interval[0] <= 12e-3 <= penalty.interval[1],
            rate.interval[0] <= 1 / per_byte_s <= rate.interval[1],
        ]
    assert 0.85 <= np.mean(held) <= 0.95


def test_few_sizes_are_no_model() -> None:
    found = internals.find(_probed(np.array([1e-4, 1.1e-4])))
    assert {finding.verdict for finding in found} == {"not identifiable"}
