#!/usr/bin/env python3
"""What becomes of each of fio's options, as a table of the documents.

.venv/bin/python benches/fio_options.py --write docs/fio-jobs.md
"""

import argparse
from pathlib import Path

from fourcorners.suites.fio.options import PASSED_OVER, REFUSED, RUN
from fourcorners_validation.pages import put_between

MARKS = (
    "<!-- made by benches/fio_options.py -->",
    "<!-- end of what benches/fio_options.py made -->",
)


def _by_reason(fates: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in fates.items():
        found.setdefault(reason, []).append(f"`{name}`")
    return found


def table() -> str:
    """The rows, options with the same reason in one."""
    lines = ["| options | here |", "| --- | --- |"]
    run = ", ".join(f"`{name}`" for name in RUN)
    lines.append(f"| {run} | **run**, as fio's documentation says; see the notes above |")
    for word, fates in (("passed over", PASSED_OVER), ("**refused**", REFUSED)):
        for reason, names in _by_reason(fates).items():
            lines.append(f"| {', '.join(names)} | {word}: {reason} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table, or writes it into a page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path)
    page: Path | None = parser.parse_args().write
    if page is None:
        print(table())
    else:
        put_between(page, MARKS, table())


if __name__ == "__main__":
    main()
