"""Workloads are what the compiled core reads, field by field."""

import json
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.errors import UserError
from fourcorners.suites.test import Measurement
from fourcorners.target.simulated import SimulatedTarget

DRIVE = "sim:ocz-core-64gb"


@pytest.mark.parametrize(
    "stream",
    [
        fc.Stream.read("sequential", 131_072),
        fc.Stream.write(
            "random", 4096, span_bytes=8 * 10**9, queue_depth_per_worker=3, content=fc.REPEATED
        ),
        fc.Stream.write("random", 4096, alignment_bytes=512, content=fc.compressible(46)),
        fc.Stream.write(fc.zipf(0.99), 4096),
        fc.Stream.read(fc.hot_cold(0.2, 0.8), 4096),
        fc.Stream.read(fc.strided(64 * 1024), 4096, workers=2),
        fc.Stream.read("random", 4096, arrival=fc.fixed_rate(1000)),
        fc.Stream.read("random", 4096, arrival=fc.poisson_rate(1000)),
        fc.Stream.read("random", 4096, arrival=fc.bursts(1000, 4)),
        fc.Stream.read("random", 4096, arrival=fc.bursts(1000, 4, peak_iops=5000.5)),
        fc.Stream(
            read_share=0.7,
            pattern="random",
            block_bytes=8192,
            misalignment_bytes=32_256,
            workers=2,
        ),
    ],
)
def test_the_core_takes_every_kind_of_stream(stream: fc.Stream) -> None:
    with fc.open_target(DRIVE) as drive:
        recording = drive.run(fc.Workload([stream], ios=8, seed=3))
    assert sum(operation.ios for operation in recording.operations.values()) == 8


@pytest.mark.parametrize(
    ("stream", "complaint"),
    [
        (fc.Stream.read("random", 1000), "multiple of 512"),
        (fc.Stream.read("random", 4096, queue_depth_per_worker=0), "queue depth 0"),
        (fc.Stream.read(fc.zipf(0), 4096), "Zipf exponent 0"),
        (fc.Stream.read(fc.hot_cold(2, 0.8), 4096), "fraction of the data between 0 and 1"),
        (fc.Stream.read(fc.strided(1000), 4096), "stride of 1000 bytes"),
        (fc.Stream.read("zipf:much", 4096), "unknown variant"),
        (fc.Stream.read("hot-cold:0.2", 4096), "unknown variant"),
        (fc.Stream.read("random", 4096, arrival="fixed:fast"), "unknown variant"),
        (fc.Stream.read("random", 4096, arrival=fc.poisson_rate(0)), "rate of 0 per second"),
        (fc.Stream.read("random", 4096, arrival=fc.bursts(100, 0)), "bursts of 0 I/Os"),
        (fc.Stream.read("random", 4096, arrival=fc.bursts(100, 4, 50)), "bursts at 50 per second"),
        (fc.Stream.read("random", 4096, arrival="bursts:100:4:500:1"), "unknown variant"),
        (fc.Stream.write("random", 4096, flush_every_writes=0), "flush every 0 writes"),
        (fc.Stream.read("random", 4096, fua=True), "streams that write"),
        (fc.Stream.read("random", 4096, span_bytes=10**15), "passes the end of the target"),
    ],
)
def test_rules_are_told_in_one_sentence(stream: fc.Stream, complaint: str) -> None:
    with fc.open_target(DRIVE) as drive, pytest.raises(fc.UserError, match=complaint):
        drive.run(fc.Workload([stream], ios=1))


def test_a_workload_needs_an_end() -> None:
    with fc.open_target(DRIVE) as drive, pytest.raises(fc.UserError, match="needs a stop"):
        drive.run(fc.Workload([fc.Stream.read("random", 4096)]))


def test_times_become_nanoseconds() -> None:
    workload = fc.Workload([fc.Stream.read("random", 4096)], duration_s=1.5, ramp_s=0.25)
    document = json.loads(workload.to_json())
    assert document["stop"] == {"time_ns": 1_500_000_000, "ios": None, "bytes": None}
    assert document["ramp_ns"] == 250_000_000


def test_a_point_has_the_queue_depth_of_all_workers_also_where_one_workers_is_swept() -> None:
    stream = fc.Stream.read("random", 4096, queue_depth_per_worker=8, workers=4)
    swept = Measurement("a", "reads", fc.Workload([stream], duration_s=1), {"queue_depth": 8})
    assert swept.point["queue_depth"] == 32


@pytest.mark.parametrize("pattern", [fc.PERMUTED, fc.pareto(0.2), fc.normal(0.1), fc.runs_of(8)])
def test_no_steady_state_is_made_up_for_patterns_that_it_is_not_known_of(pattern: str) -> None:
    with fc.open_target("sim:intel-x25-v-40gb") as drive:
        assert isinstance(drive, SimulatedTarget)
        with pytest.raises(UserError, match="sequential, random, zipf or hot-cold"):
            drive.enter_steady_state(stream=fc.Stream.write(pattern, 4096))


@pytest.mark.parametrize(
    "fields",
    [
        {"pattern": fc.zoned((60, 10), (40, 90))},
        {"pattern": fc.runs_of(8), "sizes": "4096-8192/75:65536/25", "block_bytes": 65536},
        {"pattern": "sequential", "separate_cursors": True, "read_share": 0.5},
        {"strided_zones": "65536:32768:0", "answer_batch": 2, "queue_depth_per_worker": 4},
        {"think_s": 0.001, "think_every_ios": 3, "start_s": 0.5, "end_s": 2.0},
        {"ios_per_worker": 8, "bytes_per_worker": 4096},
    ],
)
def test_a_stream_comes_back_from_its_document(fields: dict[str, Any]) -> None:
    usual = {"read_share": 1.0, "pattern": "random", "block_bytes": 4096}
    workload = fc.Workload([fc.Stream(**{**usual, **fields})], ios=1)
    assert fc.Workload.from_document(workload.document()) == workload


def test_documents_of_plain_streams_are_as_they_always_were() -> None:
    document = json.loads(fc.Stream.read("random", 4096).to_json())
    assert list(document)[-2:] == ["flush_every_writes", "fua"]
