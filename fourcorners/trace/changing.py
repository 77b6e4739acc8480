"""Traces become other files: converted, cut, merged, scaled, folded."""

from __future__ import annotations

import contextlib
import json
import math
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from fourcorners import _core
from fourcorners.documents import Part, part
from fourcorners.errors import EXIT_FAILED, EXIT_USAGE, UserError
from fourcorners.input_files import check_regular, is_file
from fourcorners.recording import NS
from fourcorners.trace.figures import TraceHeader
from fourcorners.units import parse_bytes
from fourcorners.writing import Output

_WRITTEN = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".iolog": "fio-iolog",
    ".log": "fio-iolog",
    ".bin": "oracle-general",
    ".oraclegeneral": "oracle-general",
}
"""Formats by how the name of a new file ends."""


class TraceOptions(TypedDict, total=False):
    """Options of all that makes a trace of others.

    ``format`` is the format of the traces: they are refused if their content says otherwise.
    ``to`` is parquet, csv, fio-iolog, oracle-general or blktrace, by the end of the new file's name
    unless given. ``replace`` permits to replace a file that is there.
    """

    format: str | None
    to: str | None
    replace: bool


class WrittenTrace(Part):
    """A trace that was written."""

    path: str
    format: str
    ios: int
    header: TraceHeader
    lost: dict[str, int]
    """What the format could not carry, and how many I/Os had it."""


def trace_convert(
    file: Path | str,
    out: Path | str,
    *,
    anonymise: bool = False,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes a trace as another file, in the order of time.

    Args:
        file: the trace, of any format that is read; its content tells which. A run's table of
            single I/Os (``runs/A/ios/ID.parquet``) is one as well.
        out: the new file.
        anonymise: leaves out names of files and volumes, numbers of processes and the date.
        options: see :class:`TraceOptions`.

    Raises :class:`UserError` for what is no trace, and what cannot be written.
    """
    step: dict[str, Any] | None = {"anonymise": {}} if anonymise else None
    return transformed([file], out, step, **options)


def trace_cut(
    file: Path | str,
    out: Path | str,
    *,
    from_s: float = 0.0,
    to_s: float | None = None,
    volume: Sequence[str] = (),
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes a part of a trace: some of its time, or some of its volumes.

    Args:
        file: the trace.
        out: the new file, whose times count from ``from_s``.
        from_s: the first second that is kept, on the clock of the trace.
        to_s: the first second that is no longer kept.
        volume: names of the volumes that are kept; all of them unless given.
        options: see :class:`TraceOptions`.

    Raises :class:`UserError` as well for times that are none, and volumes that are not there.
    """
    from_ns, to_ns = _ns(from_s, "from"), None if to_s is None else _ns(to_s, "to")
    if to_ns is not None and to_ns <= from_ns:
        raise UserError(f"nothing lies between {from_s:g} s and {to_s:g} s: give a later end")
    step = {"cut": {"from_ns": from_ns, "to_ns": to_ns, "volumes": list(volume)}}
    return transformed([file], out, step, **options)


def trace_merge(
    out: Path | str,
    /,
    *files: Path | str,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes several traces as one: by their dates where all have one, else from their zeros.

    Args:
        out: the new file.
        files: the traces. Volumes of the same name become one.
        options: see :class:`TraceOptions`.

    Raises :class:`UserError` as :func:`trace_convert`.
    """
    if len(files) < 2:
        raise UserError("merging takes two traces or more: name them behind the new file")
    return transformed(files, out, None, **options)


def trace_scale(
    file: Path | str,
    out: Path | str,
    *,
    factor: float,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes a trace with other times between its I/Os.

    Args:
        file: the trace.
        out: the new file.
        factor: what times are multiplied with: 0.5 makes it twice as fast.
        options: see :class:`TraceOptions`.

    Raises :class:`UserError` as well for a factor that is not above zero.
    """
    if not (factor > 0 and math.isfinite(factor)):
        raise UserError(f"times cannot be {factor:g} times what they are: give a factor above 0")
    step = {"scale": {"factor": factor}}
    return transformed([file], out, step, **options)


def trace_fold(
    file: Path | str,
    out: Path | str,
    *,
    span: int | str,
    spread: bool = False,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes a trace for a drive of another size: all volumes one behind the other, on one.

    Args:
        file: the trace.
        out: the new file; its origin says how many I/Os lie elsewhere than before.
        span: the size that all addresses lie in afterwards, in bytes or such as "64GiB".
        spread: stretches or shrinks all distances in proportion. Without it addresses begin again
            at the start of the span, which keeps what lies together, together.
        options: see :class:`TraceOptions`.

    Raises :class:`UserError` as well where an I/O is longer than the span.
    """
    span_bytes = parse_bytes(span) if isinstance(span, str) else span
    if span_bytes < 4096:
        raise UserError(f"a span of {span_bytes} bytes is too small: give 4 KiB or more")
    step = {"fold": {"span_bytes": span_bytes, "spread": spread}}
    return transformed([file], out, step, **options)


def _ns(seconds: float, what: str) -> int:
    if not 0 <= seconds < 2**63 * NS:
        raise UserError(f"--{what}-s {seconds:g}: give seconds from 0 on")
    return round(seconds / NS)


def written_format(out: Path, to: str | None) -> str:
    """The format of a new trace; raises :class:`UserError` where neither says one."""
    is_blktrace = _processor_of(out) is not None
    chosen = to or ("blktrace" if is_blktrace else _WRITTEN.get(out.suffix.lower()))
    if chosen is None:
        raise UserError(
            f"{out} does not end like a format that is written: add --to parquet, csv, "
            "fio-iolog, oracle-general or blktrace"
        )
    return chosen


def _processor_of(out: Path) -> int | None:
    """The processor that a file is of by its name, where it is named as blktrace names them."""
    found = re.search(r"\.blktrace\.(\d{1,9})$", out.name)
    return None if found is None else int(found[1])


def _is_log(path: Path) -> bool:
    """Whether a file is a table of single I/Os in a run folder."""
    return path.parent.name == "ios" and is_file(path.parent.parent / "manifest.json")


@contextlib.contextmanager
def _readable(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """The files, single I/Os of run folders as traces."""
    if not any(map(_is_log, paths)):
        yield list(paths)
        return
    # Arrow and what reads run folders are loaded for these only.
    from fourcorners.trace.logged import write_log_as_trace

    with tempfile.TemporaryDirectory() as folder:
        readable = []
        for number, path in enumerate(paths):
            if _is_log(path):
                readable.append(Path(folder, f"{number}.parquet"))
                write_log_as_trace(path, readable[-1])
            else:
                readable.append(path)
        yield readable


def transformed(
    files: Sequence[Path | str],
    out: Path | str,
    step: dict[str, Any] | None,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes traces as one other file, through a step as the core reads it."""
    paths = [Path(file) for file in files]
    for path in paths:
        check_regular(path, "the trace")
    target = Path(out)
    chosen = written_format(target, options.get("to"))
    replace = options.get("replace", False)
    # What is in such a file is no longer known to be ours.
    with (
        _readable(paths) as paths,
        Output(target, replace, is_ours=None).replacing() as temporary,
    ):
        try:
            done = _core.trace_transform(
                [str(path) for path in paths],
                str(temporary),
                to=chosen,
                step_json=None if step is None else json.dumps(step),
                format=options.get("format"),
                processor=_processor_of(target),
            )
        except ValueError as error:
            raise UserError(str(error)) from error
        except OSError as error:
            # What cannot be written failed, what cannot be read is bad input.
            writing = str(temporary) in str(error)
            told = str(error).replace(str(temporary), str(target))
            raise UserError(told, EXIT_FAILED if writing else EXIT_USAGE) from error
    return part(WrittenTrace, {"path": str(target), "format": chosen, **json.loads(done)})
