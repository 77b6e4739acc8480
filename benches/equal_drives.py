#!/usr/bin/env python3
"""Counts the differences that `compare` reports between a simulated drive and itself.

Each run has another seed, so that every reported difference is false. Prints the table of
docs/compare.md.

    benches/equal_drives.py [--profile quick] [--runs 18] [--tests a,b] [--keep DIR] [DRIVE...]

The runs of a drive are compared in pairs, one run with one and three runs with three; each run is
part of one pair of each kind. Runs in --keep are used again.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fourcorners as fc
from fourcorners.comparison import ComparedRuns, Comparison, compare

DRIVES = ("intel-x25-v-40gb", "ocz-vertex-3-120gb", "wd6400aaks")


def runs_of(drive: str, arguments: argparse.Namespace, kept: Path) -> list[fc.Run]:
    """The drive's runs, each with another seed."""
    tests = arguments.tests.split(",") if arguments.tests else None
    runs = []
    for seed in range(1, arguments.runs + 1):
        path = kept / drive / f"{seed:03}"
        if not path.exists():
            made = fc.characterize(
                f"sim:{drive}", profile=arguments.profile, tests=tests, seed=seed, out=kept
            )
            path.parent.mkdir(exist_ok=True)
            made.path.rename(path)
        runs.append(fc.open_run(str(path)))
    return runs


def pairs(runs: list[fc.Run], size: int) -> Iterator[Comparison]:
    """Comparisons of ``size`` runs with as many others."""
    for first in range(0, len(runs) - 2 * size + 1, 2 * size):
        middle = first + size
        sides = (runs[first:middle], runs[middle : middle + size])
        yield compare(*[ComparedRuns(label, side) for label, side in zip("AB", sides, strict=True)])


def row(drive: str, size: int, comparisons: list[Comparison]) -> str:
    """A line of the table."""
    differences = [d for one in comparisons for d in one.differences]
    ratios = [d.ratio.interval() for d in differences if d.ratio is not None]
    missed = sum(not low <= 1 <= high for low, high in ratios) / len(ratios)
    split = [
        any(rank.place > 1 for ranks in one.ranking.values() for rank in ranks)
        for one in comparisons
    ]
    told = sum(d.told for d in differences)
    telling = sum(any(d.told for d in one.differences) for one in comparisons)
    return (
        f"| {drive} | {size} against {size} | {len(comparisons)} | {told} of {len(differences)} "
        f"| {telling} | {sum(split)} | {100 * missed:.1f} % |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--runs", type=int, default=18)
    parser.add_argument("--tests")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("drives", nargs="*", default=DRIVES)
    arguments = parser.parse_args()
    print("| drive | runs | pairs | differences told | in pairs | not tied | intervals without 1 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        kept = arguments.keep or Path(folder)
        for drive in arguments.drives:
            runs = runs_of(drive, arguments, kept)
            for size in (1, 3):
                if len(runs) >= 2 * size:
                    print(row(drive, size, list(pairs(runs, size))), flush=True)


main()
