"""``capture`` and ``clusters``: what a live system does to a device, and what file systems make of
files."""

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from fourcorners.cli.options import Json, Repeated, examples
from fourcorners.cli.output import shown
from fourcorners.cli.root import app
from fourcorners.cli.traces import ReplaceTrace, To


@app.command(
    help_epilogue=examples(
        "capture /dev/sdb --for 10m -o sdb.parquet",
    ),
)
def capture(
    device: Path,
    /,
    *,
    seconds: Annotated[str, Parameter(name="--for", allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    to: To = None,
    replace: ReplaceTrace = False,
    json: Json = False,
) -> int:
    """Record every I/O of a block device for some time, as a trace. The device is not touched.

    Parameters
    ----------
    device
        The device, whole: not a partition.
    seconds
        How long, such as 10m. Ctrl-C ends it before, and what was recorded is written.
    out
        The new trace, on another device.
    """
    from fourcorners.cli.show.traces import show_capture
    from fourcorners.trace import capturing
    from fourcorners.units import parse_seconds

    # "10m" is what sleep, timeout and perf take; a drive file has no such letter.
    length_s = parse_seconds(re.sub(r"(?<=\d)\s*m$", " min", seconds))
    done = capturing.capture(device, out, seconds=length_s, to=to, replace=replace)
    return shown(json, "capture", done, show_capture)


@app.command(
    help_epilogue=examples(
        "clusters ~/Documents",
        "clusters sizes.txt --on sim:intel-x25-v-40gb --on sim:wd6400aaks",
    ),
)
def clusters(
    tree: Path,
    /,
    *,
    on: Repeated = (),
    size: Repeated = (),
    seeds: Annotated[int, Parameter(validator=Number(gte=2, lte=100))] = 5,
    ios: Annotated[int, Parameter(validator=Number(gte=100, lte=10_000_000))] = 4000,
    json: Json = False,
) -> int:
    """Show what cluster sizes cost: slack and I/Os of files, speed and wear of simulated drives.

    Parameters
    ----------
    tree
        A folder, whose files are counted, or a file with a size in bytes on each line.
    on
        A simulated drive to try them on. Repeatable.
    size
        A cluster size: all of 512B to 2MiB unless given. Repeatable.
    seeds
        Repetitions, from which intervals come.
    ios
        I/Os of each measurement.
    """
    from fourcorners.cli.show.clusters import show_clusters
    from fourcorners.trace import cluster_study

    study = cluster_study.clusters(tree, on=on, size=size, seeds=seeds, ios=ios)
    return shown(json, "clusters", study, show_clusters)
