"""Findings that contradict each other are not given; each rule fires, and not beside it."""

from typing import Any

import pytest

from fourcorners.analysis.internals.collection.superblock import BY_WAITS
from fourcorners.analysis.internals.method.contradictions import RULES, withdrawn
from fourcorners.finding import Finding
from fourcorners.sentences import say

Given = dict[str, Any]

ROWS = {"page_bytes": 4096, "dies": 16, "placement_by_address": 1}

CASES: dict[str, tuple[Given, Given]] = {
    "kept_beside_no_cache": (
        {"dies": (8, "dies.once_read"), "read_cache_bytes": 0},
        {"dies": (8, "dies.once_read"), "read_cache_bytes": 2**20},
    ),
    "above_the_link": (
        {"link_ceiling": 280e6, "outer_rate": 300e6},
        {"link_ceiling": 280e6, "outer_rate": 281e6},
    ),
    "units_beside_dies": (
        {"parallel_units": 32, "dies": 8, "planes_per_die": 2},
        {"parallel_units": 16, "dies": 8, "planes_per_die": 2},
    ),
    "channels_beside_dies": ({"channels": 16, "dies": 8}, {"channels": 8, "dies": 8}),
    "volatile_beside_protected": (
        {"volatile_write_cache": 1, "power_loss_protection": 1},
        {"volatile_write_cache": 1, "power_loss_protection": 0},
    ),
    "buffer_beside_waiting": (
        {"volatile_write_cache": 0, "power_loss_protection": 0, "write_buffer_bytes": 2**20},
        {"volatile_write_cache": 1, "power_loss_protection": 0, "write_buffer_bytes": 2**20},
    ),
    "part_of_its_parts": (
        {"superblock_bytes": 8192, "page_bytes": 16384},
        {"superblock_bytes": 2**20, "page_bytes": 16384},
    ),
    "no_whole_blocks": (
        {"superblock_bytes": (521 * 2**16, "superblock_bytes.measured"), **ROWS},
        {"superblock_bytes": (512 * 2**16, "superblock_bytes.measured"), **ROWS},
    ),
    "stalls_beside_superblock": (
        {"superblock_bytes": 8e6, "collection_stall_spacing": 16e6},
        {"superblock_bytes": 8e6, "collection_stall_spacing": 8e6},
    ),
    "slower_once": (
        {"write_buffer_bytes": 6e6, "slc_cache_bytes": (None, "slc_cache_bytes.once_only")},
        {"write_buffer_bytes": 6e6, "slc_cache_bytes": (0, "slc_cache_bytes.none")},
    ),
    "zones_beside_no_arm": ({"rotation_rpm": 0, "zones": 8}, {"rotation_rpm": 0, "zones": 1}),
    "seeks_out_of_order": (
        {"seek_base": 9e-3, "seek_mean": 8e-3},
        {"seek_base": 1e-3, "seek_mean": 8e-3},
    ),
    "spare_beside_platters": (
        {"rotation_rpm": 7200, "op_by_cliff": 0.02, "over_provisioning": 0.02},
        {"rotation_rpm": 0, "op_by_cliff": 0.02, "over_provisioning": 0.02},
    ),
    "dies_beside_platters": (
        {"rotation_rpm": 7200, "seek_stroke": 9e-3, "dies": 8},
        {"rotation_rpm": 0, "dies": 8},
    ),
}


def _findings(given: Given) -> list[Finding]:
    pairs = {
        name: one if isinstance(one, tuple) else (one, "any.value") for name, one in given.items()
    }
    return [
        Finding(name, name, "not identifiable" if value is None else "measured", "So it is.",
                value=value, unit="1", said=say(code), detail={BY_WAITS: (value, value)})
        for name, (value, code) in pairs.items()
    ]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_contradicting_findings_are_not_given(name: str) -> None:
    against, beside = (_findings(given) for given in CASES[name])
    gone = [f for f in withdrawn(against) if f.said is not None and f.said.code.endswith(".said")]
    assert gone
    assert all(f.value is None and f.verdict == "not identifiable" for f in gone)
    assert f"contradiction.{name}" in list(gone[0].said.codes if gone[0].said else ())
    assert withdrawn(beside) == beside


def test_without_dies_nothing_is_said_of_their_channels() -> None:
    once = _findings(
        {"dies": (8, "dies.once_read"), "read_cache_bytes": 0, "channels": 4, "planes_per_die": 2}
    )
    assert all(f.value is None for f in withdrawn(once))


def test_each_rule_has_its_case() -> None:
    fired = [
        [rule for rule in RULES if rule.fires({f.name: f for f in _findings(against)})]
        for against, _ in CASES.values()
    ]
    assert [len(rules) for rules in fired] == [1] * len(RULES)
    assert len({id(rules[0]) for rules in fired}) == len(RULES)


def test_an_erase_unit_that_regular_stalls_contradict_is_not_given() -> None:
    spacing = (None, "collection_stalls.contradict_erased")
    unlike = {"superblock_bytes": 2.4e6, "collection_stall_spacing": spacing}
    assert [f.value for f in withdrawn(_findings(unlike))] == [None, None]


@pytest.mark.parametrize(
    ("interval", "by_address", "given"),
    [
        ((520.5, 521.5), 1, False),
        # One of these counts is a whole number of blocks.
        ((511.5, 530.5), 1, True),
        # So many counts are near a whole number of blocks by chance.
        ((513.0, 522.0), 1, True),
        # Parity or notes may take pages of each block.
        ((520.5, 521.5), 0, True),
    ],
)
def test_only_a_count_that_shows_no_whole_blocks_is_withdrawn(
    interval: tuple[float, float], by_address: int, given: bool
) -> None:
    row = 16 * 4096
    found = {f.name: f for f in _findings({**ROWS, "placement_by_address": by_address})}
    # With a write buffer the bounds are wider, and hold a whole number of blocks anyway.
    by_waits = (interval[0] * row, interval[1] * row)
    unit = Finding("superblock_bytes", "", "measured", "So it is.", value=521.0 * row, unit="B",
                   interval=(500.0 * row, 540.0 * row), detail={BY_WAITS: by_waits},
                   said=say("superblock_bytes.measured"))  # fmt: skip
    told = withdrawn([*found.values(), unit])[-1]
    assert (told.value is not None) == given
