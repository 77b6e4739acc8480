"""Measurements made by other programs, as run folders: analysed, shown and compared like any other.

docs/import.md says what is taken over, and what such files do not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from fourcorners.errors import UserError, os_reason
from fourcorners.importing import fio, iometer
from fourcorners.importing.figures import content_of
from fourcorners.importing.folder import write_run
from fourcorners.importing.imported import NOT_TOLD, Imported
from fourcorners.input_files import check_regular
from fourcorners.store import Run

__all__ = ["import_", "read_files"]

_FILE_BYTES_MAX = 32 * 2**20
"""A result of 1,500 jobs with all their histograms; in memory a file may take 30 times as much."""

_WORKLOADS_MAX = 5_000
"""Of more the analysis and the report would take minutes."""


@dataclass(frozen=True)
class ImportedRun:
    """A run folder that was made, and its manifest."""

    path: str
    manifest: Annotated[dict[str, Any], msgspec.Meta(description="As run.schema.json has it")]


@dataclass(frozen=True)
class ImportDocument:
    """What ``import --json`` prints."""

    runs: list[ImportedRun]


def import_(
    *files: str | Path, log: Sequence[str | Path] = (), out: str | Path = "runs"
) -> list[Run]:
    """Reads result files of fio or Iometer and writes a run folder for each target in them.

    Results of the same program and target become one run, whichever file they are in; a file that
    does not name its target has a run of its own.

    Args:
        files: what fio wrote with ``--output-format=json``, ``json+`` or ``terse``, Iometer's CSV,
            and folders of such files.
        log: fio's latency, IOPS and bandwidth logs (``--write_lat_log`` ...) of the jobs of the
            only file.
        out: folder for the run folders.

    Raises :class:`UserError` for a file that is none of these, or is damaged; nothing is written
    then.
    """
    if not files:
        raise UserError("no file: name what fio --output-format=json+ or Iometer wrote")
    found = read_files([Path(file) for file in files], [Path(one) for one in log])
    return [write_run(imported, Path(out)) for imported in found]


def read_files(paths: Sequence[Path], logs: Sequence[Path] = ()) -> list[Imported]:
    """What :func:`import_` makes run folders of; raises :class:`UserError`."""
    files = [file for path in paths for file in _files(path)]
    if logs and len(files) > 1:
        raise UserError("logs belong to one file: import one file at a time with --log")
    found: dict[object, Imported] = {}
    for file in files:
        for one in _parse(file, logs):
            known = one.target != NOT_TOLD and not one.target.endswith(f":{NOT_TOLD}")
            key = (one.program, one.target) if known else (file, one.target)
            found[key] = found[key].joined(one) if key in found else one
    workloads = sum(len(one.recordings) for one in found.values())
    if workloads > _WORKLOADS_MAX:
        raise UserError(
            f"{workloads:,} workloads are more than one import takes, {_WORKLOADS_MAX:,}: name "
            "fewer files at a time"
        )
    return list(found.values())


def _files(path: Path) -> list[Path]:
    """The file, or those of a folder that can be results; raises :class:`UserError`."""
    if not path.is_dir():
        return [path]
    try:
        # The data that was read and written may lie beside the results.
        files = sorted(
            one
            for one in path.iterdir()
            if one.is_file()
            and not one.name.startswith(".")
            and one.stat().st_size <= _FILE_BYTES_MAX
        )
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    results = [one for one in files if one.suffix != ".log" and _is_result(_read(one))]
    if not results:
        raise UserError(
            f"{path} holds no result of fio or Iometer: run fio with --output-format=json+ and "
            "--output=FILE"
        )
    return results


def _is_result(content: str) -> bool:
    return iometer.recognises(content) or fio.recognises(content)


def _parse(path: Path, logs: Sequence[Path]) -> list[Imported]:
    content = _read(path)
    if iometer.recognises(content):
        if logs:
            raise UserError("logs belong to fio's results: Iometer's CSV has none")
        return iometer.parse(content, path)
    if fio.recognises(content):
        return fio.parse(content, path, logs)
    raise UserError(
        f"{path} is neither fio's JSON or terse output nor Iometer's CSV: run fio with "
        "--output-format=json+"
    )


def _read(path: Path) -> str:
    check_regular(path, "the results")
    try:
        content = content_of(path, _FILE_BYTES_MAX)
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    if len(content) > _FILE_BYTES_MAX:
        raise UserError(
            f"{path} is larger than {_FILE_BYTES_MAX >> 20} MiB, which no result of fio or Iometer "
            "need be: give it in parts; logs are named by --log"
        )
    return content.decode("utf-8", "replace").removeprefix("\ufeff")
