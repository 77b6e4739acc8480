"""Quantities: what is written can be read, and mistakes are named."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorners import units, wording
from fourcorners.errors import UserError

_KINDS = {
    "time": (units.parse_seconds, 1e9),
    "size": (units.parse_bytes, 1),
    "rate": (units.parse_rate, 1),
    "share": (units.parse_share, 1),
}
"""What reads the kinds of ``quantities.toml`` that Python reads, and the smallest unit there."""

_CASES = [
    (kind, case)
    for kind, cases in tomllib.loads(
        (Path(__file__).parents[1] / "drive/sim/src/specification/quantities.toml").read_text()
    ).items()
    for case in cases
    if kind in _KINDS
]


@pytest.mark.parametrize(("kind", "case"), _CASES, ids=lambda value: str(value))
def test_quantities_are_read_as_in_drive_files(kind: str, case: dict[str, Any]) -> None:
    """The same table is a test of the core: drive/sim/src/specification/quantity.rs."""
    parse, factor = _KINDS[kind]
    if "value" in case:
        assert parse(case["text"]) * factor == pytest.approx(case["value"], rel=1e-12)
    else:
        with pytest.raises(UserError, match=case["complaint"]):
            parse(case["text"])


@settings(deadline=None)
@given(st.integers(1, 1023), st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]))
def test_whole_binary_sizes_survive_formatting(number: int, unit: str) -> None:
    count = units.parse_bytes(f"{number} {unit}")
    assert units.parse_bytes(wording.chosen_size(count)) == count


def test_a_long_number_is_shortened() -> None:
    with pytest.raises(UserError, match=r'"9{60}\.\.\.".*use at most 8 EiB'):
        units.parse_bytes("9" * 400 + "GiB")


def test_formats_for_people() -> None:
    assert wording.chosen_size(0) == "0 B"
    assert wording.chosen_size(12_345) == "12.3 kB"
    assert wording.chosen_size(536_870_912) == "512 MiB"
    assert wording.chosen_size(640_135_028_736) == "640 GB"
    assert wording.rate(131_072_000) == "131 MB/s"
    assert wording.rate(2_084) == "2.08 kB/s"
    assert wording.duration(0.000447) == "447 µs"
    assert wording.duration(0.01285) == "12.8 ms"
    assert wording.duration(999.6e-6) == "1.00 ms"
    assert wording.chosen_time(0.0025) == "2.5 ms"
    assert wording.clock(75) == "1:15"
    assert wording.clock(3700) == "1:01:40"


def test_intervals_tell_their_bounds_apart() -> None:
    assert wording.interval((0.0123, 0.0145), "s") == "12.3 to 14.5 ms"
    assert wording.interval((0.0009, 0.0011), "s") == "900 µs to 1.10 ms"
    assert wording.interval((1.2341, 1.2349), "s") == "1.234 to 1.235 s"
    assert wording.interval((1.23456789, 1.23456789), "s") == "1.23 s"
    assert wording.interval((None, 1.0), "s") == ""
    assert wording.interval(None, "s") == ""


def test_signs() -> None:
    minus = "\N{MINUS SIGN}"
    assert wording.quantity(-6.5e-3, "s") == f"{minus}6.50 ms"
    assert wording.number(1e-7) == f"1.00e{minus}07"
    changes = (0.983, 0.0431, -0.0431, -0.5, 1.26, 1e-5, -1e-5)
    words = ["+98 %", "+4.3 %", f"{minus}4.3 %", f"{minus}50 %", "+126 %", "0 %", "0 %"]
    assert [wording.change(change) for change in changes] == words
