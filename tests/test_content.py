"""What written data looks like to compressors and to drives that deduplicate."""

import zlib
from pathlib import Path

import pyarrow as pa
import pytest

import fourcorners as fc
from fourcorners.patterns import duplicated

MIB = 1 << 20


def written(path: Path, content: str, count: int, block_bytes: int = 4096) -> bytes:
    """A file of ``count`` bytes after one sequential write of all of it."""
    with fc.open_target(str(path), size=count) as target:
        stream = fc.Stream.write(
            "sequential", block_bytes, content=content, queue_depth_per_worker=8
        )
        target.run(fc.Workload([stream], volume_bytes=count))
    return path.read_bytes()


def compressed_percent(data: bytes, compressor: str, piece_bytes: int) -> float:
    """Size after compression, piece by piece, in percent."""
    total = 0
    for start in range(0, len(data), piece_bytes):
        piece = data[start : start + piece_bytes]
        if compressor == "zlib":
            total += len(zlib.compress(piece))
        else:
            total += len(pa.Codec(compressor).compress(piece))
    return 100 * total / len(data)


@pytest.mark.parametrize("percent", [5, 10, 25, 46, 50, 67, 90, 100])
def test_compressibility(percent: int, tmp_path: Path) -> None:
    data = written(tmp_path / "test.img", fc.compressible(percent), MIB)
    for compressor in ("zlib", "lz4_raw", "zstd"):
        for piece_kib in (4, 64, 128):
            got = compressed_percent(data, compressor, piece_kib * 1024)
            assert abs(got - percent) <= 1, (compressor, piece_kib, got)
    assert _repetition_percent(data) == 0


def test_incompressible_data_neither_compresses_nor_repeats(tmp_path: Path) -> None:
    data = written(tmp_path / "test.img", fc.INCOMPRESSIBLE, 4 * MIB)
    assert compressed_percent(data, "zstd", 128 * 1024) >= 100
    assert _repetition_percent(data) == 0


def test_repeated_data_repeats_and_does_not_compress(tmp_path: Path) -> None:
    data = written(tmp_path / "test.img", fc.REPEATED, 4 * MIB)
    assert compressed_percent(data, "zstd", 4096) >= 100
    assert _repetition_percent(data) > 99.8


@pytest.mark.parametrize("percent", [1, 30, 50, 90])
@pytest.mark.parametrize("block_bytes", [4096, 128 * 1024])
def test_duplicated_data(percent: int, block_bytes: int, tmp_path: Path) -> None:
    data = written(tmp_path / "test.img", duplicated(percent), 32 * MIB, block_bytes)
    assert abs(_repetition_percent(data) - percent) <= 1
    # The copies are no use to a compressor, whatever it sees at a time.
    for piece_kib in (4, 64, 128):
        assert compressed_percent(data[: 4 * MIB], "zstd", piece_kib * 1024) >= 99


def _repetition_percent(data: bytes) -> float:
    """Share of the 4 KiB blocks that need not be stored since there is one like them."""
    blocks = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    return 100 * (1 - len(set(blocks)) / len(blocks))
