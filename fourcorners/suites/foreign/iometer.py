"""Iometer's configurations (``.icf``): their access specifications become workloads.

Lines are those of Iometer 1.1 (its User's Guide, chapter on configuration files): ``size, % of
size, % reads, % random, delay, burst, align, reply``, with the delay in ms after each burst.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.suites.foreign.specification import MixPart, document, stream_keys
from fourcorners.units import shortened

_COLUMNS = ("size", "% of size", "% reads", "% random", "delay", "burst", "align", "reply")
# Of a configuration whose run time is 0, which is until somebody stops it: SNIA's round.
_RUN_S = 60.0
_SECTOR_BYTES = 512


def suite_document(path: Path) -> dict[str, Any]:
    """The suite that a configuration asks for; raises :class:`UserError`."""
    lines = text_of(path, "Iometer's configuration").splitlines()
    if not any(line.upper().startswith("'ACCESS SPECIFICATIONS") for line in lines):
        raise UserError(f"{path} has no access specifications: it is no configuration of Iometer")
    depth = _numbers(lines, "'Number of outstanding IOs", path)
    hours = _numbers(lines, "'\thours", path) or _numbers(lines, "'hours", path)
    run_s = sum(count * unit for count, unit in zip(hours, (3600, 60, 1), strict=False)) or _RUN_S
    ramp = _numbers(lines, "'Ramp Up Time", path)
    area = _area(_numbers(lines, "'Disk maximum size,starting sector", path))
    workloads = []
    for name, rows in _assigned(lines, _specifications(lines, path), path):
        where = f'{path}: the access specification "{shortened(name)}"'
        stream = {
            **stream_keys([_part(row, where) for row in rows], where),
            "queue-depth": max(1, int(depth[0])) if depth else 1,
            **_pace(rows, where),
            **area,
        }
        workload = {"name": name, "duration": f"{run_s:g} s", "stream": [stream]}
        if ramp and ramp[0]:
            workload["ramp"] = f"{ramp[0]:g} s"
        workloads.append(workload)
    if not workloads:
        raise UserError(
            f"{path} has no access specification with a name and lines, as Iometer has written "
            "them since May 1998"
        )
    shown = {
        "passed over": "managers, workers, targets and cycling: one worker issues each "
        "specification, one after the other"
    }
    return document(f"Iometer {path.name}", workloads, shown, path.stem)


def _specifications(lines: list[str], path: Path) -> list[tuple[str, list[dict[str, float]]]]:
    found: list[tuple[str, list[dict[str, float]]]] = []
    inside = named = False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.lower().startswith("'access specification name"):
            named, inside = True, False
        elif text.lower().startswith("'size,"):
            inside = bool(found)
        elif text.startswith("'"):
            named = inside = False
        elif named and text:
            found.append((text.rpartition(",")[0] or text, []))
            named = False
        elif inside and text:
            cells = text.split(",")
            try:
                row = dict(zip(_COLUMNS, map(_finite, cells), strict=True))
            except ValueError:
                raise UserError(
                    f"{path}, line {number}: write {', '.join(_COLUMNS)} as numbers"
                ) from None
            found[-1][1].append(row)
    return [(name, rows) for name, rows in found if rows]


def _assigned(
    lines: list[str], known: list[tuple[str, list[dict[str, float]]]], path: Path
) -> list[tuple[str, list[dict[str, float]]]]:
    """The specifications that are assigned to workers with drives, in their order; all where none
    is assigned to any worker."""
    wanted: dict[str, bool] = {}
    title = ""
    is_of_network = False
    for line in lines:
        text = line.strip()
        if text.startswith("'"):
            title = text.lower()
        elif title.startswith("'worker type"):
            is_of_network = text.upper().startswith("NETWORK")
        elif title.startswith("'assigned access specs") and text:
            wanted[text] = wanted.get(text, False) or not is_of_network
    if wanted and not any(wanted.values()):
        raise UserError(f"{path}: all of its workers use a network, and a target here is a drive")
    by_name = dict(known)
    found = [(name, by_name[name]) for name, here in wanted.items() if here and name in by_name]
    return found or known


def _area(numbers: list[float]) -> dict[str, Any]:
    """The part of a drive that the first worker uses, of a length and a start in sectors; a length
    of 0 is all of it."""
    length, start = (*numbers, 0.0, 0.0)[:2]
    found = {"offset": start, "span": length}
    return {key: f"{int(count) * _SECTOR_BYTES} B" for key, count in found.items() if count}


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or not 0 <= value < 2**53:
        raise ValueError
    return value


def _part(row: dict[str, float], where: str) -> MixPart:
    for column in ("% of size", "% reads", "% random"):
        if row[column] > 100:
            raise UserError(f"{where}: {column} is {row[column]:g}: use at most 100")
    if row["reply"]:
        raise UserError(f"{where}: a reply is refused: drives have none, only networks")
    return MixPart(int(row["size"]), row["% of size"], row["% reads"], row["% random"])


def _pace(rows: list[dict[str, float]], where: str) -> dict[str, Any]:
    paces = {(row["delay"], row["burst"], row["align"]) for row in rows}
    if len(paces) > 1:
        raise UserError(
            f"{where}: lines with different delay, burst or align are refused: split it"
        )
    [(delay_ms, burst, align)] = paces
    found: dict[str, Any] = {}
    if delay_ms:
        found = {"think": f"{delay_ms:g} ms", "think-every": max(1, int(burst))}
    # Iometer's 0 is a sector, in its dialog "Sector Boundaries".
    found["alignment"] = f"{int(align) or _SECTOR_BYTES} B"
    return found


def _numbers(lines: list[str], title: str, path: Path) -> list[float]:
    """The numbers in the line after a title; none where there is no such title."""
    for number, line in enumerate(lines[:-1]):
        if line.lower().startswith(title.lower()):
            cells = lines[number + 1].replace(",", " ").split()
            try:
                return [_finite(cell) for cell in cells if cell[:1].isdigit()]
            except ValueError:
                raise UserError(f"{path}, line {number + 2}: there is no number") from None
    return []
