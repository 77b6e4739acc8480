"""Flips single bits of a run folder's files, and says what became of each.

``tests/test_damage.py`` tries some, and ``benches/bit_flips.py`` hundreds.
"""

import random
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.store import Run, schema
from fourcorners.store.notes import read_notes


def content(folder: Path) -> dict[str, Any]:
    """All that the run says, by what says it; raises ``UserError`` where damage is noticed."""
    run = Run(folder)
    run.check()
    said: dict[str, Any] = {name: run.table(name) for name in schema.TABLES}
    logs = sorted((folder / schema.IOS).glob("*.parquet"))
    said |= {log.name: run.table(f"{schema.IOS}/{log.name}") for log in logs}
    # Unknown fields mean nothing, and what was a digest may have lost its name.
    said["manifest"] = run.manifest
    said["findings"], said["notes"] = run.findings, read_notes(folder)
    said |= {path.name: path.read_bytes() for path in folder.glob("*.toml")}
    page = folder / schema.REPORT
    # But for its last line, which is how it is known.
    said["page"] = page.read_bytes().rpartition(b"\n<!--")[0] if page.exists() else b""
    return said


def files(folder: Path) -> list[Path]:
    """All files of the folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flip(folder: Path, count: int, seed: int) -> tuple[int, int, list[str]]:
    """Flips one bit at a time, undone afterwards, as often in each file.

    Returns how many were noticed by a sentence that names the file, how many changed nothing that
    the run says, and a line for each that did neither.
    """
    chance = random.Random(seed)
    whole = content(folder)
    noticed = harmless = 0
    wrong = []
    names = files(folder)
    for number in range(count):
        path = names[number % len(names)]
        before = path.read_bytes()
        if not before:
            continue
        place, bit = chance.randrange(len(before)), chance.randrange(8)
        changed = bytearray(before)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            if content(folder) == whole:
                harmless += 1
            else:
                wrong.append(f"{path.name}: bit {bit} of byte {place} passed")
        except UserError as error:
            noticed += 1
            if path.name not in str(error) or "\n" in str(error):
                wrong.append(f"{path.name}: bit {bit} of byte {place}: {error}")
        finally:
            path.write_bytes(before)
    return noticed, harmless, wrong
