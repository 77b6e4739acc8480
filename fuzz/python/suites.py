"""Feeds ``run`` with suite files of which some values are such as nobody expects.

    .venv/bin/python fuzz/python/suites.py --seconds 3600

The dry run and the run (up to its first I/O) either take a suite both or refuse it both, in one
sentence. What fails is put into ``corpus/suites`` and printed; the tests replay that folder.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from attempts import DefectError, attempt, corpus, fuzz, held, mutated, mutations
from hypothesis import strategies as st

OWN = """
schema_version = 1
name = "own"
title = "Own"
scale = 0.5
pauses = 0.5
area = "1 GB"
log-ios = 100
[[test]]
name = "sweep"
title = "Sweep"
purpose = "Both"
prepare = ["purge", "fill 10 %", "steady", "settle", "trim", "idle 2 s", "fill 1 GB"]
[[test.workload]]
name = "one"
duration = "2 s"
ramp = "1 s"
reads = ["0 %", 0.5]
block = ["4 KiB", "64 KiB"]
pattern = ["random", "sequential", "zipf:0.99", "hot-cold:0.2:0.8", "strided:64KiB"]
queue-depth = [1, 32]
[[test.workload]]
name = "two"
amount = "1 MiB"
[[test.workload.stream]]
reads = 0.0
block = "4 KiB"
random = "30 %"
alignment = "4 KiB"
misalignment = "512 B"
workers = 2
offset = "10 %"
span = "50 %"
content = "compressible:50"
arrival = "fixed:1000"
flush-every = 10
fua = true
"""
TARGET = "sim:ocz-core-64gb"


def documents() -> list[dict[str, Any]]:
    """The program's own suites and one that has every key."""
    files = resources.files("fourcorners.suites").joinpath("files").iterdir()
    texts = [file.read_text("utf-8") for file in files if file.name.endswith(".toml")]
    return [tomllib.loads(text) for text in [*texts, OWN, OWN, OWN]]


@st.composite
def cases(draw: st.DrawFn, known: list[dict[str, Any]]) -> str:
    """The text of a suite file."""
    if not draw(st.integers(0, 20)):
        return draw(st.text())
    document = draw(st.sampled_from(known))
    return to_toml(mutated(document, draw(mutations(document))))


def to_toml(document: Any) -> str:
    """A document as TOML, one line for each key."""
    return "".join(f"{_text(key)} = {_value(value)}\n" for key, value in document.items())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return "1979-05-27T07:32:00Z" if value is None else _text(value)


def _text(value: Any) -> str:
    return json.dumps(value).replace("\x7f", "\\u007f")


def check(text: str) -> None:
    """Tries a suite file; raises what is a defect."""
    with tempfile.TemporaryDirectory() as name, held():
        path = Path(name) / "mine.toml"
        path.write_text(text, "utf-8", "surrogatepass")
        command = ["run", str(path), TARGET, "--out", f"{name}/runs"]
        planned = attempt([*command, "--dry-run"])
        run = attempt(command)
        if (planned == "refused") != (run == "refused"):
            raise DefectError(f"dry run: {planned}, run: {run}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", action="store_true", help="only the corpus")
    arguments = parser.parse_args()
    if arguments.replay:
        for path in corpus("suites"):
            print(path.name)
            check(json.loads(path.read_text("utf-8")))
        return 0
    return min(fuzz("suites", cases(documents()), check, arguments.seconds, arguments.seed), 1)


if __name__ == "__main__":
    sys.exit(main())
