#!/usr/bin/env python3
"""Counts how often `fourcorners gate` fails a build that changed nothing.

Prints the tables of docs/compare.md.

usage: benches/gate_alarms.py [--builds 1000] [--drive-builds 10]
                              [--file PATH [--size 2GiB] [--file-builds 20]]

The builds are of three kinds. Figures that scatter by chance are drawn at random. Simulated drives
are compared with themselves under other seeds, each build with a baseline of its own. A file is
compared with itself, all builds one after the other with one baseline (20 builds take an hour).
Nothing but the file is written.
"""

import argparse
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from gate_draws import share_failed

import fourcorners as fc
from fourcorners.running import gating
from fourcorners.units import parse_bytes

DRIVES = ("intel-x25-v-40gb", "ocz-vertex-3-120gb", "wd6400aaks")
DEVIATIONS = (0.01, 0.03, 0.1, 0.3)


def drawn(builds: int) -> None:
    print(
        "| spread from run to run | runs of the baseline | equal | all at the tolerance "
        "| equal, heavy tails | 20 % slower | half |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for deviation in DEVIATIONS:
        for runs in (1, 3, 6):
            draw = partial(share_failed, deviation, builds=builds, seed=7, baseline_runs=runs)
            shares = [
                draw(),
                draw(slower=1 - gating.TOLERANCE),
                draw(tails=3.0),
                draw(slower=0.8),
                draw(slower=0.5),
            ]
            cells = " | ".join(f"{100 * share:.3g} %" for share in shares)
            print(f"| {100 * deviation:g} % | {runs} | {cells} |", flush=True)


def drives(builds: int, folder: Path) -> None:
    print("| target | builds | failed | measured three times |")
    print("| --- | ---: | ---: | ---: |")
    for drive in DRIVES:
        failed = again = 0
        for build in range(builds):
            base, seed = folder / f"{drive}-{build}", 1 + 6 * build
            fc.gate(f"sim:{drive}", base, write_baseline=True, seed=seed)
            gated = fc.gate(f"sim:{drive}", base, seed=seed + 3, out=folder / "runs")
            failed += gated.is_worse
            again += len(gated.runs) > 1
        print(f"| sim:{drive} | {builds} | {failed} | {again} |", flush=True)


def file(path: str, size: int, builds: int, folder: Path) -> None:
    failed = again = 0
    with fc.open_target(path, size=size) as target:
        fc.gate(target, folder / "file", write_baseline=True)
        for build in range(1, builds + 1):
            gated = fc.gate(target, folder / "file", out=folder / "runs")
            failed += gated.is_worse
            again += len(gated.runs) > 1
            told = [f"{c.gate.text} {c.recording} {c.words}" for c in gated.failed]
            print(f"build {build}: {len(gated.runs)} runs, {told}", file=sys.stderr, flush=True)
    print(f"| {Path(path).name} | {builds} | {failed} | {again} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--builds", type=int, default=1000)
    parser.add_argument("--drive-builds", type=int, default=10)
    parser.add_argument("--file")
    parser.add_argument("--size", default="2GiB")
    parser.add_argument("--file-builds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.builds:
            drawn(arguments.builds)
        if arguments.drive_builds:
            drives(arguments.drive_builds, Path(folder))
        if arguments.file is not None:
            file(arguments.file, parse_bytes(arguments.size), arguments.file_builds, Path(folder))


main()
