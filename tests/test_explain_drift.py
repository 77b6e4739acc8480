"""What other load disturbed is not taken as the drive's."""

import io
import json
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of
from made_manifest import made_manifest
from rich.console import Console

import fourcorners as fc
from fourcorners.analysis import artefacts, internals
from fourcorners.analysis.internals.method import futile, settling
from fourcorners.analysis.internals.method.doubt import UNAFFECTED, Doubts
from fourcorners.analysis.internals.method.drift import WRITING
from fourcorners.analysis.internals.method.drift import find as drifts_of
from fourcorners.analysis.internals.view import View
from fourcorners.analysis.joined import Joined
from fourcorners.analysis.source import Measured
from fourcorners.cli import main
from fourcorners.documents import part
from fourcorners.finding import UNDER_LOAD, Finding, Verdict
from fourcorners.reporting.explanation import render_explanation
from fourcorners.running import explanation
from fourcorners.running.progress import Progress
from fourcorners.suites import Suite
from fourcorners.suites.suite import suite_of


def _drift(probe: str, change: float) -> Finding:
    return Finding(
        f"drift_{probe}",
        "",
        "measured",
        "It changed.",
        value=change,
        detail={"test": probe, "sure_change": change},
    )


def _doubts(drifts: Sequence[Finding], watched: Sequence[str], **sources: str) -> Doubts:
    """``sources`` has the operation of the recording of each probe."""
    found = {name: (f"probe-{name.split('_')[0]}", {op}) for name, op in sources.items()}
    return Doubts(drifts, watched, {}, found)


@pytest.mark.parametrize("verdict", ["measured", "not applicable"])
def test_what_a_disturbed_probe_said_is_not_identifiable(verdict: Verdict) -> None:
    found = Finding("x", "X", verdict, "so it is", evidence=("caches",))
    [doubted] = _doubts([_drift("probe-caches", 0.8)], (), caches="read").applied([found])
    assert doubted.verdict == "not identifiable"
    assert doubted.said is not None
    assert doubted.said.code == "any.under_load"
    assert "so it is" in doubted.text
    assert _doubts([_drift("probe-caches", 0.2)], (), caches="read").applied([found]) == [found]
    # Writes change a drive by themselves.
    other = Finding("x", "X", verdict, "", evidence=("burst",))
    assert _doubts([_drift("probe-burst", 0.8)], (), burst="write").applied([other]) == [other]


def test_where_most_reads_are_disturbed_writes_are_too() -> None:
    found = Finding("slc_cache_bytes", "", "measured", "", value=1e9, evidence=("burst",))
    watched = ["probe-depth", "probe-seeks", "probe-caches"]
    some = [_drift(probe, 0.8) for probe in watched]
    assert _doubts(some[:1], watched, burst="write").applied([found]) == [found]
    [doubted] = _doubts(some, watched, burst="write").applied([found])
    assert (doubted.verdict, doubted.value) == ("not identifiable", None)


def test_reads_of_sizes_are_doubted_but_not_the_writes_after_them() -> None:
    sources = {"sizes_read": "read", "sizes_write": "write"}
    both = [Finding("x", "X", "measured", "", value=1.0, evidence=(id,)) for id in sources]
    found = _doubts([_drift("probe-sizes", 0.8)], ["probe-sizes"], **sources).applied(both)
    assert [f.verdict for f in found] == ["not identifiable", "measured"]


def test_what_did_not_fit_under_other_load_is_that_loads() -> None:
    odd = Finding("misfit_read", "", "measured", "", value=0.5, evidence=("sizes",))
    assert _doubts([_drift("probe-sizes", 0.8)], (), sizes="read").applied([odd]) == []


def test_other_load_makes_nothing_quick() -> None:
    still = Finding(
        "rotation_rpm",
        "",
        "measured",
        "",
        value=0.0,
        evidence=("seeks",),
        detail={UNDER_LOAD: True},
    )
    assert _doubts([_drift("probe-seeks", 0.8)], (), seeks="read").applied([still]) == [still]


def test_what_the_host_answered_is_not_the_drives() -> None:
    read, other = (
        Finding("x", "X", "measured", "so it is", value=1.0, evidence=(which,))
        for which in ("near", "far")
    )
    holes = Finding("artefact_unwritten_blocks", "Never written", "measured", "")
    doubted, kept = Doubts(answered={"near": holes}).applied([read, other])
    assert (doubted.verdict, doubted.value, kept) == ("not identifiable", None, other)
    assert doubted.said is not None
    assert doubted.said.code == "any.answered"
    assert doubted.said.parameters["title"] == "Never written"
    assert "so it is" in doubted.text


def test_a_limit_on_the_rate_is_not_the_end_of_a_queue() -> None:
    queue, other = (
        Finding(name, "X", "measured", "so it is", value=1.0, evidence=("capped",))
        for name in ("command_queue_depth", "volatile_write_cache")
    )
    cap = Finding("artefact_rate_cap", "Rate cap", "measured", "", evidence=("capped",))
    run = FakeRun()
    doubted, kept = Doubts.of(view_of(run), [cap]).applied([queue, other])
    assert (doubted.verdict, doubted.value, kept) == ("not identifiable", None, other)
    assert "so it is" in doubted.text


READS = ["probe-depth", "probe-conflicts", "probe-caches"]


@pytest.mark.parametrize(
    ("disturbed", "answered", "kind", "skipped"),
    [
        (0, 0, "file", []),
        (1, 0, "file", []),
        # What two of three say is not believed of those that write, and may be of others.
        (2, 0, "file", [*WRITING]),
        (3, 0, "device", ["probe-positions", "probe-sizes", *WRITING]),
        (3, 3, "simulated", []),
        (0, 1, "file", []),
        (0, 3, "file", ["probe-positions", "probe-sizes", *WRITING, *UNAFFECTED]),
    ],
)
def test_probes_that_cannot_identify_anything_are_not_run(
    disturbed: int,
    answered: int,
    kind: str,
    skipped: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drifts = [_drift(probe, 0.8) for probe in READS[:disturbed]]
    cached = Finding("artefact_page_cache", "Page cache", "measured", "", evidence=READS[:answered])
    monkeypatch.setattr(Doubts, "of", lambda view, misleading: Doubts(drifts, READS))
    monkeypatch.setattr(artefacts, "find", lambda run: [cached] if answered else [])
    read = FakeRun()
    for probe in READS:
        read.add(probe, "read", iops=1.0)
    manifest = made_manifest(target={"kind": kind})
    run: Any = types.SimpleNamespace(manifest=manifest, recordings=read.recordings)
    probes = ["probe-positions", "probe-sizes", *WRITING, *UNAFFECTED]
    assert [probe for probe in probes if futile.reason(run, probe)] == skipped


SHORT = {"use": "probe-positions", "positions": 2, "time": "0.01 s", "preparation": "none"}
TWO_PROBES = {
    "name": "explain",
    "test": [{"name": "probe-first", **SHORT}, {"name": "probe-second", **SHORT}],
}


@pytest.fixture
def two_probes(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """The probes that `explain` runs; after the first, each is in vain."""
    suite = suite_of(TWO_PROBES, "test")
    monkeypatch.setattr(explanation, "find_suite", lambda name: suite)
    monkeypatch.setattr(futile, "reason", lambda run, probe: "it is in vain")
    monkeypatch.setattr(futile, "reason_to_stop", lambda run, probe: None)
    return suite


@pytest.mark.parametrize("all_probes", [False, True])
def test_what_is_skipped_is_named_with_its_reason_unless_all_is_asked_for(
    all_probes: bool, two_probes: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "t.bin"
    words = ["explain", str(target), "--size", "8MiB", "--out", str(tmp_path), "--json"]
    assert main([*words, *(["--all"] if all_probes else [])]) == 0
    document = json.loads(capsys.readouterr().out)
    run = fc.open_run(document["runs"][0])
    expected = ["complete", "complete" if all_probes else "skipped"]
    assert [test.status for test in run.manifest.tests] == expected
    missing = [] if all_probes else [{"probe": "probe-second", "reason": "skipped: it is in vain"}]
    assert document["missing"] == missing
    explained = [part(Finding, one) for one in document["findings"]]
    for findings in (explained, run.findings):
        found = {f.name: f for f in findings if f.name.startswith("not_probed_")}
        assert list(found) == ([] if all_probes else ["not_probed_second"])
        for finding in found.values():
            assert finding.verdict == "not identifiable"
            assert "it is in vain" in finding.text
    shown = render_explanation("t", explained, [("probe-second", "in vain")])
    console = Console(file=io.StringIO(), width=80)
    console.print(shown)
    assert console.file.getvalue().count("in vain") == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("probe", "disturbed", "stops"),
    [
        ("probe-caches", ["probe-caches"], True),
        ("probe-caches", ["probe-depth"], False),
        # Nothing turns, under other load as well.
        ("probe-seeks", ["probe-seeks"], False),
        # Its writes come after its reads, and are taken unless most probes were disturbed.
        ("probe-sizes", ["probe-sizes"], False),
        ("probe-sizes", ["probe-sizes", "probe-depth"], True),
        # Writes change a drive by themselves.
        ("probe-burst", ["probe-burst"], False),
    ],
)
def test_a_probe_ends_once_its_findings_would_not_be_taken(
    probe: str, disturbed: list[str], stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drifts = [_drift(one, 0.8) for one in disturbed]
    doubts = Doubts(drifts, ["probe-depth", "probe-sizes", "probe-x"])
    monkeypatch.setattr(Doubts, "of", lambda view, misleading: doubts)
    for kind in ("file", "simulated"):
        run: Any = types.SimpleNamespace(manifest=made_manifest(target={"kind": kind}))
        assert bool(futile.reason_to_stop(run, probe)) == (stops and kind == "file")


@pytest.mark.parametrize(
    ("times_s", "stops"),
    [
        ((8e-3, 1e-4), False),
        # By less than a program makes of a read, but each of the reads takes one of two times.
        ((1.2e-3, 0.41e-3, 0.41e-3), False),
        ((1.2e-3, 0.8e-3, 0.41e-3), True),
        ((1e-4, 8e-3), True),
    ],
)
def test_a_probe_that_only_began_slow_goes_on(
    times_s: Sequence[float], stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = FakeRun()
    for which, read_s in enumerate(times_s):
        _reads(found, f"probe-caches/sentinel/{which}", read_s, sentinel=which, block_bytes=4096)
    [drift] = drifts_of(view_of(found))
    monkeypatch.setattr(Doubts, "of", lambda view, misleading: Doubts([drift], READS))
    run: Any = types.SimpleNamespace(manifest=made_manifest(target={"kind": "file"}))
    assert bool(futile.reason_to_stop(run, "probe-caches")) == stops


def test_what_a_probe_measured_until_it_was_stopped_is_kept(
    two_probes: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(futile, "reason", lambda run, probe: None)
    monkeypatch.setattr(futile, "reason_to_stop", lambda run, probe: f"{probe} is in vain")
    with fc.open_target(str(tmp_path / "t"), size=8 << 20) as file:
        explained = fc.explain(file, out=tmp_path)
        assert [dict(explained.missing)[name] for name in ("probe-first", "probe-second")] == [
            f"skipped: stopped after 1 measurement; {name} is in vain"
            for name in ("probe-first", "probe-second")
        ]
        [run] = explained.runs
        assert run.manifest.status == "complete"
        assert [len(test.recordings) for test in run.manifest.tests] == [1, 1]
        everything = fc.explain(file, out=tmp_path, all_probes=True)
    assert everything.missing == ()


class _Killed(Progress):
    """Ends the program when the second probe begins."""

    def message(self, text: str) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = ": complete in" in text

    seen = False


@pytest.mark.parametrize("all_probes", [False, True])
def test_an_explanation_that_is_resumed_skips_what_an_uninterrupted_one_does(
    all_probes: bool, two_probes: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, fc.open_target(str(tmp_path / "t"), size=8 << 20) as file:
        # Before the interruption nothing was known to be in vain.
        patch.setattr(futile, "reason", lambda run, probe: None)
        with pytest.raises(KeyboardInterrupt):
            fc.explain(file, out=tmp_path / "runs", progress=_Killed(), all_probes=all_probes)
    [folder] = (tmp_path / "runs").iterdir()
    run = fc.resume(folder)
    expected = ["complete", "complete" if all_probes else "skipped"]
    assert [test.status for test in run.manifest.tests] == expected
    assert [test.reason for test in run.manifest.tests][1] == (
        None if all_probes else "it is in vain"
    )


def test_what_a_run_lacks_and_is_probed_later_counts(two_probes: Suite, tmp_path: Path) -> None:
    with fc.open_target(str(tmp_path / "t"), size=8 << 20) as file:
        first = fc.explain(file, out=tmp_path).runs[0]
    later = fc.explain(first, out=tmp_path, all_probes=True)
    assert later.missing == ()
    assert [run.manifest.tests[-1].status for run in later.runs] == ["skipped", "complete"]
    assert not [f for f in later.findings if f.name.startswith("not_probed_")]
    recordings = Joined(later.runs).recordings
    assert {one.test for one in recordings} == {"probe-first", "probe-second"}


def _begins_slow(*series_s: Sequence[float], arm: bool = False) -> FakeRun:
    """Small reads between the points of three probes, with a point before the last ones of them;
    and a read of other places, one at a time, that may need an arm."""
    run = FakeRun()
    for test, times_s in zip(READS, series_s, strict=True):
        for which, read_s in enumerate(times_s, 1):
            _reads(run, f"{test}/sentinel/{which}", read_s, sentinel=which, block_bytes=4096)
            longest_s = 20e-3 if which == 1 else 1e-3
            _reads(run, f"{test}/point/{which}", 1e-3, longest_s, queue_depth=8)
        _reads(run, f"{test}/other", 8e-3 if arm else 1e-4, queue_depth=1, block_bytes=4096)
        _reads(run, f"{test}/sentinel/last", times_s[-1], sentinel=9, block_bytes=4096)
    return run


def _reads(
    run: FakeRun, recording: str, read_s: float, longest_s: float | None = None, **point: Any
) -> None:
    run.add(recording, "read", iops=1 / read_s, elapsed_s=0.25, latency_mean_s=read_s, **point)
    run.rows[-1]["latency_max_s"] = longest_s or read_s
    bounds = np.array([round(0.99e9 * read_s), round(1.01e9 * read_s)])
    half = max(round(0.125 / read_s), 1)
    run.histograms[recording, "read"] = (bounds, bounds, np.array([half, half]))


_ONE, _TWO, _NEVER = (8e-3, 0.17e-3, 0.17e-3), (7.4e-3, 7.3e-3, 0.17e-3), (8e-3, 8e-3, 8e-3)


@pytest.mark.parametrize(
    ("series_s", "arm", "left_out"),
    [
        ((_ONE, _TWO, _ONE), False, READS),
        # Too few reads for the drive to settle.
        ((_ONE, _TWO, _NEVER), False, READS),
        # Another strength each time, the other way round, or once only.
        ((_ONE, (2e-3, 0.17e-3, 0.17e-3), (30e-3, 0.17e-3, 0.17e-3)), False, []),
        ((_ONE, _TWO, (0.17e-3, 0.17e-3, 8e-3)), False, []),
        ((_ONE, (0.17e-3,) * 3, (0.17e-3,) * 3), False, []),
        # A memory in front of an arm keeps these places.
        ((_ONE, _TWO, _ONE), True, []),
    ],
)
def test_probes_that_begin_alike_have_what_writes_left_in_their_first_points(
    series_s: Sequence[Sequence[float]], arm: bool, left_out: list[str]
) -> None:
    """A drive writes its map back before it finds room for what further reads need of it."""
    run = _begins_slow(*series_s, arm=arm)
    slow = settling.slowed(view_of(run))
    assert sorted(set(slow.values())) == sorted(left_out)
    for test in left_out:
        assert (f"{test}/sentinel/1", "read") in slow
        assert (f"{test}/point/1", "read") in slow
        # None of its reads waited so long.
        assert (f"{test}/point/2", "read") not in slow
    disturbed = Doubts.of(View(run, lambda _: None, slow), ()).disturbing
    assert bool(disturbed) == (not left_out)
    drifts = {f.name: f for f in internals.find(run) if f.name.startswith("drift")}
    assert {f.said.code for f in drifts.values() if f.said} == {
        "drift.settled" if left_out else "drift.measured"
    }


_SLOW, _LATER, _STAYS = (1.2e-3, 0.41e-3, 0.41e-3), (1.2e-3, 1.19e-3, 0.42e-3), (1.2e-3,) * 3


@pytest.mark.parametrize(
    ("series_s", "own"),
    [
        ((_SLOW, _LATER, _STAYS), READS[:2]),
        ((_SLOW, _LATER, _SLOW), READS),
        # It ended once only, was of another strength, or began again in the middle.
        ((_SLOW, _STAYS, _STAYS), []),
        ((_SLOW, (0.8e-3, 0.41e-3, 0.41e-3), _STAYS), []),
        ((_SLOW, _LATER, (0.41e-3, 0.41e-3, 0.41e-3)), []),
        ((_SLOW, (0.41e-3, 1.2e-3, 0.41e-3), _STAYS), []),
    ],
)
def test_reads_of_two_times_that_begin_with_each_probe_are_the_drives_own(
    series_s: Sequence[Sequence[float]], own: list[str]
) -> None:
    """Too little for a program that takes three times as long as a read, but always the same."""
    run = _begins_slow(*series_s)
    doubts = Doubts.of(view_of(run), ())
    assert sorted(doubts.own) == sorted(own)
    assert bool(doubts.disturbing) == (not own)
    codes = [f.said.code for f in doubts.drifts if f.said and f.detail["test"] in own]
    assert codes == ["drift.own"] * len(own)


def test_reads_that_wait_for_any_part_of_other_requests_scatter() -> None:
    run = _begins_slow(_SLOW, _LATER, _STAYS)
    for row in run.rows:
        row["latency_min_s"], row["latency_max_s"] = 1e-6, 1.0
    assert Doubts.of(view_of(run), ()).own
    for (recording, _), (low, _, count) in run.histograms.items():
        if recording.endswith("sentinel/1"):
            wide = np.array([low[0] * 0.8, low[0] * 1.2]).astype(int)
            run.histograms[recording, "read"] = (wide, wide, count)
    assert not Doubts.of(view_of(run), ()).own


@pytest.mark.parametrize(
    ("iops", "usual_s", "longest_s", "waited"),
    [
        # 64 outstanding ones wait for one another as long as the first reads took.
        (8_000.0, 8e-3, 9e-3, False),
        (8_000.0, 8e-3, 17e-3, True),
        (120.0, 8e-3, 9e-3, True),
        (120.0, 7e-3, 7e-3, False),
    ],
)
def test_reads_that_wait_for_one_another_do_not_wait_for_what_writes_left(
    iops: float, usual_s: float, longest_s: float, waited: bool
) -> None:
    point = types.SimpleNamespace(
        iops=iops, latency_max_s=longest_s, latency_percentile_s=lambda _: usual_s
    )
    assert settling._may_have_waited(cast(Measured, point), 8e-3, 0.2e-3) is waited


def test_what_only_the_first_points_show_is_not_identifiable() -> None:
    found = Finding("x", "X", "measured", "so it is", value=1.0)
    other = Finding("y", "Y", "measured", "")
    odd = Finding("misfit_x", "", "measured", "")
    open_ = Finding("z", "Z", "not identifiable", "")
    lost, kept = settling.left_out([found, other, odd, open_], [other])
    assert kept == open_
    assert (lost.verdict, lost.value) == ("not identifiable", None)
    assert lost.said is not None
    assert lost.said.code == "any.unsettled"
    assert "so it is" in lost.text
