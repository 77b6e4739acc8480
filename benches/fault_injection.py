#!/usr/bin/env python3
"""Runs the command a thousand times, each time with an injected fault (tests/fault_runs.py).

    sudo .venv/bin/python benches/fault_injection.py [RUNS [FIRST]]

Prints how often each fault led to each exit code, also if the script is interrupted. It stops at
the first run that breaks the contract. The number of a run is its seed, so that several processes
can share the thousand runs by different values of FIRST.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fault_runs import FAULTS, MEDIUM_FAULTS, run_with


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    faults = [*FAULTS, *MEDIUM_FAULTS]
    codes: Counter[tuple[str, int]] = Counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(first, first + runs):
                fault = faults[number % len(faults)]
                codes[fault, run_with(fault, Path(folder) / str(number), number)] += 1
    finally:
        for (fault, code), count in sorted(codes.items()):
            print(f"{fault:12} exit code {code:4}: {count}")


main()
