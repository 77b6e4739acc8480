"""A recording as tables, and what a run folder keeps of it."""

import errno
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from made_manifest import entry_of_test, made_manifest

import fourcorners as fc
from fourcorners.recording import Recording, columns
from fourcorners.store import RunWriter
from fourcorners.store.entry import entry_of

STREAM = fc.Stream(
    read_share=0.5, block_bytes=4096, pattern=fc.zipf(0.99), queue_depth_per_worker=4
)
WORKLOAD = fc.Workload(
    [STREAM, fc.Stream.read("random", 512, arrival=fc.bursts(100, 5, 200))],
    duration_s=2.5,
    ramp_s=0.5,
    log_ios=1000,
)


@pytest.fixture(scope="module")
def recording() -> Recording:
    with fc.open_target("sim:ocz-vertex-3-240gb") as drive:
        measured = drive.run(WORKLOAD)
    return measured.placed(id="t/mixed", test="t", label="Mixed", workload=WORKLOAD)


def test_each_table_has_the_columns_of_the_run_folder(recording: Recording) -> None:
    for name, schema in columns.TABLES.items():
        table = recording.to_arrow(name)
        assert table.schema.equals(schema), name
        assert table.num_rows > 0, name
    assert recording.to_arrow()["ios"].to_pylist() == [
        one.ios for one in recording.operations.values()
    ]
    with pytest.raises(fc.UserError, match='no table "rows": there are recordings, series'):
        recording.to_arrow("rows")


def test_a_folder_gives_back_the_recording_that_was_written(
    recording: Recording, tmp_path: Path
) -> None:
    read = replace(recording.read, errors={errno.EIO: 3})
    failed = replace(recording, operations={"read": read}, failure="the target failed")
    writer = RunWriter.create(tmp_path, "a")
    writer.add(failed)
    writer.checkpoint(made_manifest(entry_of_test("t", entry_of(failed))))
    [found] = writer.finish().recordings
    for name in columns.TABLES:
        assert found.to_arrow(name).equals(failed.to_arrow(name)), name
    assert found.read.errors == {errno.EIO: 3}
    assert (found.failure, found.label, found.id) == ("the target failed", "Mixed", "t/mixed")
    assert found.workload is not None
    assert found.workload.to_json() == WORKLOAD.to_json()
    assert isinstance(found.in_memory().to_arrow("series"), pa.Table)
