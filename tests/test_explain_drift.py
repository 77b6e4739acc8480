"""What other load disturbed is not taken as the drive's."""

import pytest

from fourcorners.analysis.finding import Finding, Verdict
from fourcorners.analysis.internals import drift


def _drift(probe: str, change: float) -> Finding:
    return Finding(
        f"drift_{probe}", "", "measured", "It changed.", value=change, detail={"test": probe}
    )


@pytest.mark.parametrize("verdict", ["measured", "not applicable"])
def test_what_a_disturbed_probe_said_is_not_identifiable(verdict: Verdict) -> None:
    found = Finding("x", "X", verdict, "so it is", evidence=("probe-caches/random",))
    [doubted] = drift.doubted([found], [_drift("probe-caches", 0.8)])
    assert doubted.verdict == "not identifiable"
    assert "so it is" in doubted.text
    assert drift.doubted([found], [_drift("probe-caches", 0.2)]) == [found]
    # Writes change a drive by themselves.
    other = Finding("x", "X", verdict, "", evidence=("probe-burst/long",))
    assert drift.doubted([other], [_drift("probe-burst", 0.8)]) == [other]
