"""Every drive of the catalog opens, says where its parameters come from, and serves I/O."""

import re

import pytest

import fourcorners as fc
from fourcorners import catalog
from fourcorners.workload import Stream, Workload

SOURCES = (
    "datasheet:",
    "review:",
    "vendor claim",
    "derived",
    "fitted to",
    "assumed",
    "own knowledge, unverified",
    "SATA:",
    "PCIe:",
    "NVMe:",
    "not separable:",
)
# This says it all; the others say what they refer to or rest on.
BARE_SOURCES = ("own knowledge, unverified",)
REVIEWED = (
    "corsair-force-f120", "corsair-nova-v128", "crucial-m4-128gb", "crucial-m4-256gb",
    "intel-320-300gb", "intel-330-180gb", "intel-510-250gb", "intel-dc-s3700-200gb",
    "intel-x25-m-g2-160gb", "intel-x25-m-g2-80gb", "intel-x25-v-40gb",
    "kingston-ssdnow-v-plus-128gb", "ocz-core-64gb", "ocz-vector-256gb",
    "ocz-vertex-2-120gb-25nm", "ocz-vertex-2-120gb-34nm", "ocz-vertex-2-120gb-hynix",
    "ocz-vertex-3-120gb", "ocz-vertex-3-240gb", "ocz-vertex-4-256gb", "ocz-vertex-le-100gb",
    "owc-mercury-extreme-100gb", "owc-mercury-extreme-50gb", "samsung-830-256gb",
    "samsung-840-pro-256gb", "wd6400aaks",
)  # fmt: skip
every_drive = pytest.mark.parametrize("name", catalog.names())


def test_the_catalog_holds_every_reviewed_drive() -> None:
    assert set(REVIEWED) <= set(catalog.names())


def test_no_two_drives_have_the_same_name() -> None:
    shown = [catalog.load(name).name for name in catalog.names()]
    assert len(set(shown)) == len(shown)


@every_drive
def test_every_parameter_has_a_source(name: str) -> None:
    drive = catalog.load(name)
    assert drive.summary
    assert drive.parameters
    for parameter in drive.parameters:
        said = f"{name}: {parameter.section}.{parameter.name}: {parameter.source!r}"
        assert parameter.source.startswith(SOURCES), said
        assert parameter.source not in SOURCES or parameter.source in BARE_SOURCES, said


@every_drive
def test_the_capacity_is_what_the_name_says(name: str) -> None:
    drive = fc.open_target(f"sim:{name}")
    capacity = next(p for p in catalog.load(name).parameters if p.section == "capacity")
    stated = re.search(r"drive of (\d+) GB|an? (\d+) GB drive", capacity.source)
    if stated:
        gigabytes = int(stated[1] or stated[2])
        assert 0.98 < drive.capacity_bytes / (gigabytes * 1e9) < 1.01


@every_drive
def test_a_drive_serves_reads_and_writes(name: str) -> None:
    drive = fc.open_target(f"sim:{name}")
    span = 64 * 2**20
    fill = Stream.write("sequential", 131072, span_bytes=span, queue_depth_per_worker=4)
    drive.run(Workload([fill], volume_bytes=span))
    for read_share in (1.0, 0.0, 0.5):
        stream = Stream(
            read_share=read_share, block_bytes=4096, pattern="random",
            span_bytes=span, queue_depth_per_worker=4,
        )  # fmt: skip
        recording = drive.run(Workload([stream], ios=2000))
        assert recording.error_count == 0
        assert recording.iops > 0
        # Little's law, which no model may break.
        latencies = sum(op.ios * (op.latency_mean_s or 0) for op in recording.operations.values())
        assert latencies / recording.elapsed_s == pytest.approx(4, rel=0.02)
