"""The story of a drive, from findings alone."""

from fourcorners.analysis.internals.method import explanation
from fourcorners.finding import PRESENCE, Finding
from fourcorners.sentences import say

_STILL = "Nothing in this drive moves: it is flash, or memory, or a volume behind a network."


def _found(name: str, value: float, unit: str = "1", **detail: object) -> Finding:
    return Finding(name, name, "measured", "", value=value, unit=unit, detail=detail)


def test_a_disk_is_told_by_what_moves() -> None:
    told = explanation.tell(
        [
            _found("mapping_unit", 0.0, "B"),
            _found("rotation_rpm", 7200.0, "1/min"),
            _found("zones", 16.0),
            _found("outer_rate", 117e6, "B/s"),
            _found("inner_rate", 61.5e6, "B/s"),
            _found("command_queue_depth", 32.0),
            _found("reordering", 1.0, PRESENCE, gain=2.8),
            _found("volatile_write_cache", 0.0, PRESENCE),
            Finding("link", "Link", "not identifiable", ""),
        ]
    )
    assert told.detail["kind"] == "disk"
    # Of what is there.
    assert told.detail["figures"] == [
        "rotation_rpm",
        "zones",
        "outer_rate",
        "inner_rate",
        "command_queue_depth",
    ]
    assert told.text == (
        "This is a mechanical disk. It turns 7,200 times a minute. Its rate falls from 117 MB/s at "
        "the outer edge to 61.5 MB/s at the inner one, in 16 zones. It accepts 32 commands at once "
        "and reorders them: random reads become up to 2.80 times as fast. Not identifiable here: 1 "
        "of 9 quantities; each states the reason."
    )


def test_an_array_of_disks_is_told_by_its_arms() -> None:
    units = say("reordering.units", gain=1.7)
    arms = Finding(
        "reordering", "", "not identifiable", "", detail={"gain_of_two": 1.7}, said=units
    )
    told = explanation.tell([_found("rotation_rpm", 7200.0, "1/min"), arms])
    assert told.text.startswith(
        "This is a mechanical disk. Several arms seem to serve its reads, as in an array: two "
        "outstanding ones are served 1.70 times as fast as one."
    )


def test_a_disk_that_may_choose_among_two_reads_is_not_said_to_have_arms() -> None:
    order = Finding(
        "reordering",
        "",
        "not identifiable",
        "",
        detail={"gain_of_two": 1.43},
        said=say("reordering.choice", gain=1.43, most=1.5),
    )
    told = explanation.tell([_found("rotation_rpm", 7200.0, "1/min"), order])
    assert "Several arms" not in told.text
    assert (
        "Two outstanding reads are served 1.43 times as fast as one: two arms serve them, as in an "
        "array, or the disk chooses the nearer of the two."
    ) in told.text


def test_a_disk_tells_what_its_sectors_cost() -> None:
    sector = _found("physical_sector_bytes", 4096.0, "B")
    turns = _found("rotation_rpm", 7200.0, "1/min")
    cost = _found("partial_sector_penalty", 8.33e-3, "s")
    told = explanation.tell([turns, sector, cost])
    assert (
        "It has physical sectors of 4 KiB: a write that is not aligned to them takes a turn longer "
        "(8.33 ms)."
    ) in told.text
    assert "physical" not in explanation.tell([turns, sector]).text


def test_a_drive_that_was_only_read_is_told_by_what_does_not_move() -> None:
    still = _found("rotation_rpm", 0.0, "1/min")
    bare = explanation.tell([still])
    flash = explanation.tell([still, _found("dies", 32.0), _found("channels", 16.0)])
    assert bare.text == _STILL
    assert flash.detail["kind"] == "solid-state"
    assert (
        "32 units on 16 channels work at the same time, each a die or a plane that reads by itself."
    ) in flash.text
    planes = [still, _found("dies", 32.0, units=64), _found("channels", 16.0)]
    assert "32 dies on 16 channels work at the same time." in explanation.tell(planes).text


def test_small_writes_tell_how_a_drive_maps() -> None:
    logs = {"rewrites": True, "read_s": 1e-4}
    block = _found("mapping_unit", 2.0 * 2**20, "B")
    for there, kind in ((1.0, "log-block"), (0.0, "block-mapped")):
        told = explanation.tell([block, _found("log_blocks", there, PRESENCE, **logs)])
        assert told.detail["kind"] == kind
    for read_s, kind in ((1e-4, "page-mapped"), (5e-6, "unknown")):
        pages = _found("log_blocks", 0.0, PRESENCE, rewrites=False, read_s=read_s)
        told = explanation.tell([pages, _found("page_bytes", 4096.0, "B")])
        assert told.detail["kind"] == kind


def test_a_memory_or_a_volume_is_no_flash() -> None:
    """They rewrite no block either."""
    pages = _found("log_blocks", 0.0, PRESENCE, rewrites=False, read_s=5e-4)
    credits = _found("slc_cache_bytes", 2e9, "B")
    told = explanation.tell([pages, _found("rotation_rpm", 0.0, "1/min"), credits])
    assert told.detail["kind"] == "solid-state"
    told = explanation.tell([pages, _found("rotation_rpm", 0.0, "1/min")])
    assert told.text == _STILL


def test_what_does_not_fit_is_counted_apart() -> None:
    told = explanation.tell(
        [_found("mapping_unit", 4096.0, "B"), _found("misfit_read", 0.5), _found("drift_x", 0.2)]
    )
    assert told.detail["kind"] == "page-mapped"
    assert told.text.endswith("2 things did not fit.")


def test_a_model_that_does_not_hold_is_not_told_as_one() -> None:
    read = [
        _found("read_access_penalty", 9e-5, "s", measured_s=[6e-5, 7e-5]),
        _found("read_sequential_rate", 4e9, "B/s"),
    ]
    holds = explanation.tell(read)
    fails = explanation.tell([*read, _found("misfit_read", 0.5)])
    assert holds.detail["figures"] == ["read_access_penalty", "read_sequential_rate"]
    assert fails.detail["figures"] == []
    assert (
        "A read costs 90.0 µs in addition to its transfer, which runs at 4,000 MB/s." in holds.text
    )
    assert "A small read takes 60.0 µs." in fails.text
