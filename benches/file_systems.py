#!/usr/bin/env python3
"""What `fourcorners trace layout` says a file system would issue, against what a real one does.

    sudo .venv/bin/python benches/file_systems.py [FOLDER]

The same program (writes, rewrites, reads and fsyncs in a file, by a seed) runs on ext4 and XFS with
different blocks, journals and partitions on a loop device, whose block events are captured. From
the first capture the layouts of the others are computed and held against their captures. Takes a
minute, root, tracefs, 1.5 GB in FOLDER (/tmp unless given), and mkfs.ext4 and mkfs.xfs.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fourcorners as fc

SIZE = 400 << 20
FILE = 48 << 20
OPERATIONS = 1500
SHIFT = 63 * 512


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def program(folder: Path) -> None:
    """A file that is there already is changed in small pieces, made durable, and read."""
    random.seed(1)
    descriptor = os.open(folder / "data", os.O_RDWR)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    for number in range(OPERATIONS):
        length = random.choice([1024, 2048, 4096, 4096, 16384, 65536])
        offset = random.randrange((FILE - length) // 1024) * 1024
        if random.random() < 0.4:
            os.pread(descriptor, length, offset)
        else:
            os.pwrite(descriptor, random.randbytes(length), offset)
        if number % 4 == 3:
            os.fsync(descriptor)
    os.fsync(descriptor)
    os.close(descriptor)


def captured(folder: Path, name: str, mkfs: list[str], mount: str, partition: bool) -> Path:
    """The trace of the program on a file system."""
    image, place, trace = folder / "image", folder / "mounted", folder / f"{name}.parquet"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(SIZE)
    place.mkdir(exist_ok=True)
    whole = device = run("losetup", "--find", "--show", "--direct-io=on", str(image))
    try:
        if partition:
            # As a partition that begins at sector 63, which needs no device of its own.
            begin = ["--offset", str(SHIFT), "--direct-io=on"]
            device = run("losetup", "--find", "--show", *begin, whole)
        run(*mkfs, device)
        run("mount", "-o", mount, device, str(place))
        try:
            with (place / "data").open("wb") as file:
                random.seed(2)
                for _ in range(FILE >> 20):
                    file.write(random.randbytes(1 << 20))
                os.fsync(file.fileno())
        finally:
            run("umount", str(place))
        # What the program finds is cold.
        run("mount", "-o", mount, device, str(place))
        # In a process of its own, so that Ctrl-C ends it: a signal goes to the main thread only.
        command = [sys.executable, "-m", "fourcorners", "capture", whole, "--for", "300s"]
        recorder = subprocess.Popen(
            [*command, "-o", str(trace), "--replace"], stdout=subprocess.DEVNULL
        )
        try:
            time.sleep(2.5)
            program(place)
            # The last transaction and what is written back.
            run("sync", "-f", str(place))
            time.sleep(0.5)
        finally:
            recorder.send_signal(2)
            recorder.wait()
            run("umount", str(place))
    finally:
        if device != whole:
            run("losetup", "-d", device)
        run("losetup", "-d", whole)
    return trace


def row(name: str, trace: Path) -> str:
    """A row of the table."""
    found = fc.trace_info(trace)
    parts = []
    for operation in ("read", "write", "flush"):
        own = found.operations.get(operation)
        ios, count = (own.ios, own.bytes) if own else (0, 0)
        parts.append(f"{ios:,}")
        if operation != "flush":
            parts.append(f"{count / 1e6:.2f}")
    fua = found.operations["write"].fua_ios
    return f"| {name} | {' | '.join(parts)} | {fua:,} |"


def main() -> None:
    folder = Path(tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None))
    bare = ["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0"]
    full = ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", "-b", "4096", "-J", "size=32"]
    # Times of access would be written, and those of changes are a part of what ext4 journals.
    plain = "noatime"
    print("| file system | reads | MB | writes | MB | flushes | FUA |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    try:
        base = captured(folder, "ext4-1k", [*bare, "-b", "1024"], plain, False)
        print(row("ext4, blocks of 1 KiB, no journal: captured", base))
        for block in (2048, 4096):
            real = captured(folder, f"ext4-{block}", [*bare, "-b", str(block)], plain, False)
            made = folder / "made.parquet"
            fc.trace_layout(base, made, cluster=block, replace=True)
            print(row(f"blocks of {block >> 10} KiB: captured", real))
            print(row(f"blocks of {block >> 10} KiB: laid out", made), flush=True)
        four = folder / "ext4-4096.parquet"
        shifted = captured(folder, "shifted", [*bare, "-b", "4096"], plain, True)
        fc.trace_layout(four, folder / "made.parquet", shift=SHIFT, replace=True)
        print(row("4 KiB, partition at sector 63: captured", shifted))
        print(row("4 KiB, partition at sector 63: laid out", folder / "made.parquet"))
        ends = [fc.trace_info(one).places.aligned for one in (shifted, folder / "made.parquet")]
        print("aligned:", *ends, file=sys.stderr)
        for mode in ("ordered", "journal"):
            real = captured(folder, mode, full, f"noatime,data={mode}", False)
            made = folder / "made.parquet"
            fc.trace_layout(
                four,
                made,
                journal="data" if mode == "journal" else "ordered",
                journal_size="32MiB",
                metadata_blocks=1,
                replace=True,
            )
            print(row(f"4 KiB, data={mode}: captured", real))
            print(row(f"4 KiB, data={mode}: laid out", made), flush=True)
        if shutil.which("mkfs.xfs"):
            mkfs = ["mkfs.xfs", "-q", "-f", "-s", "size=512", "-b"]
            base = captured(folder, "xfs-1", [*mkfs, "size=1024"], plain, False)
            print(row("XFS, blocks of 1 KiB: captured", base))
            for block in (4096, 16384, 65536):
                try:
                    real = captured(folder, f"xfs-{block}", [*mkfs, f"size={block}"], plain, False)
                except subprocess.CalledProcessError as error:
                    print(f"XFS {block}: {error.stderr}", file=sys.stderr)
                    continue
                fc.trace_layout(base, folder / "made.parquet", cluster=block, replace=True)
                print(row(f"XFS, {block >> 10} KiB: captured", real))
                print(row(f"XFS, {block >> 10} KiB: laid out", folder / "made.parquet"))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
