"""Recordings: percentiles from buckets, and agreement of their parts with each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourcorners as fc
from fourcorners.recording import Histogram, InMemory, OperationRecording
from fourcorners.target.simulated import SimulatedTarget


def _of(latencies_ns: list[int]) -> OperationRecording:
    """Latencies in buckets of 0.1 %, as the core keeps them."""
    values = np.sort(np.array(latencies_ns, dtype=np.int64))
    width = np.maximum(values >> 10, 1)
    low, counts = np.unique(values - values % width, return_counts=True)
    return OperationRecording(
        ios=len(values),
        bytes=0,
        errors={},
        elapsed_s=1.0,
        latency_min_s=values[0] * 1e-9,
        latency_mean_s=float(values.mean()) * 1e-9,
        latency_max_s=values[-1] * 1e-9,
        arrays=InMemory(Histogram(low, low + (low >> 10), counts.astype(np.int64))),
    )


@settings(deadline=None)
@given(st.lists(st.integers(1_000, 10**10), min_size=1, max_size=60), st.floats(0, 100))
def test_percentiles_split_the_latencies(latencies_ns: list[int], percent: float) -> None:
    value = _of(latencies_ns).latency_percentile_s(percent)
    assert value is not None
    value_ns = value * 1e9
    slack = value_ns * 0.0021 + 1
    at_or_below = sum(latency <= value_ns + slack for latency in latencies_ns)
    below = sum(latency < value_ns - slack for latency in latencies_ns)
    assert at_or_below >= math.floor(percent / 100 * len(latencies_ns))
    assert below <= math.ceil(percent / 100 * len(latencies_ns))
    assert min(latencies_ns) * 0.999 <= value_ns <= max(latencies_ns) * 1.001


def test_percentiles_outside_0_to_100_are_refused() -> None:
    with pytest.raises(ValueError, match="use 0 to 100"):
        _of([1000]).latency_percentile_s(101)


def test_parts_agree_with_the_whole() -> None:
    with fc.open_target("sim:ocz-core-64gb") as drive:
        stream = fc.Stream.read("random", 4096, queue_depth_per_worker=4)
        recording = drive.run(fc.Workload([stream], duration_s=3))
    reads = recording.read
    assert list(recording.operations) == ["read"]
    assert reads.bytes == reads.ios * 4096
    assert reads.second_ios.sum() == reads.ios
    assert reads.histogram.count.sum() == reads.ios
    assert reads.latency_mean_s is not None
    # Little's law, with the queue depth summed where I/Os are issued.
    assert reads.iops * reads.latency_mean_s == pytest.approx(recording.mean_queue_depth, rel=1e-6)
    assert recording.cpu_user_s is None


def test_energy_is_recorded_where_the_drive_file_gives_powers() -> None:
    workload = fc.Workload([fc.Stream.read("random", 4096, queue_depth_per_worker=4)], duration_s=1)
    with fc.open_target("sim:class-tlc-nvme-consumer-1tb") as drive:
        assert isinstance(drive, SimulatedTarget)
        before_j = drive.counters()["energy_j"]
        recording = drive.run(workload)
        assert recording.energy_j == pytest.approx(drive.counters()["energy_j"] - before_j)
        watts = (recording.energy_j or 0.0) / recording.elapsed_s
        assert recording.mean_power_w == pytest.approx(watts)
    with fc.open_target("sim:ocz-vector-256gb") as drive:
        recording = drive.run(workload)
        assert recording.energy_j is None
        assert recording.mean_power_w is None


def test_write_amplification_is_what_the_drive_counts() -> None:
    with fc.open_target("sim:intel-x25-v-40gb") as drive:
        assert isinstance(drive, SimulatedTarget)
        drive.enter_steady_state()
        before = drive.counters()
        stream = fc.Stream.write("random", 4096, queue_depth_per_worker=8)
        recording = drive.run(fc.Workload([stream], duration_s=5))
        after = drive.counters()
        programmed = after["bytes_programmed"] - before["bytes_programmed"]
        assert recording.flash_programmed_bytes == programmed
        assert recording.write_amplification == programmed / recording.write.bytes
        # A drive in the steady state moves valid pages for each that the host writes.
        assert recording.write_amplification > 1.5
        reads = drive.run(fc.Workload([fc.Stream.read("random", 4096)], duration_s=1))
        assert reads.write_amplification is None
    with fc.open_target("sim:wd6400aaks") as drive:
        assert drive.run(fc.Workload([stream], duration_s=1)).flash_programmed_bytes is None


def test_a_seed_repeats_a_run_exactly() -> None:
    def run(seed: int) -> list[int]:
        with fc.open_target("sim:wd6400aaks", seed=seed) as drive:
            stream = fc.Stream.read("random", 4096)
            counts: list[int] = drive.run(
                fc.Workload([stream], ios=50, seed=seed)
            ).read.histogram.low_ns.tolist()
            return counts

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_plot_draws_what_was_recorded() -> None:
    pytest.importorskip("matplotlib")
    with fc.open_target("sim:ocz-core-64gb") as drive:
        figure = fc.plot(drive.run(fc.Workload([fc.Stream.read("random", 4096)], duration_s=2)))
    by_second, by_latency, *over_time = figure.axes
    assert by_second.get_ylabel() == "IOPS"
    assert by_latency.get_xlabel() == "latency (ms)"
    assert over_time[0].get_ylabel() == "read latency (ms)"


def test_flushes_are_an_operation_of_their_own() -> None:
    stream = fc.Stream.write("random", 4096, span_bytes=10**9, flush_every_writes=4)
    with fc.open_target("sim:ocz-vector-256gb") as drive:
        recording = drive.run(fc.Workload([stream], ios=400))
        assert (recording.write.ios, recording.flush.ios, recording.flush.bytes) == (400, 100, 0)
        assert recording.iops == recording.write.iops
        # A flush waits for a program of 1.3 ms; a write for none.
        assert (recording.flush.latency_min_s or 0) > 0.0013 > (recording.write.latency_max_s or 1)
        depth = sum(o.ios * (o.latency_mean_s or 0) for o in recording.operations.values())
        assert depth / recording.elapsed_s == pytest.approx(1, rel=1e-6)


def test_what_a_power_cut_takes_depends_on_flushes_and_capacitors() -> None:
    written = fc.Workload([fc.Stream.write("sequential", 4096)], ios=15)
    flushed = fc.Workload([fc.Stream.write("sequential", 4096, flush_every_writes=15)], ios=15)
    protected = {"write_buffer.power_loss_protection": "true"}
    for changed, workload, lost in [
        ({}, written, [(0, 15 * 4096)]),
        ({}, flushed, []),
        (protected, written, []),
    ]:
        with fc.open_target("sim:ocz-vector-256gb", settings=changed) as drive:
            assert isinstance(drive, SimulatedTarget)
            drive.run(workload)
            assert drive.power_cut() == lost
    with fc.open_target("sim:ocz-core-64gb") as drive:
        assert isinstance(drive, SimulatedTarget)
        drive.run(written)
        # What waits for the rest of its row.
        offset, length = drive.power_cut()[-1]
        assert offset + length == 15 * 4096


def test_open_loop_tells_queue_from_service_and_offers_its_rate() -> None:
    with fc.open_target("sim:wd6400aaks") as drive:
        stream = fc.Stream.read(
            "random", 4096, queue_depth_per_worker=1, arrival=fc.poisson_rate(40), workers=1
        )
        recording = drive.run(fc.Workload([stream], duration_s=50))
    reads, offered = recording.read, recording.offered
    assert offered is not None
    assert offered.unissued == 0
    assert offered.iops == pytest.approx(40, rel=1e-3)
    assert offered.iops * recording.elapsed_s == pytest.approx(reads.ios, rel=1e-3)
    means = {name: part.mean_s or 0.0 for name, part in reads.stages.items()}
    assert means["lateness"] == 0
    assert means["queue"] + means["service"] == pytest.approx(reads.latency_mean_s)
    # One disk arm at more than a third of its rate: some requests wait, and the law of Little holds
    # for those that it serves.
    assert means["queue"] > 0.05 * means["service"]
    assert recording.mean_queue_depth == pytest.approx(reads.iops * means["service"], rel=1e-6)
    median_s, worst_s = reads.stages["service"].percentile_s(50), reads.latency_percentile_s(99)
    assert median_s is not None
    assert worst_s is not None
    assert median_s < worst_s


def test_a_burst_queues_at_a_drive_that_serves_one_after_the_other() -> None:
    with fc.open_target("sim:wd6400aaks") as drive:
        stream = fc.Stream.read("random", 4096, arrival=fc.bursts(10, 10))
        recording = drive.run(fc.Workload([stream], duration_s=20))
    reads, offered = recording.read, recording.offered
    assert offered is not None
    assert (reads.ios, offered.unissued) == (200, 0)
    assert offered.iops == pytest.approx(10, rel=1e-6)
    # The k-th of a burst of ten waits for the k - 1 before it: 4.5 of them in the mean.
    queue_s, service_s = reads.stages["queue"].mean_s, reads.stages["service"].mean_s
    assert queue_s is not None
    assert service_s is not None
    assert queue_s == pytest.approx(4.5 * service_s, rel=0.1)


def test_a_rate_beyond_the_drive_is_told() -> None:
    with fc.open_target("sim:wd6400aaks") as drive:
        stream = fc.Stream.read(
            "random", 4096, queue_depth_per_worker=1, arrival=fc.fixed_rate(1000)
        )
        recording = drive.run(fc.Workload([stream], duration_s=2))
    assert recording.offered is not None
    assert recording.offered.iops == pytest.approx(1000, rel=1e-3)
    assert recording.offered.unissued > 1000
    assert 3.9 < recording.elapsed_s < 4.1
