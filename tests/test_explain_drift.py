"""What other load disturbed is not taken as the drive's."""

import pytest

from fourcorners.analysis.finding import UNDER_LOAD, Finding, Verdict
from fourcorners.analysis.internals import drift, unreached


def _drift(probe: str, change: float) -> Finding:
    return Finding(
        f"drift_{probe}", "", "measured", "It changed.", value=change, detail={"test": probe}
    )


@pytest.mark.parametrize("verdict", ["measured", "not applicable"])
def test_what_a_disturbed_probe_said_is_not_identifiable(verdict: Verdict) -> None:
    found = Finding("x", "X", verdict, "so it is", evidence=("probe-caches/random",))
    [doubted] = drift.doubted([found], [_drift("probe-caches", 0.8)], ["probe-caches"])
    assert doubted.verdict == "not identifiable"
    assert "so it is" in doubted.text
    assert drift.doubted([found], [_drift("probe-caches", 0.2)], ["probe-caches"]) == [found]
    # Writes change a drive by themselves.
    other = Finding("x", "X", verdict, "", evidence=("probe-burst/long",))
    assert drift.doubted([other], [_drift("probe-burst", 0.8)], ["probe-caches"]) == [other]


def test_where_most_reads_are_disturbed_writes_are_too() -> None:
    found = Finding(
        "slc_cache_bytes", "", "measured", "", value=1e9, evidence=("probe-burst/long",)
    )
    watched = ["probe-depth", "probe-seeks", "probe-caches"]
    some = [_drift(probe, 0.8) for probe in watched]
    assert drift.doubted([found], some[:1], watched) == [found]
    [doubted] = drift.doubted([found], some, watched)
    assert (doubted.verdict, doubted.value) == ("not identifiable", None)


def test_reads_of_sizes_are_doubted_but_not_the_writes_after_them() -> None:
    read, write = (
        Finding("x", "X", "measured", "", value=1.0, evidence=(f"probe-sizes/{operation}/512",))
        for operation in ("read", "write")
    )
    found = drift.doubted([read, write], [_drift("probe-sizes", 0.8)], ["probe-sizes"])
    assert [f.verdict for f in found] == ["not identifiable", "measured"]


def test_other_load_makes_nothing_quick() -> None:
    still = Finding(
        "rotation_rpm",
        "",
        "measured",
        "",
        value=0.0,
        evidence=("probe-seeks/near",),
        detail={UNDER_LOAD: True},
    )
    assert drift.doubted([still], [_drift("probe-seeks", 0.8)], ["probe-seeks"]) == [still]


def test_what_the_host_answered_is_not_the_drives() -> None:
    read, other = (
        Finding("x", "X", "measured", "so it is", value=1.0, evidence=(f"probe-seeks/{which}",))
        for which in ("near", "far")
    )
    holes = Finding(
        "artefact_unwritten_blocks", "Never written", "measured", "", evidence=["probe-seeks/near"]
    )
    doubted, kept = unreached.doubted([read, other], [holes])
    assert (doubted.verdict, doubted.value, kept) == ("not identifiable", None, other)
    assert doubted.text.startswith("Never written: the host answered")
    assert "so it is" in doubted.text
