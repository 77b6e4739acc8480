#!/usr/bin/env python3
"""Which cluster size to take on which drive: docs/cluster-sizes.md.

    .venv/bin/python benches/cluster_sizes.py [--write docs] [DRIVE...]

Two made trees of files, on drives that are unlike each other inside: of the catalog a disk, a drive
that maps blocks, and drives that map pages of different kinds; and of ``tests/specimens`` a disk
with shingled tracks, which a C compiler makes. Of the two that are large a part is simulated, with
everything that counts against the capacity as much smaller, since each measurement begins with the
drive's state. Takes some fifteen minutes of one processor for all of them. With names of drives
``--write`` replaces their rows only.
"""

import argparse
import math
import random
import re
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import fourcorners as fc
from fourcorners import wording
from fourcorners.trace.cluster_study import ClusterOnDrive, DriveClusters, Interval
from fourcorners_validation.arena.drawn import compiled

DRIVES = {
    "wd6400aaks": "a disk",
    "ocz-core-64gb": "maps whole blocks",
    "intel-x25-v-40gb": "maps pages",
    "kingston-ssdnow-v-plus-128gb": "maps pages, writes rows over all channels",
    "crucial-m4-128gb": "maps pages, many channels",
    "class-qlc-nvme-dramless-1tb": "maps pages, QLC behind an SLC cache",
    "smr": "a disk, shingled tracks",
}
"""And what they are inside."""

QLC_PART = 8
"""The state of an eighth is loaded in a third of a second. Its blocks have so many pages fewer, and
are erased so much faster: as many blocks as before keep what garbage collection finds in them."""
SMR = "capacity=15.6G media_cache=125M extents=1560"
"""A 32nd of what the program is by itself, but for its bands: as much cache, and as many extents in
it, for each band."""
SMR_IOS = 4000
"""Two and a half times the extents that its cache takes, so that bands are cleaned."""

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
DETAILS = "\n\n## By drive\n"
END = "<!-- end of what benches/cluster_sizes.py made -->"


def tree(folder: Path, name: str) -> Path:
    """A list of sizes, always the same."""
    count, median, width = TREES[name]
    chance = random.Random(1)
    sizes = (max(1, round(chance.lognormvariate(math.log(median), width))) for _ in range(count))
    file = folder / "sizes.txt"
    file.write_text("".join(f"{size}\n" for size in sizes), "utf-8")
    return file


def part_of_qlc(folder: Path, name: str) -> Path:
    """A drive file of a part of the drive."""
    text = (files("fourcorners.catalog") / "drives" / f"{name}.toml").read_text("utf-8")
    smaller = ("user", "pages_per_block", "erase_time", "static_size")

    def divided(found: re.Match[str]) -> str:
        part = float(found[2]) / QLC_PART
        # Whole blocks of any size, where it is bytes.
        return f"{found[1]}{part - part % (1 << 20) if part > 1 << 20 else part:.15g}"

    for key in smaller:
        text, count = re.subn(rf'(?m)^({key} = {{ value = "?)([0-9.]+)', divided, text)
        assert count == 1, key
    text = re.sub(r'(\[map_cache\]\nsize = { value = ")([0-9.]+)', divided, text)
    text = text.replace('name = "', f'name = "A part (1/{QLC_PART}) of: ', 1)
    file = folder / "part.toml"
    file.write_text(text, "utf-8")
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


def locator(folder: Path, programs: str, name: str) -> str:
    if name == "smr":
        return f"exec:{programs}/smr {SMR}"
    return str(part_of_qlc(folder, name)) if "qlc" in name else f"sim:{name}"


def measured(folder: Path, programs: str, name: str) -> tuple[str, str]:
    """A row of the summary, and the sections of a drive."""
    taken: dict[str, DriveClusters] = {}
    sections = []
    for kind in TREES:
        study = fc.clusters(
            tree(folder, kind),
            on=[locator(folder, programs, name)],
            size=SIZES,
            seeds=SEEDS,
            ios=SMR_IOS if name == "smr" else IOS,
        )
        [taken[kind]] = study.drives
        title = f"### {taken[kind].drive}, {kind if kind == LARGE else f'files {kind}'}"
        sections += [title, *drive_rows(taken[kind]), ""]
    mixed, large = taken[MIXED], taken[LARGE]
    cells = [
        mixed.drive,
        DRIVES.get(name, ""),
        wording.chosen_size(mixed.taken_bytes),
        wording.chosen_size(large.taken_bytes),
        wording.chosen_size(mixed.taken_change_bytes),
    ]
    return f"| {' | '.join(cells)} |", "\n".join(sections)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    parser.add_argument("drives", nargs="*", default=list(DRIVES))
    chosen = parser.parse_args()
    rows: dict[str, str] = {}
    sections: dict[str, str] = {}
    before = after = ""
    if chosen.write is not None:
        before, rest = (chosen.write / "cluster-sizes.md").read_text("utf-8").split(BEGIN)
        made, after = rest.split(END)
        for row in made.split(DETAILS)[0].splitlines()[2:]:
            rows[drive_of(row)] = row
        for section in re.split("(?m)^(?=### )", made.split(DETAILS)[1])[1:]:
            sections[drive_of(section)] = sections.get(drive_of(section), "") + section
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        programs = stack.enter_context(compiled(None))
        for name in chosen.drives:
            row, section = measured(folder, programs, name)
            rows[drive_of(row)], sections[drive_of(row)] = row, section
            print(row, flush=True)
    lines = [
        f"| drive | inside | files {MIXED} | {LARGE} | changes of 4 KiB alone |",
        "| --- | --- | --- | --- | --- |",
        *rows.values(),
    ]
    text = (
        "\n".join(lines) + DETAILS + "\n".join(one.strip("\n") + "\n" for one in sections.values())
    )
    if chosen.write is None:
        print(text)
    else:
        (chosen.write / "cluster-sizes.md").write_text(
            f"{before}{BEGIN}{text}{END}{after}", "utf-8"
        )


def drive_of(text: str) -> str:
    """The drive that a row or a section is about."""
    return re.split(r", (?:files|photographs)| \|", text.removeprefix("### ").removeprefix("| "))[0]


if __name__ == "__main__":
    main()
