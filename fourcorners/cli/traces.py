"""``trace``: what is in recorded traces of block I/O, and files made of them."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from fourcorners.cli.options import Flag, Json, Repeated, Replace, Size, examples
from fourcorners.cli.output import shown
from fourcorners.cli.root import app
from fourcorners.wording import chosen_size

if TYPE_CHECKING:
    from fourcorners.trace.changing import TraceOptions, WrittenTrace

trace = App(name="trace", help="Describe recorded traces of block I/O, and make new ones of them.")
app.command(trace)

Format = Annotated[
    str | None,
    Parameter(
        help="The format of the trace, such as msr. It is refused if its content says "
        "otherwise. docs/traces.md lists all formats."
    ),
]
To = Annotated[
    str | None,
    Parameter(
        help="Format of the new file: parquet, csv, fio-iolog, oracle-general or blktrace. By the "
        "end of its name unless given."
    ),
]
ReplaceTrace = Annotated[
    Flag, Parameter(name="--replace", help="Replace a file that is there already.")
]
Trace = Annotated[Path, Parameter(help="The trace.")]
NewFile = Annotated[Path, Parameter(help="The new file.")]
_PAGE = Size(4096)
_CACHE = Size(64 << 20)
_SHOWN = Parameter(show_default=lambda size: chosen_size(size).replace(" ", ""))
"""A default in the unit in which people write it."""


@Parameter(name="*")
@dataclass(frozen=True)
class NewTrace:
    """Options of everything that makes a trace of others: those of
    :class:`fourcorners.trace.changing.TraceOptions`, and how to show what was made."""

    format: Format = None
    to: To = None
    replace: ReplaceTrace = False
    json: Json = False

    def given(self) -> "TraceOptions":
        """The options for the package's calls."""
        return {"format": self.format, "to": self.to, "replace": self.replace}

    def show(self, written: "WrittenTrace") -> int:
        """Says what was written, and returns the exit code."""
        from fourcorners.cli.show.traces import show_written

        return shown(self.json, "trace-written", written, show_written)


_NEW_TRACE = NewTrace()


@trace.command(
    name="info",
    help_epilogue=examples(
        "trace info prxy_0.csv.gz",
        "trace info sda.parquet --html sda.html",
    ),
)
def trace_info(
    *files: Path,
    format: Format = None,
    html: Path | None = None,
    replace: Replace = False,
    json: Json = False,
) -> int:
    """Describe a trace: operations, lengths, footprint, skew, bursts, queue depth.

    Parameters
    ----------
    files
        The trace, of any format that "convert" reads; several are taken for one.
    html
        File for a page of it, with plots.
    """
    from fourcorners.cli.show.traces import show_information
    from fourcorners.trace import information

    found = information.trace_info(*files, format=format, html=html, replace=replace)
    return shown(json, "trace-info", found, show_information)


@trace.command(
    name="convert",
    help_epilogue=examples(
        "trace convert prxy_0.csv.gz prxy.parquet",
        "trace convert sda.blktrace.0 sda.parquet",
        "trace convert sda.parquet sda.iolog --anonymise",
    ),
)
def trace_convert(
    file: Path,
    out: Path,
    /,
    *,
    anonymise: Flag = False,
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Write a trace as another file, in the order of time.

    Parameters
    ----------
    file
        The trace: blktrace, blkparse, perf, tracefs, fio, MSR Cambridge, Alibaba, Tencent, SYSTOR,
        SPC, FIU, Nexus, ETW, DiskMon, DiskSim, vscsi, oracleGeneral or our own; also in gzip, zstd,
        bzip2, xz and tar.
    out
        The new file.
    anonymise
        Leave out names of files and volumes, numbers of processes and the date.
    """
    from fourcorners.trace import changing

    return new.show(changing.trace_convert(file, out, anonymise=anonymise, **new.given()))


@trace.command(
    name="cut",
    help_epilogue=examples(
        "trace cut day.parquet noon.parquet --from-s 43200 --to-s 46800",
        'trace cut all.parquet one.parquet --volume "8,16"',
    ),
)
def trace_cut(
    file: Trace,
    out: Path,
    /,
    *,
    from_s: float = 0.0,
    to_s: float | None = None,
    volume: Repeated = (),
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Write a part of a trace: some of its time, or some of its volumes.

    Parameters
    ----------
    out
        The new file, whose times count from --from-s.
    from_s
        The first second that is kept, on the clock of the trace.
    to_s
        The first second that is no longer kept.
    volume
        A volume that is kept: all of them unless given. Repeatable.
    """
    from fourcorners.trace import changing

    return new.show(
        changing.trace_cut(file, out, from_s=from_s, to_s=to_s, volume=volume, **new.given())
    )


@trace.command(
    name="merge",
    help_epilogue=examples(
        "trace merge both.parquet sda.parquet sdb.parquet",
    ),
)
def trace_merge(
    out: NewFile,
    /,
    *files: Path,
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Merge several traces into one, by their dates if all have one, else from their first times.

    Parameters
    ----------
    files
        The traces. Volumes of the same name become one.
    """
    from fourcorners.trace import changing

    return new.show(changing.trace_merge(out, *files, **new.given()))


@trace.command(
    name="scale",
    help_epilogue=examples(
        "trace scale day.parquet fast.parquet --factor 0.1",
    ),
)
def trace_scale(
    file: Trace,
    out: NewFile,
    /,
    *,
    factor: float,
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Write a trace with other times between its I/Os.

    Parameters
    ----------
    factor
        Factor on all times: 0.5 makes the trace twice as fast.
    """
    from fourcorners.trace import changing

    return new.show(changing.trace_scale(file, out, factor=factor, **new.given()))


@trace.command(
    name="fold",
    help_epilogue=examples(
        "trace fold array.parquet small.parquet --span 64GB",
        "trace fold small.parquet large.parquet --span 1TB --spread",
    ),
)
def trace_fold(
    file: Trace,
    out: NewFile,
    /,
    *,
    span: Size,
    spread: Flag = False,
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Write a trace for a drive of another size, with all volumes one behind the other.

    Parameters
    ----------
    span
        The size that all addresses lie in afterwards, such as 64GB.
    spread
        Stretch or shrink all distances in proportion. Without it addresses begin again at the start
        of the span, which keeps what lies together, together.
    """
    from fourcorners.trace import changing

    return new.show(changing.trace_fold(file, out, span=span, spread=spread, **new.given()))


@trace.command(
    name="layout",
    help_epilogue=examples(
        "trace layout sda.parquet clusters.parquet --cluster 16KiB",
        "trace layout sda.parquet shifted.parquet --shift 31.5KiB",
        "trace layout sda.parquet journal.parquet --journal data",
        "trace layout sda.parquet log.parquet --log-structured",
    ),
)
def trace_layout(
    file: Trace,
    out: NewFile,
    /,
    *,
    cluster: Annotated[Size, _SHOWN] = _PAGE,
    shift: str = "0",
    journal: Literal["none", "ordered", "data"] = "none",
    log_structured: Flag = False,
    cache: Annotated[Size, _SHOWN] = _CACHE,
    journal_size: Size | None = None,
    metadata_blocks: int | None = None,
    log_spare: float | None = None,
    without_journal_at: str | None = None,
    new: NewTrace = _NEW_TRACE,
) -> int:
    """Write a trace as a file system with other clusters, a journal or a log would issue it.

    Parameters
    ----------
    cluster
        What is read and written whole: a power of two of 512B to 2MiB.
    shift
        Distance by which all addresses move towards the end, such as 31.5KiB.
    journal
        A journal for metadata (ordered) or for all writes (data).
    log_structured
        Write everything at the end of a log, and clean its segments when space runs out.
    cache
        Memory for clusters that were read or written in part.
    journal_size
        Length of the journal: 128MiB unless given.
    metadata_blocks
        Blocks of metadata that a transaction changes for each group of blocks: 3 unless given.
    log_spare
        Space of the log beyond what the trace uses, as a share of it: 0.1 unless given.
    without_journal_at
        START:LENGTH of a journal in the trace, which is left out.
    """
    from fourcorners.trace import file_system

    written = file_system.trace_layout(
        file,
        out,
        cluster=int(cluster),
        shift=shift,
        journal=journal,
        log_structured=log_structured,
        cache=int(cache),
        journal_size=None if journal_size is None else int(journal_size),
        metadata_blocks=metadata_blocks,
        log_spare=log_spare,
        without_journal_at=without_journal_at,
        **new.given(),
    )
    return new.show(written)


@trace.command(
    name="fit",
    help_epilogue=examples(
        "trace fit sda.parquet -o sda.toml",
        "trace fit day.csv.gz -o day.toml --on sim:crucial-m4-128gb",
    ),
)
def trace_fit(
    file: Trace,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    on: str | None = None,
    name: str | None = None,
    format: Format = None,
    replace: ReplaceTrace = False,
    json: Json = False,
) -> int:
    """Turn a trace into a workload of streams: sizes, mix, skew, arrivals, runs in order.

    Parameters
    ----------
    out
        File for the workload, a suite that "run" takes. It is printed unless given.
    on
        A simulated drive on which the streams are compared with the trace's replay.
    name
        Name of the test in it: the trace's name unless given.
    """
    from fourcorners.cli.show.traces import show_fit
    from fourcorners.running import fitting

    fit = fitting.trace_fit(file, out, on=on, name=name, format=format, replace=replace)
    return shown(json, "trace-fit", fit, partial(show_fit, out=out))
