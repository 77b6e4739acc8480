#!/usr/bin/env python3
"""A thousand runs of the command during which something goes wrong (tests/fault_runs.py).

    sudo .venv/bin/python benches/fault_injection.py [RUNS [FIRST]]

Prints how often each fault had each exit code, also when it is interrupted; stops at the first run
that breaks the contract. Runs are numbered, and their number is their seed: with FIRST several
processes share a thousand.
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
