#!/usr/bin/env python3
"""Which cluster size to take on which drive: docs/cluster-sizes.md.

    .venv/bin/python benches/cluster_sizes.py [--write docs] [DRIVE...]

Two made trees of files, on drives of the catalog that are unlike each other inside: a disk, a drive
that maps blocks, and drives that map pages of different kinds. Takes some ten minutes of one
processor for all of them. The catalog has no disk with shingled tracks; a drive of 1 TB takes far
longer, as its state is loaded before each measurement.
"""

import argparse
import math
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import fourcorners as fc
from fourcorners import wording
from fourcorners.trace.cluster_study import ClusterOnDrive, DriveClusters, Interval

DRIVES = {
    "wd6400aaks": "a disk",
    "ocz-core-64gb": "maps whole blocks",
    "intel-x25-v-40gb": "maps pages",
    "kingston-ssdnow-v-plus-128gb": "maps pages, writes rows over all channels",
    "crucial-m4-128gb": "maps pages, many channels",
}
"""And what they are inside."""

SIZES = ("512B", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "64KiB", "256KiB", "2MiB")
SEEDS = 3
IOS = 1000

MIXED = "of a desktop computer"
LARGE = "photographs"
TREES = {
    # Half are below 4 KiB, and the mean is 189 kB: so Agrawal, Bolosky, Douceur and Lorch, "A
    # five-year study of file-system metadata" (FAST 2007), of 2004. A log-normal has both with
    # this width.
    MIXED: (20_000, 4096.0, math.sqrt(2 * math.log(189_000 / 4096))),
    # Assumed: a camera's files, of 3 MB in the median, and most within a factor of two of it.
    LARGE: (2_000, 3e6, 0.5),
}
"""Files, their median in bytes and the width of the logarithm."""

SAME = 1e-5
"""Of a mean: seeds that differ by less do not differ where all I/Os are alike."""

BEGIN = "<!-- made by benches/cluster_sizes.py -->\n"
END = "<!-- end of what benches/cluster_sizes.py made -->"


def tree(folder: Path, name: str) -> Path:
    """A list of sizes, always the same."""
    count, median, width = TREES[name]
    chance = random.Random(1)
    sizes = (max(1, round(chance.lognormvariate(math.log(median), width))) for _ in range(count))
    file = folder / "sizes.txt"
    file.write_text("".join(f"{size}\n" for size in sizes), "utf-8")
    return file


def interval(one: Interval, unit: float = 1.0) -> str:
    half = (one.high - one.low) / 2
    if half < SAME * one.mean:
        half = 0.0
    return f"{wording.number(one.mean / unit)} ± {wording.number(half / unit, 2)}"


def drive_rows(found: DriveClusters) -> list[str]:
    """What each cluster size makes of a drive."""
    best = min(found.clusters, key=lambda one: one.total_s.mean)

    def row(one: ClusterOnDrive) -> str:
        wear = one.write_amplification
        cells = [
            wording.chosen_size(one.cluster_bytes),
            interval(one.read_bytes_per_second, 1e6),
            interval(one.write_bytes_per_second, 1e6),
            interval(one.changes_per_second),
            "-" if wear is None else interval(wear),
            interval(one.total_s),
            f"{one.total_s.mean / best.total_s.mean:.2f}",
        ]
        return f"| {' | '.join(cells)} |"

    head = [
        "| cluster | read MB/s | written MB/s | changes/s | WA | write, read, change all, s | to "
        "the best |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    return head + [row(one) for one in found.clusters]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("drives", nargs="*", default=list(DRIVES))
    chosen = parser.parse_args()
    summary = [
        f"| drive | inside | files {MIXED} | {LARGE} | changes of 4 KiB alone |",
        "| --- | --- | --- | --- | --- |",
    ]
    details: list[str] = []
    with TemporaryDirectory() as folder:
        for name in chosen.drives:
            taken: dict[str, DriveClusters] = {}
            for kind in TREES:
                study = fc.clusters(
                    tree(Path(folder), kind), on=[f"sim:{name}"], size=SIZES, seeds=SEEDS, ios=IOS
                )
                [taken[kind]] = study.drives
                title = f"### {taken[kind].drive}, files {MIXED}"
                if kind == LARGE:
                    title = f"### {taken[kind].drive}, {LARGE}"
                details += [title, *drive_rows(taken[kind]), ""]
            mixed, large = taken[MIXED], taken[LARGE]
            cells = [
                mixed.drive,
                DRIVES.get(name, ""),
                wording.chosen_size(mixed.taken_bytes),
                wording.chosen_size(large.taken_bytes),
                wording.chosen_size(mixed.taken_change_bytes),
            ]
            summary.append(f"| {' | '.join(cells)} |")
            print(summary[-1], flush=True)
    text = "\n".join([*summary, "", "## By drive", *details])
    if chosen.write is None:
        print(text)
        return
    page = chosen.write / "cluster-sizes.md"
    before, rest = page.read_text("utf-8").split(BEGIN)
    page.write_text(f"{before}{BEGIN}{text}{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
