"""Devices of unusual design: what hides a medium is not taken for it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun, named
from explain_fixture import view_of

from fourcorners.analysis import find
from fourcorners.analysis.internals.answer import known, unknown
from fourcorners.analysis.internals.caches import durability, read_cache
from fourcorners.analysis.internals.catalog import CATALOG
from fourcorners.analysis.internals.disk import mechanics
from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.link import command_queue
from fourcorners.analysis.internals.method import places
from fourcorners.analysis.internals.method.doubt import Doubts
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.finding import PRESENCE, Finding
from fourcorners.recording import Recording
from fourcorners.sentences import say


def _two_rounds(run: FakeRun, *requests: tuple[str, str, float]) -> None:
    """What the flush probe measures twice: kinds of requests, their operations and seconds."""
    for kind, operation, seconds in requests:
        for which in (1, 2):
            id = f"probe-flush/{kind}/{which}"
            run.add(id, operation, iops=1 / seconds, latency_mean_s=seconds, kind=kind)


def _flushed(read_s: float, share: float = 1.5, flush_s: float = 20e-6) -> FakeRun:
    """Writes that take so many times as long as all kinds of reads, with and without FUA."""
    run = FakeRun()
    write_s = share * read_s
    _two_rounds(
        run,
        ("plain", "write", write_s),
        ("forced", "write", write_s),
        ("read", "read", read_s),
        ("just written", "read", read_s),
        ("just read", "read", read_s),
        ("flushed", "flush", flush_s),
    )
    return run


@pytest.mark.parametrize(("read_s", "volatile"), [(0.1e-3, 0), (0.6e-3, None)])
def test_a_long_way_to_the_drive_hides_whether_writes_wait_for_the_medium(
    read_s: float, volatile: float | None
) -> None:
    for ask in (durability.is_volatile, durability.is_protected):
        found = ask(view_of(_flushed(read_s)))
        assert found is not None
        assert found.value == volatile


@pytest.mark.parametrize(("flush_s", "volatile"), [(0.06e-3, None), (4e-3, 1)])
def test_writes_that_a_flush_leaves_alone_are_in_no_volatile_cache(
    flush_s: float, volatile: float | None
) -> None:
    """FUA writes may be slow by themselves: on a disk that appends plain ones at its arm."""
    run = FakeRun()
    _two_rounds(
        run,
        ("plain", "write", 1.6e-3),
        ("forced", "write", 6.9e-3),
        ("read", "read", 5.7e-3),
        ("just written", "read", 8e-3),
        ("just read", "read", 0.08e-3),
        ("flushed", "flush", flush_s),
    )
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.value == volatile


@pytest.mark.parametrize(("share", "volatile"), [(1.5, 0), (0.7, None)])
def test_flash_writes_that_are_quicker_than_reads_wait_for_no_program(
    share: float, volatile: float | None
) -> None:
    """An array behind a network may complete them in memory, and read them from its drives."""
    run = _flushed(0.3e-3, share)
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.value == volatile


@pytest.mark.parametrize(("flush_s", "volatile"), [(40e-6, 0), (90e-6, None), (480e-6, None)])
def test_where_a_flush_has_something_to_do_writes_need_not_be_durable(
    flush_s: float, volatile: float | None
) -> None:
    """An array reads old data and parity before it writes, and its members have caches; the way
    over a network takes as long as reads and writes of flash."""
    run = _flushed(0.1e-3, flush_s=flush_s)
    for ask in (durability.is_volatile, durability.is_protected):
        found = ask(view_of(run))
        assert found is not None
        assert found.value == volatile


@pytest.mark.parametrize(("flush_s", "code"), [(9e-6, "kept"), (190e-6, "flush_only")])
def test_fua_that_costs_nothing_beside_a_flush_that_does_is_no_protection(
    flush_s: float, code: str
) -> None:
    run = FakeRun()
    _two_rounds(
        run,
        ("plain", "write", 15e-6),
        ("forced", "write", 15e-6),
        ("read", "read", 86e-6),
        ("just written", "read", 15e-6),
        ("just read", "read", 86e-6),
        ("flushed", "flush", flush_s),
    )
    found = durability.is_protected(view_of(run))
    assert found is not None
    assert (found.value, found.said.code) == (None, f"durability.{code}")


@pytest.mark.parametrize(("read_s", "there"), [(0.1e-3, 0), (0.6e-3, None)])
def test_a_long_way_to_the_drive_hides_its_memory(read_s: float, there: float | None) -> None:
    run = _flushed(read_s)
    for name in ("sequential", "random"):
        about: dict[str, Any] = {"pattern": name, "block_bytes": 4096, "latency_mean_s": read_s}
        run.add(f"probe-caches/{name}", "read", iops=1 / read_s, **about)
    about = {"region_bytes": 2**20, "wanted_ios": 1, "latency_mean_s": read_s}
    run.add("probe-caches/region/1", "read", iops=1 / read_s, **about)
    view = view_of(run)
    ahead, cache = read_cache.reads_ahead(view), read_cache.cache(view)
    assert ahead is not None
    assert cache is not None
    assert (ahead.value, cache.value) == (there, there)
    streams = read_cache.streams(view_of(run, read_ahead=ahead))
    assert streams is not None
    assert streams.verdict == ("not identifiable" if there is None else "not applicable")


@pytest.mark.parametrize(("read_s", "there"), [(60e-6, 0), (9e-6, None)])
def test_a_memory_that_answers_all_reads_hides_what_it_keeps(
    read_s: float, there: float | None
) -> None:
    """A volume whose host has kept all that was read before is not one that keeps nothing."""
    run = FakeRun()
    for name in ("sequential", "random", "sentinel"):
        about: dict[str, Any] = {"pattern": name, "block_bytes": 4096, "latency_mean_s": read_s}
        at: dict[str, Any] = {"sentinel": 1} if name == "sentinel" else {}
        run.add(f"probe-caches/{name}", "read", iops=1 / read_s, **about, **at)
    about = {"region_bytes": 2**20, "wanted_ios": 1, "latency_mean_s": read_s}
    run.add("probe-caches/region/1", "read", iops=1 / read_s, **about)
    view = view_of(run)
    ahead, cache = read_cache.reads_ahead(view), read_cache.cache(view)
    assert ahead is not None
    assert cache is not None
    assert (ahead.value, cache.value) == (there, there)


@pytest.mark.parametrize(
    ("near_s", "far_s", "ahead"),
    [(175e-6, 220e-6, 0), (220e-6, 220e-6, 1), (175e-6, 175e-6, 1)],
)
def test_reads_that_are_faster_by_being_near_one_another_are_not_read_ahead(
    near_s: float, far_s: float, ahead: float
) -> None:
    """A drive that loads its map in parts needs less for each read of the same part. Reads that are
    as quick all over the drive were of places without data."""
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=1 / near_s, latency_mean_s=near_s)
    far: dict[str, Any] = {"sentinel": 1, "latency_mean_s": far_s}
    run.add("probe-seeks/sentinel/1", "read", iops=1 / far_s, **far)
    for name, read_s in (("sequential", 175e-6), ("random", 220e-6)):
        about: dict[str, Any] = {"pattern": name, "block_bytes": 4096, "latency_mean_s": read_s}
        run.add(f"probe-caches/{name}", "read", iops=1 / read_s, **about)
    region: dict[str, Any] = {"region_bytes": 2**20, "wanted_ios": 1, "block_bytes": 4096}
    run.add("probe-caches/region/1", "read", iops=1 / 220e-6, latency_mean_s=220e-6, **region)
    found = read_cache.reads_ahead(view_of(run))
    assert found is not None
    assert found.value == ahead


def test_a_long_way_to_the_drive_does_not_hide_what_is_read_ahead() -> None:
    run = _flushed(0.6e-3)
    for name, read_s in (("sequential", 0.4e-3), ("random", 2e-3)):
        about: dict[str, Any] = {"pattern": name, "block_bytes": 4096}
        run.add(f"probe-caches/{name}", "read", iops=1 / read_s, **about)
    ahead = read_cache.reads_ahead(view_of(run))
    assert ahead is not None
    assert ahead.value == 1


@pytest.mark.parametrize(("elsewhere_s", "rpm"), [(0.2e-3, 0), (8e-3, None)])
def test_a_memory_in_front_of_an_arm_does_not_show_that_nothing_turns(
    elsewhere_s: float, rpm: float | None
) -> None:
    """A disk that keeps in flash what was read twice answers small regions from there."""
    run = FakeRun()
    run.add("probe-seeks/near", "read", iops=5000.0, latency_mean_s=0.2e-3)
    for probe in ("probe-depth/random/1", "probe-caches/random"):
        about: dict[str, Any] = {
            "pattern": "random",
            "block_bytes": 4096,
            "latency_mean_s": elsewhere_s,
        }
        run.add(probe, "read", iops=1 / elsewhere_s, queue_depth=1, **about)
    assert mechanics.rotation(view_of(run)).value == rpm
    assert mechanics.seek_mean(view_of(run)).value is None
    for size in (4096, 8192):
        run.add(f"probe-conflicts/window/{size}", "read", iops=100.0, window_bytes=size)
    stripe = Resolver(run).finding("stripe_bytes")
    assert stripe is not None
    assert (stripe.said is not None and stripe.said.code == "any.slow") == (rpm is None)


def _slowing_down(read_s: float, settled_iops: float) -> FakeRun:
    run = FakeRun(capacity_bytes=16 * 10**9)
    run.add_queue_depths("read", {1: 1 / read_s, 31: 3000.0})
    run.add_consistency(np.where(np.arange(600) < 30, 20_000.0, settled_iops))
    return run


@pytest.mark.parametrize(
    ("read_s", "settled_iops", "kind"),
    [(0.1e-3, 2500.0, "page-mapped"), (0.1e-3, 300.0, "solid-state"), (0.6e-3, 300.0, "unknown")],
)
def test_garbage_collection_is_told_from_merges_and_from_credits_that_end(
    read_s: float, settled_iops: float, kind: str
) -> None:
    summary = named(find(_slowing_down(read_s, settled_iops)), "summary")
    assert summary.detail["kind"] == kind


@pytest.mark.parametrize(("unit", "taken"), [("bytes", True), ("IOPS", False)])
def test_a_volume_with_a_limit_on_its_ios_may_hide_a_memory(unit: str, taken: bool) -> None:
    """A link is such a limit on bytes, and hides none."""
    limit = Finding("artefact_rate_cap", "", "measured", "", detail={"evidence": {"unit": unit}})
    none = Finding("volatile_write_cache", "", "measured", "", value=0.0, unit=PRESENCE)
    kept = Finding("rotation_rpm", "", "measured", "", value=0.0)
    found = Doubts(capped={"probe-depth/random/1": limit}).applied([none, kept])
    assert [one.verdict == "measured" for one in found] == [taken, True]


@pytest.mark.parametrize(
    ("gain", "deeper", "depth"), [(2.5, 1.0, 2), (4.2, 1.0, None), (2.5, 1.1, None)]
)
def test_reads_that_wait_for_their_turn_to_complete_do_not_show_a_short_queue(
    gain: float, deeper: float, depth: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drive that completes reads in their order lets each wait for all before it. One whose
    channels are reserved in the order of requests goes on to gain from far more of them."""
    waits = {k: 1 + 1 / (1.2 + max(0.0, k - 1.2)) for k in (1, 2, 3, 4, 1536)}
    full = Seen(beside=waits)
    assert full.queue_depth == 2
    monkeypatch.setattr(conflicting_reads, "seen", lambda view: full)
    run = FakeRun()
    last = deeper * gain * 1e4
    for queue, iops in {1: 1e4, 2: 1.9e4, 4: gain * 1e4, 8: gain * 1e4, 32: last}.items():
        about: dict[str, Any] = {"pattern": "random", "queue_depth": queue}
        run.add(f"probe-depth/random/{queue}", "read", iops=iops, **about)
    assert command_queue.queue_depth(view_of(run)).value == depth


@pytest.mark.parametrize(("last", "code"), [(1.0, "no_wait"), (0.56, "uneven")])
def test_reads_that_hang_do_not_make_a_queue_without_an_end(
    last: float, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {32: 1.0, 48: 1.04, 64: 1 - (1 - last) / 2, 96: last, 128: last}
    seen = Seen({4096: 1e4, 8192: 2e4}, beside={k: 2.5e4 * rate for k, rate in rates.items()})
    monkeypatch.setattr(conflicting_reads, "seen", lambda view: seen)
    found = command_queue.queue_depth(view_of(FakeRun()))
    assert (found.value, found.said.code) == (None, code)


def test_a_memory_of_whole_pages_leaves_reading_ahead_unknown_in_words() -> None:
    """Reads in sequence find most of a page that a read before them brought into memory."""
    run = FakeRun()
    about: dict[str, Any] = {"block_bytes": 4096}
    run.add("probe-caches/random", "read", iops=12_500.0, pattern="random", **about)
    run.add("probe-caches/sequential", "read", iops=30_000.0, pattern="sequential", **about)
    times = np.array([10_000, 80_000])
    counts = np.array([855, 145])
    run.histograms["probe-caches/sequential", "read"] = (times, times, counts)
    for region in (2**20, 2**25):
        where = about | {"region_bytes": region, "wanted_ios": 1}
        run.add(f"probe-caches/region/{region}", "read", iops=100_000.0, **where)
    found = Resolver(run)
    for name in ("read_ahead", "read_ahead_streams", "read_ahead_bytes"):
        finding = found.finding(name)
        assert finding is not None
        assert finding.text.startswith("85.5 % of small sequential reads are in memory.")


@dataclass
class _Failing(FakeRun):
    """A run, one recording of which ended when a request never completed."""

    failed: str = ""

    @property
    def recordings(self) -> list[Recording]:
        return [
            replace(one, failure="it completes nothing" if one.id == self.failed else None)
            for one in super().recordings
        ]


@pytest.mark.parametrize("fails", [False, True])
def test_the_wait_for_what_never_completes_is_no_misfit_of_a_model(fails: bool) -> None:
    run = _Failing()
    for block in (512 * 2**step for step in range(10)):
        seconds = 600.0 if block == 16384 else 1e-4 + block / 500e6
        about = {"pattern": "random", "block_bytes": block, "content": "incompressible"}
        run.add(f"probe-sizes/write/{block}", "write", iops=1 / seconds, queue_depth=1, **about)
    run.failed = "probe-sizes/write/16384" if fails else ""
    assert (Resolver(run).finding("misfit_write") is None) == fails


@pytest.mark.parametrize(
    ("beyond", "turns", "told"), [(1.0, 0, False), (0.4, 0, True), (0.4, 7200, False)]
)
def test_a_volume_of_several_media_is_told_by_its_places(
    beyond: float, turns: float, told: bool
) -> None:
    run = FakeRun()
    for place in range(64):
        rate = 450e6 * (1.0 if place < 16 else beyond)
        about: dict[str, Any] = {"block_bytes": 2**18, "offset_bytes": place * 2**26}
        run.add(f"probe-positions/at/{place}", "read", iops=rate / 2**18, **about)
        key = (f"probe-positions/at/{place}", "read")
        at_ns = np.array([round(2**18 / rate * 1e9)])
        run.histograms[key] = (at_ns, at_ns, np.array([100]))
    found = places.other_places(view_of(run, rotation_rpm=turns))
    assert (found is not None) == told
    assert found is None or found.value == pytest.approx(beyond - 1, abs=1e-3)


@pytest.mark.parametrize(("read_s", "told"), [(0.1e-3, True), (7e-3, False)])
def test_what_has_an_arm_but_no_known_speed_has_no_known_spare_area(
    read_s: float, told: bool
) -> None:
    """The cache of an array in front of disks fills up as spare area does."""
    run = FakeRun()
    run.add("probe-seeks/sentinel", "read", iops=1 / read_s, sentinel=1)
    run.add("probe-overwrite/fill", "write", iops=1e3, stage="fill")
    resolver = Resolver(run)
    for name in ("op_by_cliff", "op_by_amplification", "over_provisioning", "superblock_bytes"):
        row = next(one for one in CATALOG if one.name == name)
        resolver._answers["rotation_rpm"] = unknown(say("rotation_rpm.no_speed"))
        answer = resolver._estimated(replace(row, estimator=lambda _: known(0.1, say("any.value"))))
        assert answer is not None
        assert (answer.value is not None) == told


@pytest.mark.parametrize(("read_s", "verdict"), [(80e-6, "measured"), (12e-6, "not identifiable")])
def test_what_is_written_sooner_than_flash_is_programmed_maps_nothing(
    read_s: float, verdict: str
) -> None:
    """Small writes across boundaries of a medium that is written in place take two of its banks."""
    run = _flushed(read_s, share=1.1, flush_s=5e-6)
    for boundary in (1024 << k for k in range(9)):
        for where in ("at", "across"):
            longer = min(1.0, boundary / 4096) if where == "across" else 0.0
            recording = f"probe-alignment/{where}/{boundary}"
            about: dict[str, Any] = {"boundary_bytes": boundary, "where": where}
            seconds = read_s * (1 + longer)
            run.add(recording, "write", iops=1 / seconds, elapsed_s=1.0, queue_depth=32, **about)
    found = Resolver(run).finding("mapping_unit")
    assert found is not None
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("quick_s", "quick", "volatile"),
    [
        (0.5e-3, {"plain": (22, 21), "forced": (18, 17)}, 0),
        # Some writes complete in a buffer.
        (0.02e-3, {"plain": (22, 21), "forced": (18, 17)}, None),
        # FUA writes take the longer time far more often.
        (0.5e-3, {"plain": (38, 18), "forced": (4, 3)}, None),
    ],
)
def test_pages_of_two_kinds_do_not_make_fua_slower(
    quick_s: float, quick: dict[str, tuple[int, int]], volatile: float | None
) -> None:
    """Programs of both kinds are about as frequent, and the median is one or the other."""
    run, slow_s, ios = _flushed(0.1e-3, flush_s=1e-6), 1.3e-3, 40
    run.rows = [row for row in run.rows if row["operation"] != "write"]
    run.points = [point for point in run.points if point["point"]["operation"] != "write"]
    bounds = np.array([round(1e9 * quick_s), round(1e9 * slow_s)])
    for kind, counts in quick.items():
        for which, count in enumerate(counts, 1):
            id = f"probe-flush/{kind}/{which}"
            mean_s = (count * quick_s + (ios - count) * slow_s) / ios
            run.add(id, "write", iops=ios, elapsed_s=1.0, latency_mean_s=mean_s, kind=kind)
            run.rows[-1]["latency_max_s"] = slow_s
            run.histograms[id, "write"] = (bounds, bounds, np.array([count, ios - count]))
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.value == volatile


@pytest.mark.parametrize(
    ("unmapped_s", "write_s", "written_s", "code"),
    [
        (0.1e-3, 0.4e-3, 0.12e-3, "waits"),
        (0.04e-3, 0.4e-3, 0.06e-3, "not_memory"),
        # A buffer that has to be written before its data are read.
        (0.04e-3, 0.4e-3, 0.4e-3, "not_memory"),
        # What was just written is read as what is long on the flash.
        (0.04e-3, 0.4e-3, 0.12e-3, "waits"),
        # It takes far longer than a read with its look-up.
        (0.04e-3, 0.8e-3, 0.06e-3, "waits"),
        # No program is quicker than a read of the flash.
        (0.002e-3, 0.005e-3, 0.12e-3, "kept"),
    ],
)
def test_a_read_that_depends_on_its_place_is_no_read_of_a_cache(
    unmapped_s: float, write_s: float, written_s: float, code: str
) -> None:
    """A map in the shape of a tree is walked to a place that was just written in fewer steps; a
    place without data shows what a command takes by itself."""
    run = FakeRun()
    _two_rounds(
        run,
        ("plain", "write", write_s),
        ("forced", "write", write_s),
        ("read", "read", 0.35e-3),
        ("just written", "read", written_s),
        ("just read", "read", 0.12e-3),
        ("flushed", "flush", unmapped_s),
    )
    about: dict[str, Any] = {"kind": "never written", "part_bytes": 4096}
    run.add("probe-trim/never written", "read", iops=1 / unmapped_s, **about)
    found = durability.is_volatile(view_of(run))
    assert found is not None
    assert found.said.code == f"durability.{code}"
