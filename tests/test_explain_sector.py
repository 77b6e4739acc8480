"""The physical sector of a disk, and what a write costs that covers one only in part."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun, named
from explain_fixture import view_of
from specimen_drive import program, truths

import fourcorners as fc
from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.internals.disk import physical_sector
from fourcorners.analysis.internals.link import command_queue
from fourcorners.store import Run
from fourcorners.suites.probes import alignment
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar

KIB = 2**10
TURN_S = 60 / 7200


def _run(
    partial_below: int = 0, turns: float = 1.0, waits: bool = True, first: int = 512
) -> FakeRun:
    """Forced writes of all sizes that wait for the angle of their sector, of a disk that needs so
    many turns more for those below a size."""
    run, draw, size = FakeRun(), np.random.default_rng(7), first
    while size <= 32 * KIB:
        wait_s = draw.uniform(0, TURN_S, 100) if waits else np.full(100, TURN_S / 2)
        ns = np.sort((2e-3 + wait_s + (turns * TURN_S if size < partial_below else 0)) * 1e9)
        recording = f"probe-alignment/whole/{size}"
        run.add(recording, "write", iops=1e9 / ns.mean(), elapsed_s=1.0, whole_bytes=size)
        at = ns.astype(np.int64)
        run.histograms[recording, "write"] = (at, at, np.ones(100, dtype=np.int64))
        size *= 2
    return run


def _size(run: FakeRun, rotation: float | None = 7200.0) -> Answer:
    return physical_sector.size(view_of(run, rotation_rpm=rotation))


def _said(run: FakeRun, rotation: float | None = 7200.0) -> str:
    return _size(run, rotation).said.code.rpartition(".")[2]


@pytest.mark.parametrize("sector", [1 * KIB, 4 * KIB, 16 * KIB])
def test_a_turn_more_for_smaller_writes_shows_the_sector(sector: int) -> None:
    run = _run(partial_below=sector)
    assert _size(run).value == sector
    cost = physical_sector.penalty(view_of(run, rotation_rpm=7200.0))
    assert cost.interval is not None
    assert cost.interval[0] < TURN_S < cost.interval[1]
    assert cost.interval[1] - cost.interval[0] < 0.25 * TURN_S


def test_equal_times_show_that_nothing_is_emulated() -> None:
    assert _size(_run()).value == 512
    assert physical_sector.penalty(view_of(_run(), rotation_rpm=7200.0)).verdict == "not applicable"


def test_no_sector_is_told_of_a_host_that_writes_no_smaller_piece() -> None:
    assert _said(_run(first=4 * KIB)) == "larger_request"


def test_a_log_or_a_memory_shows_no_sector() -> None:
    assert _said(_run(waits=False)) == "kept"


def test_what_takes_no_whole_turn_longer_is_no_sector() -> None:
    assert _said(_run(partial_below=4 * KIB, turns=0.7)) == "no_step"
    assert _said(_run(partial_below=4 * KIB, turns=2.0)) == "no_step"


def test_sectors_need_platters() -> None:
    assert _said(_run(4 * KIB), None) == "no_rotation"
    assert _size(_run(4 * KIB), 0.0).verdict == "not applicable"


def test_a_choice_among_two_reads_is_not_told_from_two_arms() -> None:
    run = FakeRun()
    for depth, iops in {1: 170.0, 2: 243.0, 4: 300.0, 8: 360.0}.items():
        run.add(f"probe-depth/{depth}", "read", iops=iops, pattern="random", queue_depth=depth)
    found = command_queue.reordering(view_of(run))
    assert found is not None
    assert found.said.code == "choice"


def test_what_empties_a_cache_is_no_figure_of_a_flush() -> None:
    """The spec sheet has the time of a flush after a write of 4 KiB, with an empty cache."""
    subject = Subject("device", 10**12, request_alignment_bytes=4 * KIB)
    [phase] = alignment.plan(subject, alignment.Parameters(), seed=1).phases
    assert isinstance(phase, Adaptive)
    read: Any = SimpleNamespace(iops=100.0)
    measured = MeasuredSoFar()
    measured.update({"speed": read, "at/8192": read, "sentinel/1": read})
    drained, *whole = phase.following(measured)
    [stream] = drained.workload.streams
    assert stream.flush_every_writes
    assert stream.block_bytes > 4 * KIB
    assert [one.point["whole_bytes"] for one in whole] == [4096, 8192, 16384, 32768]
    measured["whole/4096"] = read
    assert phase.following(measured) == ()


_SUITE = """schema_version = 1
name = "sectors"
title = "Sectors"
[[test]]
use = "probe-seeks"
[[test]]
use = "probe-positions"
[[test]]
use = "probe-alignment"
"""


@pytest.fixture(params=["physical=4096", "physical=4096 write_cache=0", "physical=512"])
def probed(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Run]:
    suite = tmp_path / "sectors.toml"
    suite.write_text(_SUITE)
    with fc.open_target(f"exec:{program('disk')} {request.param}", seed=2) as target:
        return request.param, fc.run(str(suite), target, seed=2, out=tmp_path)


def test_the_disk_of_other_people_shows_its_sectors(probed: tuple[str, Run]) -> None:
    settings, run = probed
    sector = named(run.findings, "physical_sector_bytes")
    sheet = "".join(f.text for f in run.findings if f.name == "spec_sheet")
    if "512" in settings:
        assert sector.value == 512
        assert "sector" not in sheet
    else:
        assert sector.value == 4096
        cost = named(run.findings, "partial_sector_penalty")
        true = truths("disk", *settings.split())["partial_sector_penalty"]
        assert cost.interval is not None
        assert cost.interval[0] < true < cost.interval[1]
        assert "more for a partly covered sector: 8." in sheet
