"""What a drive forgets by TRIM, as the probe finds it."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from explain_fixture import KIB, probed, small_ssd

import fourcorners as fc
from fourcorners.analysis.internals.flash import trim_granularity
from fourcorners.analysis.internals.view import View
from fourcorners.errors import UserError
from fourcorners.suites.probes import trim
from fourcorners.suites.subject import Subject
from fourcorners_validation.arena.drive_text import Bytes, Seconds


@pytest.mark.parametrize(
    ("translation", "truth"),
    [
        ({}, 4 * KIB),
        ({"unit": Bytes(8 * KIB)}, 8 * KIB),
        ({"trim_granularity": Bytes(256 * KIB)}, 256 * KIB),
        ({"trim_granularity": Bytes(0)}, 0),
    ],
)
def test_the_granularity_is_the_drives(
    translation: dict[str, object], truth: int, tmp_path: Path
) -> None:
    found = probed("probe-trim", small_ssd(translation=translation), tmp_path)
    assert found["trim_granularity"].value == truth


def test_a_drive_that_answers_both_alike_shows_nothing(tmp_path: Path) -> None:
    slow = {"read_overhead": Seconds(0.8e-3)}
    found = probed("probe-trim", small_ssd(controller=slow), tmp_path)
    assert found["trim_granularity"].verdict == "not identifiable"


@pytest.mark.parametrize(
    ("trimmed_us", "kept_us", "value", "code"),
    [
        # The map of large parts only is in memory.
        ((113, 113, 54, 54), (173, 113, 173, 113), None, "map_read_too"),
        # That of the smallest parts is.
        ((54, 113, 54, 113), (113, 173, 173, 113), 4 * KIB, "without_data_or_less"),
        ((54, 54, 54, 54), (113, 173, 173, 113), 4 * KIB, "or_less"),
        # Some wait for the map, and no trimmed part lacks the data's time but those from 8 KiB on.
        ((386, 264, 54, 264), (173, 386, 177, 386), 8 * KIB, "without_data"),
        ((386, 264, 386, 264), (173, 386, 177, 386), None, "map_read_too"),
        ((386, 240, 240, 240), (173, 386, 177, 386), None, "map_read_too"),
        # No read needs the map.
        ((113, 113, 54, 54), (113, 113, 113, 113), 16 * KIB, "measured"),
        ((113, 113, 113, 113), (173, 173, 173, 173), None, "between"),
        # A map in the shape of a tree has shorter ways to what larger trimmed parts have left.
        ((130, 110, 90, 75), (173, 173, 173, 173), None, "between"),
        ((54, 173, 54, 173), (173, 173, 173, 173), None, "no_order"),
    ],
)
def test_a_drive_that_reads_its_map_first_may_have_forgotten_what_it_reads_slowly(
    trimmed_us: tuple[int, ...], kept_us: tuple[int, ...], value: float | None, code: str
) -> None:
    def points(kind: str, times_us: tuple[int, ...]) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(
                point={"kind": kind, "part_bytes": 4 * KIB << n},
                latency_percentile_s=lambda _, us=us: us * 1e-6,
                ios=64,
                histogram=(np.array([us]) * 1000, np.array([us]) * 1000, np.array([64])),
            )
            for n, us in enumerate(times_us)
        ]

    read = [
        *points("trimmed", trimmed_us),
        *points("kept", kept_us),
        *points("never written", (54,)),
    ]
    view = SimpleNamespace(points=lambda *_: read)
    view.once = lambda picked: picked(view)
    found = trim_granularity.granularity(cast(View, view))
    assert found is not None
    assert (found.value, found.said.code) == (value, code)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (Subject("device", 10**10, writable=False), "reading only"),
        (Subject("file", 10**10), "a file system answers"),
        (Subject("device", 10**10, no_trim_reason="TRIM needs --purge discard"), "--purge discard"),
    ],
)
def test_where_it_shows_nothing_it_is_left_out(subject: Subject, reason: str) -> None:
    skipped = trim.plan(subject, trim.Parameters(), seed=1).skip_reason
    assert skipped is not None
    assert reason in skipped


def test_a_part_of_a_file_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with fc.open_target(str(path), size=2**20) as target:
        target.run(fc.Workload([fc.Stream.write("sequential", 65536)], volume_bytes=2**20, seed=1))
        target.trim(65536, 131072)
        content = path.read_bytes()
        assert content[65536:196608] == bytes(131072)
        assert content[:4096] != bytes(4096) != content[196608:200704]
        with pytest.raises((UserError, ValueError), match="whole blocks"):
            target.trim(100, 1000)
        with pytest.raises((UserError, ValueError), match="whole blocks"):
            target.trim(0, 2**21)


def test_parts_that_hold_no_whole_unit_at_their_start_are_not_said_to_be_kept() -> None:
    """As in an array of three times 64 KiB, whose rows begin at few multiples of powers of two."""
    read = []
    for kind, quick in (("trimmed", (0, 24)), ("kept", (0, 0)), ("never written", (64,))):
        for n, count in enumerate(quick):
            ns = np.array([37_000, 108_000])
            median_s = 37e-6 if count > 32 else 108e-6
            read.append(
                SimpleNamespace(
                    point={"kind": kind, "part_bytes": 4 * KIB << n},
                    latency_percentile_s=lambda _, median_s=median_s: median_s,
                    ios=64,
                    histogram=(ns, ns, np.array([count, 64 - count])),
                )
            )
    view = SimpleNamespace(points=lambda *_: read)
    view.once = lambda picked: picked(view)
    found = trim_granularity.granularity(cast(View, view))
    assert found is not None
    assert (found.value, found.said.code) == (None, "in_part")
