#!/usr/bin/env python3
"""Flips single bits in all files of a run folder, and counts how many are detected.

usage: benches/bit_flips.py [--flips 600] [--seed 1] [RUN]

Without RUN, the script makes a run folder of a simulated drive. The exit code is 1 if a flip
changed values without an error, or if the error message did not name the file.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from flips import files, flip

import fourcorners as fc
from fourcorners.store.notes import Notes, write_notes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--flips", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        if options.run is None:
            made = fc.run("queue-depth", "sim:wd6400aaks", log_ios=1000, out=Path(scratch) / "made")
            write_notes(made.path, Notes(tags=("tag",), text="a note"))
            shutil.copytree(made.path, folder)
        else:
            shutil.copytree(options.run, folder)
        count = len(files(folder))
        noticed, harmless, wrong = flip(folder, options.flips, options.seed)
    for line in wrong:
        print(line)
    print(
        f"{options.flips} flips in {count} files: {noticed} noticed, {harmless} changed nothing "
        f"that the run says, {len(wrong)} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
