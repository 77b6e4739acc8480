#!/usr/bin/env python3
"""How far the thresholds of ``fourcorners/analysis/internals`` may move before a finding changes.

    .venv/bin/python benches/thresholds.py --by 0.1 RUN...

Every number that a module there names is made smaller and larger by that share, one at a time, and
the findings of the runs of probes are asked again: those of the module, and those that need them.
A number that changes nothing on drives of all kinds lies on a plateau, and may be merged with
another or go; one that changes much decides, and needs a reason of its own.
"""

import argparse
import importlib
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from fourcorners.analysis import internals
from fourcorners.analysis.internals.catalog import CATALOG, Asked
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.store import Run

Answers = dict[str, tuple[str, float | None]]

TOLD_APART = 0.01
"""Relative difference of two values from which a reader would call them different."""


class Kept:
    """A run whose parts are read once."""

    def __init__(self, path: Path) -> None:
        """Reads nothing yet."""
        self._run = Run(path)
        self.manifest, self.recordings = self._run.manifest, self._run.recordings
        self._read: dict[tuple[str, ...], Any] = {}

    def __getattr__(self, name: str) -> Any:
        return partial(self._once, name)

    def _once(self, *key: str) -> Any:
        if key not in self._read:
            self._read[key] = getattr(self._run, key[0])(*key[1:])
        return self._read[key]


def modules() -> list[ModuleType]:
    """All of the package, loaded."""
    found = pkgutil.walk_packages(internals.__path__, f"{internals.__name__}.")
    return [importlib.import_module(one.name) for one in found]


def numbers(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Its own constants that are numbers, or pairs and more of them."""
    source = Path(str(module.__file__)).read_text("utf-8")
    for name, value in vars(module).items():
        own = re.search(rf"^[^=\n]*\b{name}\b[^=\n]* = ", source, re.MULTILINE)
        if not own or not name.strip("_").isupper():
            continue
        parts = value if isinstance(value, tuple) else (value,)
        if parts and all(
            isinstance(one, float | int) and not isinstance(one, bool) for one in parts
        ):
            yield name, value


def moved(value: Any, factor: float) -> Any:
    """The number, or each of them, times the factor; whole ones move by one or more."""
    if isinstance(value, tuple):
        return tuple(moved(one, factor) for one in value)
    if isinstance(value, int):
        step = max(1, round(abs(factor - 1) * value))
        return value + (step if factor > 1 else -step)
    return value * factor


def affected(module: ModuleType) -> set[str]:
    """Findings that its functions estimate, or whose estimators' modules use it, and all others
    that need one of these."""
    names = {row.name for row in CATALOG if _uses(sys.modules[_module_of(row)], module, set())}
    while more := {row.name for row in CATALOG if names & {*row.needs}} - names:
        names |= more
    return names


def _module_of(row: Asked) -> str:
    estimator = row.estimator
    return (estimator.func if isinstance(estimator, partial) else estimator).__module__


def _uses(module: ModuleType, other: ModuleType, seen: set[str]) -> bool:
    """Whether a module of the package loads another one, itself or through others."""
    if module is other:
        return True
    seen.add(module.__name__)
    used = {getattr(value, "__module__", None) for value in vars(module).values()}
    used |= {value.__name__ for value in vars(module).values() if isinstance(value, ModuleType)}
    return any(
        _uses(sys.modules[name], other, seen)
        for name in used
        if name and name.startswith(internals.__name__) and name not in seen
    )


def ask(run: Kept, names: set[str]) -> Answers:
    """Verdict and value of these findings."""
    resolver = Resolver(run)
    found = ((name, resolver.finding(name)) for name in sorted(names))
    return {name: (one.verdict, one.value) for name, one in found if one is not None}


def differs(was: tuple[str, float | None] | None, now: tuple[str, float | None] | None) -> bool:
    """Whether the verdict is another, or the value by more than :data:`TOLD_APART`."""
    if was is None or now is None or was[0] != now[0] or was[1] is None or now[1] is None:
        return was != now
    return abs(now[1] - was[1]) > TOLD_APART * abs(was[1])


def main() -> None:
    """Prints a row for each number, those first that change most."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--by", type=float, default=0.1, help="share by which a number is moved")
    arguments = parser.parse_args()
    runs = [Kept(path) for path in arguments.runs]
    everything = {row.name for row in CATALOG}
    before = [ask(run, everything) for run in runs]
    loaded = modules()
    rows = []
    for module in loaded:
        names = affected(module)
        for name, value in list(numbers(module)):
            holders = [one for one in loaded if getattr(one, name, None) is value]
            changed: Counter[str] = Counter()
            for factor in (1 - arguments.by, 1 + arguments.by):
                for holder in holders:
                    setattr(holder, name, moved(value, factor))
                for run, was in zip(runs, before, strict=True):
                    try:
                        now = ask(run, names)
                    except (ArithmeticError, LookupError, ValueError):
                        changed["(no such number)"] += 1
                        continue
                    changed.update(n for n in names if differs(was.get(n), now.get(n)))
                for holder in holders:
                    setattr(holder, name, value)
            short = module.__name__.removeprefix(f"{internals.__name__}.")
            rows.append((sum(changed.values()), f"{short}.{name}", value, changed))
            print(f"{short}.{name}: {dict(changed)}", file=sys.stderr)
    print("| number | is | findings that change |\n| --- | --- | --- |")
    for _, name, value, changed in sorted(rows, key=lambda row: (-row[0], row[1])):
        told = ", ".join(f"{finding} {times}" for finding, times in changed.most_common())
        print(f"| {name} | {value} | {told or '–'} |")


if __name__ == "__main__":
    main()
