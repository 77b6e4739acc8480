#!/usr/bin/env python3
"""Changes every numeric constant of analysis/internals by a fifth, and counts the effects.

    benches/thresholds.py [--drives 7] [--seed 20261122] [--minutes 15] [--kept FOLDER]

All probes run on hidden drives of the arena (in virtual time; `--kept` keeps the runs for the next
time). Each constant is then multiplied by 0.8 and by 1.25, one at a time, and the findings that its
module estimates are estimated again. A finding counts as changed if its verdict differs or its
value differs by more than 1 %, and as worse if it was right before and is wrong now. The minutes
of processor time do not count what is recorded, and are shared equally among the drives. The
constants are tried in an order drawn anew for each drive, and those that are not reached in that
time are left out. Prints docs/thresholds.md.
"""

import argparse
import ast
import importlib
import pkgutil
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import fourcorners.analysis.internals as package
from fourcorners.analysis.internals.catalog import CATALOG
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.finding import RESOLUTION
from fourcorners.running.run import run
from fourcorners.store import Run
from fourcorners.target.open import open_target
from fourcorners_validation.arena.explain.contest import GradedAnswer
from fourcorners_validation.arena.explain.drives import draw
from fourcorners_validation.arena.explain.goals import is_wrong
from fourcorners_validation.arena.explain.truths import TRUTHS, true_of

FACTORS = (0.8, 1.25)
SAME = 0.01
DISCRETE = {truth.finding: truth.discrete for truth in TRUTHS}

# A StopIteration within a generator becomes a RuntimeError.
FAILURES = (
    ArithmeticError,
    AssertionError,
    LookupError,
    RuntimeError,
    StopIteration,
    ValueError,
)

Answers = dict[str, tuple[str, float | None, bool | None]]
"""The verdict and value of each finding, and whether it is wrong where the truth is known."""


@dataclass
class Constant:
    """One constant, where it is, and what changing it did: changed and worse findings by factor."""

    module: ModuleType
    name: str
    value: Any
    places: list[ModuleType]
    asked: int = 0
    changed: dict[float, int] = field(default_factory=lambda: dict.fromkeys(FACTORS, 0))
    worse: dict[float, int] = field(default_factory=lambda: dict.fromkeys(FACTORS, 0))

    @property
    def title(self) -> str:
        return f"{self.module.__name__.removeprefix(package.__name__ + '.')}.{self.name}"


def modules() -> list[ModuleType]:
    """All modules of the package that estimate something."""
    names = [one.name for one in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    return [importlib.import_module(name) for name in names]


def constants(loaded: list[ModuleType]) -> list[Constant]:
    """Every number, and tuple of numbers, that a module binds to a name in capitals."""
    found = []
    for module in loaded:
        assert module.__file__ is not None
        for node in ast.parse(Path(module.__file__).read_text("utf-8")).body:
            for name in bound(node):
                value = vars(module)[name]
                if is_number(value):
                    places = [m for m in loaded if vars(m).get(name) is value]
                    found.append(Constant(module, name, value, places))
    return found


def bound(node: ast.stmt) -> Iterator[str]:
    """Names in capitals that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(part, ast.Name) and part.id.isupper():
                yield part.id


def is_number(value: Any) -> bool:
    """Whether it is a number or a tuple of numbers; 0 and 1 do not count, as nobody chose them."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1)


def scaled(value: Any, factor: float) -> Any:
    """The value times the factor; whole numbers stay whole, but always change."""
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    if isinstance(value, int):
        more = round(value * factor)
        return more if more != value else value + (1 if factor > 1 else -1)
    return value * factor


def recorded(seed: int, drives: int, folder: Path) -> Iterator[tuple[Run, dict[str, float]]]:
    """A run of all probes on each drive, and the truth about the drive."""
    for index in range(drives):
        hidden = draw(seed, index)
        own = folder / f"{seed}-{index}"
        if not (own / "done").exists():
            own.mkdir(parents=True, exist_ok=True)
            path = own / f"{hidden.drive.id}.toml"
            path.write_text(hidden.drive.text, "utf-8")
            with open_target(str(path), seed=hidden.seed) as target:
                run("explain", target, seed=hidden.seed, out=own / "runs")
            (own / "done").touch()
        print(f"drive {index + 1} of {drives}: {hidden.kind}", file=sys.stderr)
        yield Run(next((own / "runs").iterdir())), true_of(hidden)


def ask(measured: Run, names: set[str], true: dict[str, float]) -> Answers:
    """The findings of these names; none if the constant cannot have its changed value."""
    resolver = Resolver(measured)
    answers: Answers = {}
    for name in sorted(names):
        try:
            finding = resolver.finding(name)
        except FAILURES:
            answers[name] = ("fails", None, None)
            resolver = Resolver(measured)
            continue
        if finding is None:
            continue
        wrong = None
        if name in true and name in DISCRETE:
            bounds = finding.detail.get("interval") == RESOLUTION
            answer = GradedAnswer(name, true[name], finding.value, finding.interval, bounds)
            wrong = is_wrong(answer, discrete=DISCRETE[name])
        answers[name] = (finding.verdict, finding.value, wrong)
    return answers


def sources(measured: Run) -> dict[str, set[str]]:
    """The files whose code runs for each finding."""
    ran: dict[str, set[str]] = {}
    for row in CATALOG:
        files = ran[row.name] = set()

        def called(frame: FrameType, event: str, _: Any, files: set[str] = files) -> None:
            if event == "call":
                files.add(frame.f_code.co_filename)

        sys.setprofile(called)
        try:
            Resolver(measured).finding(row.name)
        finally:
            sys.setprofile(None)
    return ran


def differs(before: tuple[str, float | None, bool | None], after: Any) -> bool:
    """Whether a finding differs from the one before."""
    if after is None or before[0] != after[0] or (before[1] is None) != (after[1] is None):
        return True
    return before[1] is not None and abs(after[1] - before[1]) > SAME * abs(before[1])


def change(
    one: Constant, measured: Run, before: Answers, ran: dict[str, set[str]], true: Any
) -> None:
    """Estimates the findings of the constant's module again, with each of the two factors."""
    files = {module.__file__ for module in one.places}
    names = {name for name in before if ran[name] & files}
    one.asked += len(names)
    for factor in FACTORS if names else ():
        for place in one.places:
            setattr(place, one.name, scaled(one.value, factor))
        try:
            after = ask(measured, names, true)
        finally:
            for place in one.places:
                setattr(place, one.name, one.value)
        one.changed[factor] += sum(differs(before[name], after.get(name)) for name in names)
        one.worse[factor] += sum(
            before[name][2] is False and name in after and after[name][2] is True for name in names
        )


def main() -> None:
    """Measures, changes, and prints the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drives", type=int, default=7)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--minutes", type=float, default=15.0, help="of processor time, at most")
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    found = constants(modules())
    order = random.Random(given.seed)
    findings = drives = 0
    spent_s = 0.0
    with tempfile.TemporaryDirectory() as made:
        for measured, true in recorded(given.seed, given.drives, given.kept or Path(made)):
            ran = sources(measured)
            before = ask(measured, set(ran), true)
            findings, drives = findings + len(before), drives + 1
            order.shuffle(found)
            began_s = time.process_time() - spent_s
            for one in found:
                if spent_s > 60 * given.minutes * drives / given.drives:
                    break
                change(one, measured, before, ran, true)
                spent_s = time.process_time() - began_s
    print(document(found, findings, drives, given))


def document(found: list[Constant], findings: int, drives: int, given: Any) -> str:
    """The table, with the constants that matter most first."""
    asked = [one for one in found if one.asked]
    matter = [one for one in asked if any(one.changed.values())]
    quiet = sorted(one.title for one in asked if one not in matter)
    matter.sort(key=lambda one: (-sum(one.worse.values()), -sum(one.changed.values()), one.title))
    lines = [
        "# What the thresholds decide",
        "",
        f"Written by `benches/thresholds.py --drives {given.drives} --seed {given.seed} --minutes "
        f"{given.minutes:g}`. Each constant of `fourcorners/analysis/internals` was multiplied by "
        f"{FACTORS[0]} and by {FACTORS[1]}, and those findings of {drives} hidden drives that rest "
        f"on its module, of {findings} findings in all, were estimated again. *changed*: another "
        f"verdict, or a value more than {100 * SAME:g} % off (intervals are not compared); "
        "*worse*: right before and wrong then. What is not listed was not reached in that time, or "
        "its module had no part in any of these findings.",
        "",
        f"Of {len(found)} constants {len(asked)} were tried: {len(matter)} change some finding, "
        f"{sum(any(one.worse.values()) for one in matter)} make one wrong that was right.",
        "",
        "| constant | value | findings | changed, x 0.8 | worse | changed, x 1.25 | worse |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| `{one.title}` | {shown(one.value)} | {one.asked} | "
            + " | ".join(f"{one.changed[f]} | {one.worse[f]}" for f in FACTORS)
            + " |"
            for one in matter
        ),
        "",
        "No finding of these drives changes with: "
        + ", ".join(f"`{name}`" for name in quiet)
        + ".",
    ]
    return "\n".join(lines)


def shown(value: Any) -> str:
    """The value in few characters."""
    if isinstance(value, tuple):
        return ", ".join(map(shown, value)) if len(value) <= 4 else f"{len(value)} numbers"
    return f"{value:.4g}"


if __name__ == "__main__":
    main()
