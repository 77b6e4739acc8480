#!/usr/bin/env python3
"""Compares this project's engine with fio's, and with fio's t/io_uring, side by side.

All contenders use the same file or device and the same parameters. They run one after the other,
then in reverse order, and so on, so that other activity of the machine affects each of them. The
table has the medians over the runs, and the median of the pairs' ratios with its 95 % interval by
order statistics, which assumes no distribution. Our engine and fio record every latency;
t/io_uring records none.

    .venv/bin/python benches/engine_vs_fio.py --write docs/performance.md
    .venv/bin/python benches/engine_vs_fio.py --fio ~/fio/fio --t-io-uring ~/fio/t/io_uring
    .venv/bin/python benches/engine_vs_fio.py --goals --t-io-uring ~/fio/t/io_uring

`--goals` measures only the lines for which a goal compares our engine with t/io_uring: the page
cache in batches of 32, at its default depth of 128 and at 32. These lines have many pairs, because
other users of the machine's memory change single pairs by a tenth and more. This takes six minutes.

The media are a file with O_DIRECT, the same file in the page cache (read before), a RAM disk (zram,
if the kernel has it and root runs the script), and no medium at all (our no-op target, fio's null
engine).
"""

import argparse
import contextlib
import json
import math
import os
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from contenders import (
    Case,
    fio_command,
    run,
    run_fio,
    run_ours,
    run_t_io_uring,
    t_io_uring_command,
)

from fourcorners.machine.environment import describe_host, describe_path
from fourcorners_validation.pages import put_between

REPOSITORY = Path(__file__).resolve().parent.parent
FILL_BLOCK_BYTES = 1 << 20
CONFIDENCE = 0.95
ZRAM_CONTROL = Path("/sys/class/zram-control")
# The results stand between these two lines of a document.
MARKS = (
    "<!-- made by benches/engine_vs_fio.py -->",
    "<!-- end of what benches/engine_vs_fio.py made -->",
)
MARKS_OF_GOALS = (
    "<!-- made by benches/engine_vs_fio.py --goals -->",
    "<!-- end of what benches/engine_vs_fio.py --goals made -->",
)
PAIRS = 10
PAIRS_OF_GOALS = 50
MEDIA = ("noop", "file", "cache", "zram")
# Name and title of what is compared, in nanoseconds per I/O.
MEASURES = (
    ("time_ns", "time"),
    ("user_ns", "user CPU"),
    ("cpu_ns", "all CPU"),
)


def cases(media: list[str]) -> list[Case]:
    everything = [Case("noop", depth) for depth in (1, 32, 128)]
    everything += [Case("file", depth) for depth in (1, 32, 128)]
    cache = Case("cache", 32, batch=32)
    everything += [
        Case("cache", 1),
        Case("cache", 1, engine="sync"),
        Case("cache", 32),
        Case("cache", 128),
        cache,
        replace(cache, queue_depth=128),
        replace(cache, workers=2),
        replace(cache, workers=4),
        *(replace(cache, block_bytes=size) for size in (512, 65_536, 1 << 20)),
        replace(cache, rw="read"),
        replace(cache, rw="randrw"),
    ]
    everything += [
        Case("zram", 1),
        Case("zram", 1, engine="sync"),
        Case("zram", 32, batch=32),
        Case("zram", 128, batch=32),
    ]
    return [case for case in everything if case.medium in media]


def goals() -> list[Case]:
    """The lines on which our engine is compared with t/io_uring."""
    return [Case("cache", depth, batch=32) for depth in (128, 32)]


def main() -> int:
    options = parse_options()
    engine = options.engine or build_engine()
    # Only a file that this script makes is written to.
    writable = not options.file.exists()
    with contextlib.ExitStack() as stack:
        paths = {"noop": Path("noop")}
        if {"file", "cache"} & set(options.media):
            paths["file"] = paths["cache"] = stack.enter_context(test_file(engine, options))
        if "zram" in options.media:
            device = stack.enter_context(zram(options.zram_mib << 20))
            if device is None:
                print("no zram: this kernel has none, or this is not root", file=sys.stderr)
            else:
                paths["zram"] = device
        chosen = [
            case
            for case in (goals() if options.goals else cases(options.media))
            if case.medium in paths and (writable or case.rw != "randrw")
        ]
        results = [compare(engine, paths[case.medium], case, options) for case in chosen]
        environment = describe(options.file)
    if options.json:
        print(json.dumps({"environment": environment, "comparisons": results}, indent=2))
    else:
        print(as_table(results))
    if options.write:
        marks = MARKS_OF_GOALS if options.goals else MARKS
        put_between(options.write, marks, as_section(results, environment, options))
    return 0


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--file",
        type=Path,
        default=Path("engine-vs-fio.tmp"),
        help="file to read; one that does not exist is created, filled and removed",
    )
    parser.add_argument("--size-mib", type=int, default=1024, help="size of a created file")
    parser.add_argument("--zram-mib", type=int, default=512, help="size of the RAM disk")
    parser.add_argument("--media", nargs="+", choices=MEDIA, default=list(MEDIA))
    parser.add_argument("--goals", action="store_true", help="only the lines of the goals")
    parser.add_argument("--pairs", type=int, help=f"default {PAIRS}, of goals {PAIRS_OF_GOALS}")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    parser.add_argument("--engine", help="built example `engine`; default: build it")
    parser.add_argument("--fio", default="fio", help="the fio to compare with")
    parser.add_argument("--t-io-uring", help="fio's t/io_uring, where it is to take part")
    parser.add_argument("--json", action="store_true", help="every run, for machines")
    parser.add_argument("--write", type=Path, help="put table and circumstances into this document")
    options = parser.parse_args()
    if options.goals:
        if not options.t_io_uring:
            parser.error("--goals compares with t/io_uring: give --t-io-uring")
        options.media = ["cache"]
    options.pairs = options.pairs or (PAIRS_OF_GOALS if options.goals else PAIRS)
    return options


def build_engine() -> str:
    """Builds the example in release mode and returns where it is."""
    command = ["cargo", "build", "--release", "-p", "fourcorners-real", "--example", "engine"]
    built = run([*command, "--message-format", "json"], directory=REPOSITORY)
    messages = (json.loads(line) for line in built.splitlines())
    return next(str(m["executable"]) for m in messages if m.get("executable"))


@contextlib.contextmanager
def test_file(engine: str, options: argparse.Namespace) -> Iterator[Path]:
    path: Path = options.file
    created = not path.exists()
    try:
        if created:
            print(f"filling {path} ({options.size_mib} MiB)", file=sys.stderr)
            stream = {
                "read_fraction": 0.0,
                "block_bytes": FILL_BLOCK_BYTES,
                "pattern": "sequential",
                "queue_depth": 4,
            }
            size_bytes = options.size_mib << 20
            document = json.dumps({"streams": [stream], "stop": {"bytes": size_bytes}})
            run([engine, str(path), document, "auto", str(size_bytes)])
        yield path
    finally:
        if created:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def zram(size_bytes: int) -> Iterator[Path | None]:
    """A new RAM disk full of random bytes; ``None`` where the machine cannot have one."""
    try:
        number = (ZRAM_CONTROL / "hot_add").read_text().strip()
    except OSError:
        yield None
        return
    device = Path(f"/dev/zram{number}")
    settings = Path(f"/sys/block/zram{number}")
    try:
        (settings / "disksize").write_text(str(size_bytes))
        with device.open("wb") as file:
            for _ in range(size_bytes // FILL_BLOCK_BYTES):
                file.write(os.urandom(FILL_BLOCK_BYTES))
        yield device
    finally:
        # A service that examines new devices may still have it open.
        for _ in range(50):
            with contextlib.suppress(OSError):
                (settings / "reset").write_text("1")
                (ZRAM_CONTROL / "hot_remove").write_text(number)
                break
            time.sleep(0.1)


def compare(engine: str, path: Path, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    def of(function: Callable[..., dict[str, float]], *first: Any) -> Callable[[int], Any]:
        return lambda seed: function(*first, path, case, options, seed)

    contenders = {"fourcorners": of(run_ours, engine)}
    if not options.goals:
        contenders["fio"] = of(run_fio)
    takes_part = case.medium in ("cache", "zram") and case.rw != "randrw"
    if options.t_io_uring and takes_part and case.engine == "io_uring":
        contenders["t/io_uring"] = of(run_t_io_uring)
    if case.medium == "cache":
        run(["dd", f"if={path}", "of=/dev/null", "bs=1M", "status=none"])
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    for pair in range(options.pairs):
        names = list(contenders)
        for name in names if pair % 2 == 0 else reversed(names):
            runs[name].append(contenders[name](pair + 1))
        print(f"{case.medium}: {case.title}: {pair + 1} of {options.pairs}", file=sys.stderr)
    ours = runs["fourcorners"]
    rows = {
        name: {measure: ratio_of(ours, theirs, measure) for measure, _ in MEASURES}
        for name, theirs in runs.items()
        if name != "fourcorners"
    }
    return {"medium": case.medium, "title": case.title, "against": rows, "runs": runs}


def ratio_of(
    ours: list[dict[str, float]], theirs: list[dict[str, float]], measure: str
) -> dict[str, Any]:
    # CPU times differ by at least a clock tick; 0 would not give a ratio.
    pairs = [(a[measure], max(b[measure], 1e-3)) for a, b in zip(ours, theirs, strict=True)]
    low, high, confidence = median_interval([a / b for a, b in pairs])
    return {
        "ours": statistics.median(a for a, _ in pairs),
        "theirs": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
        "ratio_interval": [low, high],
        "confidence": confidence,
    }


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Ends of the narrowest order-statistics interval for the median at the wanted confidence.

    With too few values it is their whole range. The confidence of the interval is returned, too.
    """
    ordered, count = sorted(values), len(values)
    confidence, outside = 0.0, 0
    for rank in range((count + 1) // 2):
        tail = sum(math.comb(count, k) for k in range(rank + 1)) / 2**count
        if rank > 0 and 1 - 2 * tail < CONFIDENCE:
            break
        confidence, outside = 1 - 2 * tail, rank
    return ordered[outside], ordered[count - 1 - outside], confidence


def as_table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| medium | case | against | time per I/O, ns: ours, theirs | ratio (interval) "
        "| user CPU per I/O, ns: ours, theirs | all CPU: ratio (interval) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        for name, row in result["against"].items():
            wall, user, cpu = (row[measure] for measure, _ in MEASURES)
            lines.append(
                f"| {result['medium']} | {result['title']} | {name} "
                f"| {wall['ours']:,.0f}, {wall['theirs']:,.0f} | {_ratio(wall)} "
                f"| {user['ours']:,.0f}, {user['theirs']:,.0f} | {_ratio(cpu)} |"
            )
    return "\n".join(lines)


def _ratio(row: dict[str, Any]) -> str:
    low, high = row["ratio_interval"]
    return f"{row['ratio']:.2f} ({low:.2f} to {high:.2f})"


def describe(path: Path) -> dict[str, Any]:
    """The machine and the drive, as manifests describe them."""
    place = path if path.exists() else path.resolve().parent
    facts = {**describe_host(), **describe_path(place)}
    return {key: value for key, value in facts.items() if value is not None}


def as_section(
    results: list[dict[str, Any]], environment: dict[str, Any], options: argparse.Namespace
) -> str:
    confidence = 100 * next(iter(results[0]["against"].values()))["time_ns"]["confidence"]
    wanted = ("kernel", "cpu", "cores", "memory_bytes", "virtualization", "file_system", "device")
    facts = ", ".join(
        f"{name.replace('_', ' ')} {environment[name]}" for name in wanted if name in environment
    )
    other = "t/io_uring" if options.goals else run([options.fio, "--version"]).strip()
    command = shlex.join(
        [".venv/bin/python", "benches/engine_vs_fio.py", *_without_paths(sys.argv[1:])]
    )
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    case = Case("cache", 32, batch=32)
    named = argparse.Namespace(**{**vars(options), "fio": "fio", "t_io_uring": "t/io_uring"})
    others = [] if options.goals else [fio_command(Path("FILE"), case, named, 1)]
    if options.t_io_uring:
        others.append(t_io_uring_command(Path("FILE"), case, named))
    shown = "\n".join(shlex.join(other) for other in others)
    return f"""{options.pairs} interleaved runs of {options.seconds:g} s of each contender on each \
line. Times are medians over the runs; a ratio is the median of the pairs' ratios (ours / theirs), \
with its {confidence:.1f} % interval by order statistics.

{as_table(results)}

Made {time.strftime("%Y-%m-%d")} with {other} on {facts}; load of the machine over 1, 5 and 15
minutes: {load}.

```sh
{command}
# The others were run as, for instance,
{shown}
```
"""


def _without_paths(arguments: list[str]) -> list[str]:
    """The command's arguments, those that name a place of this machine by their last part."""
    return [Path(a).name if a.startswith("/") else a for a in arguments]


if __name__ == "__main__":
    sys.exit(main())
