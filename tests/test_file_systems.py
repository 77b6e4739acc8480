"""What file systems make of traces and of files."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from specimen_drive import program

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.trace.file_sizes import CLUSTERS, figures_of, io_sizes, sizes_of

HEADER = "time_ns,operation,fua,offset_bytes,length_bytes,volume,latency_ns,queue,process,stream"
KIB = 1024
S = 10**9
Io = tuple[int, str, int, int, int]
"""Time, operation, FUA, offset, length."""


def made(path: Path, records: list[Io], volume: str = "a") -> Path:
    lines = [f"{t},{op},{fua},{off},{n},{volume},1000,,," for t, op, fua, off, n in records]
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def laid(path: Path, **options: object) -> list[Io]:
    out = path.with_suffix(".parquet")
    fc.trace_layout(path, out, replace=True, **options)  # type: ignore[arg-type]
    names = ["time_ns", "operation", "fua", "offset_bytes", "length_bytes"]
    columns = pq.read_table(out).select(names).to_pydict()
    assert columns["time_ns"] == sorted(columns["time_ns"])
    return list(zip(*(columns[name] for name in names), strict=True))


def test_whole_clusters_stay_as_they_are(tmp_path: Path) -> None:
    records: list[Io] = [
        (0, "write", 0, 4096, 8192),
        (1, "read", 0, 4096, 4096),
        (2, "read", 0, 4096, 4096),
        (3, "write", 0, 8192, 4096),
        (4, "flush", 0, 0, 0),
        (5, "write", 1, 8192, 4096),
        (6, "discard", 0, 16384, 16384),
    ]
    assert laid(made(tmp_path / "t.csv", records)) == records


def test_parts_of_clusters_are_filled_and_written_whole(tmp_path: Path) -> None:
    records: list[Io] = [
        (0, "write", 0, 4096, 1024),
        (10, "flush", 0, 0, 0),
        # The cluster is in memory now: no read, and a read of it is spared.
        (20, "write", 0, 6144, 1024),
        (30, "flush", 0, 0, 0),
        (40, "read", 0, 5120, 1024),
        (50, "read", 0, 11264, 2048),
    ]
    assert laid(made(tmp_path / "t.csv", records)) == [
        (0, "read", 0, 4096, 4096),
        (0, "write", 0, 4096, 4096),
        (10, "flush", 0, 0, 0),
        (20, "write", 0, 4096, 4096),
        (30, "flush", 0, 0, 0),
        (50, "read", 0, 8192, 8192),
    ]


def test_parts_that_are_written_back_together_are_one_write(tmp_path: Path) -> None:
    records: list[Io] = [(n, "write", 0, 1024 * n, 1024) for n in range(8)]
    assert laid(made(tmp_path / "t.csv", records), cluster="8KiB") == [
        (0, "read", 0, 0, 8192),
        (7, "write", 0, 0, 8192),
    ]
    # Not over a flush.
    records.insert(4, (3, "flush", 0, 0, 0))
    found = laid(made(tmp_path / "t.csv", records), cluster="8KiB")
    assert [one[1] for one in found] == ["read", "write", "flush", "write"]


def test_a_shift_moves_everything(tmp_path: Path) -> None:
    path = made(tmp_path / "t.csv", [(0, "read", 0, 4096, 4096), (1, "flush", 0, 0, 0)])
    assert laid(path, shift="31.5KiB") == [
        (0, "read", 0, 4096 + 32256, 4096),
        (1, "flush", 0, 0, 0),
    ]


def test_an_ordered_journal_writes_metadata_before_and_in_place_later(tmp_path: Path) -> None:
    records: list[Io] = [
        (0, "write", 0, 0, 4096),
        (1, "flush", 0, 0, 0),
        (2, "flush", 0, 0, 0),
        (31 * S, "read", 0, 0, 4096),
    ]
    mib = 1 << 20
    assert laid(made(tmp_path / "t.csv", records), journal="ordered", journal_size="1MiB") == [
        (0, "write", 0, 0, 4096),
        # A block that says where three of metadata belong, and what ends the transaction.
        (1, "write", 0, mib, 4 * 4096),
        (1, "flush", 0, 0, 0),
        (1, "write", 1, mib + 4 * 4096, 4096),
        # Nothing was written since.
        (2, "flush", 0, 0, 0),
        (30 * S + 1, "write", 0, 2 * mib, 3 * 4096),
        (31 * S, "read", 0, 0, 4096),
    ]


def test_a_journal_of_data_writes_each_place_once_later(tmp_path: Path) -> None:
    records: list[Io] = []
    for number in range(10):
        records += [
            (2 * number, "write", 0, 40960, 4096),
            (2 * number + 1, "flush", 0, 0, 0),
        ]
    found = laid(
        made(tmp_path / "t.csv", records), journal="data", journal_size="4MiB", metadata_blocks=1
    )
    in_place = [one for one in found if one[1] == "write" and one[3] < 1 << 20]
    assert in_place == [(19, "write", 0, 40960, 4096)]
    assert sum(one[2] for one in found) == 10
    journal = sum(one[4] for one in found if 1 << 20 <= one[3] < 5 << 20)
    # Of each transaction: where it belongs, the block, one of metadata, and the end.
    assert journal == 10 * 4 * 4096
    # What waits five seconds is a transaction without a flush.
    slow: list[Io] = [(0, "write", 0, 0, 4096), (20 * S, "read", 0, 8192, 4096)]
    found = laid(made(tmp_path / "s.csv", slow), journal="data", journal_size="4MiB")
    assert [one[:2] for one in found[:3]] == [(5 * S, "write"), (5 * S, "flush"), (5 * S, "write")]


def test_an_old_journal_is_left_out(tmp_path: Path) -> None:
    records: list[Io] = [
        (0, "write", 0, 0, 4096),
        (1, "write", 1, 1 << 20, 4096),
        (2, "write", 0, 2 << 20, 4096),
    ]
    found = laid(made(tmp_path / "t.csv", records), without_journal_at="1MiB:1MiB")
    assert found == [records[0], records[2]]


def test_a_log_is_written_in_order_and_read_where_it_went(tmp_path: Path) -> None:
    records: list[Io] = [
        (0, "write", 0, 40960, 8192),
        (1, "write", 0, 0, 4096),
        (2, "read", 0, 0, 4096),
        (3, "read", 0, 40960, 8192),
        (4, "read", 0, 4096, 4096),
    ]
    assert [one[1:] for one in laid(made(tmp_path / "t.csv", records), log_structured=True)] == [
        ("write", 0, 0, 8192),
        ("write", 0, 8192, 4096),
        ("read", 0, 8192, 4096),
        ("read", 0, 0, 8192),
        ("read", 0, 4096, 4096),
    ]


def test_a_full_log_is_emptied_and_what_counts_survives(tmp_path: Path) -> None:
    """16 MiB are written in a scattered order many times: every cluster is read where it lies."""
    clusters = 4096
    order = [(number * 1597) % clusters for number in range(5 * clusters)]
    # Every second one more often, so that segments have something left.
    order = [one if number % 3 else one & ~7 for number, one in enumerate(order)]
    records: list[Io] = [(n, "write", 0, 4096 * one, 4096) for n, one in enumerate(order)]
    last = len(records)
    records += [(last + n, "read", 0, 4096 * n, 4096) for n in range(clusters)]
    found = laid(made(tmp_path / "t.csv", records), log_structured=True, log_spare=0.1)
    content: dict[int, int] = {}
    latest = {one: number for number, one in enumerate(order)}
    own, moving = 0, []
    for time, operation, _, offset, length in found:
        places = range(offset // 4096, (offset + length) // 4096)
        if operation == "discard":
            for place in places:
                content.pop(place, None)
        elif operation == "read" and time < last:
            # What is moved is read in this order, and written in it.
            moving += [content[place] for place in places if place in content]
        elif operation == "write":
            for place in places:
                if moving:
                    content[place] = moving.pop(0)
                else:
                    content[place] = order[own]
                    own += 1
        elif operation == "read":
            [place] = places
            cluster = time - last
            if cluster in latest:
                assert content[place] == cluster
    assert own == len(order)
    written = sum(one[4] for one in found if one[1] == "write")
    assert written > 1.2 * 4096 * len(order)
    assert any(one[1] == "discard" for one in found)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--cluster", "3000 B"], "power of two of 512 B to 2 MiB"),
        (["--cluster", "4MiB"], "power of two of 512 B to 2 MiB"),
        (["--shift", "100 B"], "multiple of 512"),
        (["--journal", "data", "--log-structured"], "name one of them"),
        (["--journal", "data", "--journal-size", "8KiB"], "64 clusters or more"),
        (["--log-structured", "--log-spare", "0"], "a share above 0"),
        (["--without-journal-at", "7"], "START:LENGTH"),
        (["--metadata-blocks", "0"], "1 block of metadata or more"),
        (["--metadata-blocks", "3"], "changes nothing: add --journal"),
        (["--journal-size", "128MiB"], "changes nothing: add --journal"),
        (["--journal", "data", "--log-spare", "0.1"], "changes nothing: add --log-structured"),
    ],
)
def test_what_is_no_layout_is_one_sentence(
    options: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(tmp_path / "t.csv", [(0, "write", 0, 0, 4096)])
    assert main(["trace", "layout", str(path), str(tmp_path / "o.csv"), *options]) == 2
    assert sentence in capsys.readouterr().err


def test_several_volumes_are_no_file_system(tmp_path: Path) -> None:
    path = made(tmp_path / "t.csv", [(0, "write", 0, 0, 4096)])
    path.write_text(path.read_text() + "1,write,0,0,4096,b,,,,\n")
    with pytest.raises(fc.UserError, match="one volume"):
        fc.trace_layout(path, tmp_path / "o.parquet")


def test_slack_and_ios_by_hand() -> None:
    sizes = np.asarray([0, 1, 4096, 4097, 300_000], dtype=np.int64)
    four = figures_of(sizes, 4096)
    assert four.allocated_bytes == 4096 * (1 + 1 + 2 + 74)
    assert four.slack_bytes == four.allocated_bytes - 308_194
    # 128 KiB at a time: 1, 1, 1, and 32 + 32 + 10 clusters.
    assert (four.ios, four.ios_in_pieces) == (6, 78)
    large = figures_of(sizes, 2 << 20)
    assert (large.ios, large.io_mean_bytes) == (4, 2 << 20)
    for cluster in CLUSTERS:
        own = figures_of(sizes, cluster)
        shares = io_sizes(sizes, cluster)
        assert sum(share for _, share in shares) == pytest.approx(1)
        mean = sum(size * share for size, share in shares)
        assert mean == pytest.approx(own.io_mean_bytes, rel=0.05)


def test_a_tree_counts_files_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "one").write_bytes(bytes(5000))
    (tmp_path / "sub" / "two").hardlink_to(tmp_path / "one")
    (tmp_path / "sub" / "three").write_bytes(bytes(100))
    (tmp_path / "link").symlink_to(tmp_path / "one")
    assert sorted(sizes_of(tmp_path)) == [100, 5000]
    assert main(["clusters", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "2 files" in said
    listed = tmp_path / "sizes"
    listed.write_text("5000\n\n100\n")
    assert sorted(sizes_of(listed)) == [100, 5000]
    listed.write_text("5000\n12 kB\n")
    assert main(["clusters", str(listed)]) == 2
    assert 'line 2: "12 kB" is no size' in capsys.readouterr().err
    assert main(["clusters", str(tmp_path), "--on", "t.bin"]) == 2
    assert "is not simulated" in capsys.readouterr().err


def test_a_drive_tells_large_clusters_from_small_ones(tmp_path: Path) -> None:
    listed = tmp_path / "sizes"
    listed.write_text("".join(f"{size}\n" for size in [2000] * 50 + [100_000] * 10))
    study = fc.clusters(
        listed, on=["sim:intel-x25-v-40gb"], size=["4KiB", "256KiB"], seeds=2, ios=300
    )
    [drive] = study.drives
    small, large = drive.clusters
    # Slack is transferred and does not count; a change of 4 KiB rewrites its cluster.
    assert large.read_bytes_per_second.mean < small.read_bytes_per_second.mean
    assert large.changes_per_second.high < small.changes_per_second.low
    assert small.change_amplification is not None
    assert large.change_amplification is not None
    assert large.change_amplification.mean > 8 * small.change_amplification.mean
    assert drive.taken_bytes == 4096


def test_a_program_that_saves_no_state_begins_each_measurement_anew(tmp_path: Path) -> None:
    listed = tmp_path / "sizes"
    listed.write_text("".join(f"{size}\n" for size in [2000] * 50 + [100_000] * 10))
    shingled = f"exec:{program('smr')} capacity=1G media_cache=100M band=20M"
    study = fc.clusters(listed, on=[shingled], size=["4KiB", "256KiB"], seeds=2, ios=100)
    [small, large] = study.drives[0].clusters
    assert large.changes_per_second.high < small.changes_per_second.low
    # Behind others it gives what it gives alone: its media cache is empty again.
    [alone] = fc.clusters(listed, on=[shingled], size=["256KiB"], seeds=2, ios=100).drives
    expected = alone.clusters[0].write_bytes_per_second.mean
    assert large.write_bytes_per_second.mean == pytest.approx(expected, rel=0.05)
