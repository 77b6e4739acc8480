#!/usr/bin/env python3
"""Counts how often `compare` is right about whether two hidden drives have the same flash.

Pairs of drives of the arena are probed. "again": the same drive with another seed, and programs and
erasures that scatter. "elsewhere": its flash behind another controller. "other": its controller,
and times of the flash that all differ by the factor given. Prints the table of docs/compare.md.

    benches/same_flash.py [--pairs 8] [--seed 1] [--factors 1.3,2] [--jobs 2]
    benches/same_flash.py --catalog DRIVE,DRIVE,...

Each pair costs two runs of six probes, 10 to 20 s of processor time.
"""

import argparse
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import fourcorners as fc
from fourcorners.comparison.flash import FlashComparison, same_flash
from fourcorners.comparison.subject import ComparedRuns
from fourcorners_validation.arena.explain.drives import KINDS, draw

TESTS = tuple(
    f"probe-{name}" for name in ("depth", "alignment", "conflicts", "flush", "burst", "overwrite")
)
TIMES = ("read_time", "program_time", "program_times", "erase_time")
SCATTER = 0.05
_TIME = re.compile(r"^(\w+) = .*?value = (.*?), source", re.MULTILINE)


def flash_of(text: str) -> dict[str, str]:
    """The times of the flash, as a drive file writes them."""
    return {name: value for name, value in _TIME.findall(text) if name in TIMES}


def with_flash(text: str, times: dict[str, str]) -> str:
    """The drive file with these times of its flash."""
    lines = [line for line in text.splitlines() if line.partition(" ")[0] not in TIMES]
    at = lines.index("[flash]") + 1
    new = [
        f'{name} = {{ value = {value}, source = "drawn at random" }}'
        for name, value in times.items()
    ]
    return "\n".join([*lines[:at], *new, *lines[at:]]) + "\n"


def scaled(times: dict[str, str], factor: float) -> dict[str, str]:
    """All times, multiplied."""
    return {
        name: re.sub(r"(\d+) ns", lambda found: f"{round(int(found[1]) * factor)} ns", value)
        for name, value in times.items()
    }


def scattering(text: str) -> str:
    """The drive file with programs and erasures that scatter, where it says nothing about that."""
    if "[variation]" in text:
        return text
    rest = f'= {{ value = {SCATTER}, source = "drawn at random" }}'
    return f"{text}[variation]\nprogram_spread {rest}\nerase_spread {rest}\n"


def explained(locator: str, seed: int, out: str) -> fc.Run:
    """What the probes find out about the drive."""
    with fc.open_target(locator, seed=seed) as target:
        return fc.run("explain", target, tests=TESTS, seed=seed, out=out)


def compared(runs: Sequence[fc.Run]) -> FlashComparison:
    """The flash of the second run's drive against the first one's."""
    sides = [ComparedRuns(label, [run]) for label, run in zip("AB", runs, strict=True)]
    [found] = same_flash(sides)
    return found


def pair(index: int, *, seed: int, kind: str) -> FlashComparison:
    """One pair: the drive with this number, and what ``kind`` makes of it."""
    numbers = [n for n in range(3 * len(KINDS) * (index + 2)) if n % len(KINDS) < 3]
    one, another = (draw(seed, number) for number in numbers[index : index + 2])
    text = one.drive.text
    match kind:
        case "again":
            other = scattering(text)
        case "elsewhere":
            other = with_flash(another.drive.text, flash_of(text))
        case factor:
            up = np.random.default_rng([seed, index]).random() < 0.5
            times = scaled(flash_of(text), float(factor) if up else 1 / float(factor))
            other = scattering(with_flash(text, times))
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for number, content in enumerate((text, other)):
            path = Path(folder) / f"{number}.toml"
            path.write_text(content, "utf-8")
            runs.append(explained(str(path), one.seed + number, folder))
        return compared(runs)


def of_catalog(drives: list[str]) -> None:
    """Compares drives of the catalog, each with each other."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {drive: explained(f"sim:{drive}", 1, folder) for drive in drives}
        for base, other in itertools.combinations(drives, 2):
            print(f"- {other} against {base}: {compared([runs[base], runs[other]]).words}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--factors", default="1.3,2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--catalog", help="drives of the catalog instead, by commas")
    given = parser.parse_args()
    if given.catalog:
        of_catalog(given.catalog.split(","))
        return
    print("| pairs | count | different | alike | not shown | times compared |")
    print("| --- | --- | --- | --- | --- | --- |")
    with ProcessPoolExecutor(given.jobs) as executor:
        for kind in ("again", "elsewhere", *given.factors.split(",")):
            found = list(
                executor.map(partial(pair, seed=given.seed, kind=kind), range(given.pairs))
            )
            counts = Counter(one.verdict for one in found)
            times = sum(len(one.times) for one in found)
            name = kind if kind in ("again", "elsewhere") else f"other, times {kind}"
            told = " | ".join(str(counts[v]) for v in ("different", "alike", "not shown"))
            print(f"| {name} | {len(found)} | {told} | {times} |", flush=True)
            for index, one in enumerate(found):
                if (one.verdict == "different") == (kind in ("again", "elsewhere")):
                    print(f"<!-- {kind} {index}: {one.words} -->", flush=True)


if __name__ == "__main__":
    main()
