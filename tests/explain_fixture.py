"""A small drive of known make, and what a probe finds out about it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fourcorners as fc
from fourcorners.analysis.internals.answer import Answer, known
from fourcorners.analysis.internals.resolver import Resolver
from fourcorners.analysis.internals.view import View
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding
from fourcorners.sentences import say
from fourcorners_validation.arena.drive_text import (
    Bytes,
    BytesPerSecond,
    GigabitsPerSecond,
    Seconds,
    drive_file,
)

KIB, MIB = 2**10, 2**20


def small_ssd(**changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Sections of a page-mapped SSD of 1 GiB; ``changes`` are parameters, by section."""
    sections: dict[str, dict[str, Any]] = {
        "host": {"overhead": Seconds(10e-6)},
        "link": {
            "line_rate": GigabitsPerSecond(6.0),
            "command_overhead": Bytes(1650),
            "queue_depth": 32,
        },
        "capacity": {"user": Bytes(1024 * MIB)},
        "controller": {"read_overhead": Seconds(10e-6), "write_overhead": Seconds(10e-6)},
        "write_buffer": {"size": Bytes(2 * MIB)},
        "flash": {
            "channels": 4,
            "dies": 4,
            "planes": 2,
            "page_size": Bytes(8 * KIB),
            "pages_per_block": 64,
            "blocks_per_plane": 320,
            "read_time": Seconds(60e-6),
            "program_time": Seconds(0.6e-3),
            "erase_time": Seconds(4e-3),
            "bus_rate": BytesPerSecond(200e6),
        },
        "translation": {"unit": Bytes(4 * KIB)},
        "garbage_collection": {"start_free_blocks": 3, "burst_blocks": 0},
    }
    for section, parameters in changes.items():
        sections.setdefault(section, {}).update(parameters)
    return sections


def view_of(run: RunData, **others: float | Answer | None) -> View:
    """What an estimator sees of a run, given what other findings say."""
    answers = {
        name: known(value, say("any.value")) if isinstance(value, float | int) else value
        for name, value in others.items()
    }
    return View(run, answers.get)


def code(finding: str, folder: Path) -> str:
    """What the run that :func:`probed` left there says of a finding."""
    [manifest] = folder.glob("runs/*/manifest.json")
    found = Resolver(fc.open_run(str(manifest.parent))).finding(finding)
    assert found is not None
    assert found.said is not None
    return found.said.code


def probed(
    probe: str,
    sections: Mapping[str, Mapping[str, Any]],
    folder: Path,
    tests: tuple[str, ...] | None = None,
) -> dict[str, Finding]:
    """The findings of a probe, or of some of a suite's, by name."""
    path = folder / "drive.toml"
    path.write_text(drive_file("drive", "page-mapped-ssd", sections).text, "utf-8")
    with fc.open_target(str(path)) as target:
        run = fc.run(probe, target, tests=tests, out=folder / "runs")
    assert {test.status for test in run.manifest.tests} == {"complete"}
    return {finding.name: finding for finding in run.findings}
