"""Quantities: what is written can be read, and mistakes are named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorners import units, wording
from fourcorners.errors import UserError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4 KiB", 4096),
        ("4KiB", 4096),
        ("8 GB", 8 * 10**9),
        ("1.5 MiB", 3 << 19),
        ("512 B", 512),
        ("1_000 kB", 10**6),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert units.parse_bytes(text) == count


@settings(deadline=None)
@given(st.integers(1, 1023), st.sampled_from(["B", "KiB", "MiB", "GiB", "TiB"]))
def test_whole_binary_sizes_survive_formatting(number: int, unit: str) -> None:
    count = units.parse_bytes(f"{number} {unit}")
    assert units.parse_bytes(wording.chosen_size(count)) == count


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("4", "the unit is missing"),
        ("4 XB", 'unknown unit "XB"'),
        ("-4 GB", "write a number and a unit"),
        ("many", "write a number and a unit"),
        ("", "write a number and a unit"),
        ("99999999999999999999GiB", "more than any drive has"),
        ("9" * 400 + "GiB", "more than any drive has"),
    ],
)
def test_mistakes_are_named(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        units.parse_bytes(text)


def test_times() -> None:
    assert units.parse_seconds("30 s") == 30
    assert units.parse_seconds("2ms") == pytest.approx(0.002)
    with pytest.raises(UserError, match='unknown unit "GB"'):
        units.parse_seconds("3 GB")


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
