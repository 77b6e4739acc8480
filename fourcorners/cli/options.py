"""Options that several commands have: what they say in help texts is said once, here."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from fourcorners.errors import UserError
from fourcorners.target.options import Method
from fourcorners.units import parse_bytes

if TYPE_CHECKING:
    from fourcorners.running.options import RunOptions
    from fourcorners.running.progress import Progress


def _bytes(_: object, tokens: Sequence[Token]) -> "Size":
    return Size(parse_bytes(tokens[0].value))


# A hyphen in front is a minus: "-4GiB" is told to be no size, not to be an option.
@Parameter(converter=_bytes, allow_leading_hyphen=True)
class Size(int):
    """Bytes, which people write with a unit."""


ProgressForm = Literal["auto", "json"]

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Repeated = Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)]

Json = Annotated[Flag, Parameter(help="Print the result as JSON on standard output.")]
Quiet = Annotated[
    Flag, Parameter(help="No progress and no summary: only the paths of what was made.")
]
Replace = Annotated[
    Flag,
    Parameter(
        help="Replace a file that is there already, whatever is in it. Without it, only what "
        "fourcorners wrote and nobody changed is replaced."
    ),
]
Silent = Annotated[Flag, Parameter(help="Print nothing: the exit code tells.")]
ProgressOption = Annotated[
    ProgressForm,
    Parameter(help="auto suits the terminal; json writes JSON lines to standard error."),
]
FilledShare = Annotated[
    float,
    Parameter(
        name="--filled",
        help="Share of the target that is filled and used, from its start, such as 0.5. The rest "
        "stays empty, which a drive uses as spare area.",
    ),
]
Seed = Annotated[
    int,
    Parameter(
        help="Root of all randomness: the same seed repeats a simulated run exactly.",
        validator=Number(gte=0, lte=2**64 - 1),
    ),
]
Settings = Annotated[
    Repeated,
    Parameter(
        name="--set",
        help="Replace a parameter of a simulated drive, such as cache.write_back=false; of an "
        "array's members, such as member.cache.write_back=false. Repeatable.",
    ),
]
Memory = Annotated[
    Size | None,
    Parameter(
        name="--memory",
        help="Memory that a query may use, such as 4GiB, and its result as much again. By default "
        "a quarter of the machine's memory, and 2 GiB at most.",
    ),
]
FileSize = Annotated[
    Size | None, Parameter(help="Size of a file that is to be created, such as 4GiB.")
]
DestroyData = Annotated[
    str | None,
    Parameter(
        help="The block device whose data may be destroyed. Without it, devices are only read."
    ),
]
Overwrite = Annotated[
    str | None,
    Parameter(
        help="The existing file whose content may be overwritten. Without it, such files are only "
        "read."
    ),
]
Purge = Annotated[
    Method | None,
    Parameter(
        name="--purge",
        help="How the device that --destroy-data names is erased where an erased drive is asked "
        "for: discard, nvme-format, nvme-sanitize or ata-secure-erase. Without it, no device is "
        "erased.",
    ),
]
IoLimit = Annotated[
    float | None,
    Parameter(
        name="--io-limit",
        help="Seconds that one I/O of a file or device may take before the test is given up (120 "
        "by default), or that a program that simulates a drive may be silent (60 by default).",
    ),
]
Engine = Annotated[
    str | None,
    Parameter(
        help="How I/O is passed to the system: auto, io_uring, nvme or sync, with options such as "
        "io_uring,batch=32,cpus=0-3 (docs/real-targets.md). Files and devices only."
    ),
]
Claims = Annotated[
    Path | None,
    Parameter(
        help="A file (TOML) of what the vendor claims of the drive, which the spec sheet puts "
        "beside what was measured."
    ),
]
RunJobs = Annotated[
    int,
    Parameter(
        name="--jobs",
        help="How many simulated drives run at the same time, each in a process of its own; one of "
        "1 TB takes up to 2.5 GB of memory. Files and devices never run side by side.",
        validator=Number(gte=1, lte=1024),
    ),
]
Jobs = Annotated[
    int,
    Parameter(
        help="How many drives run at the same time; each takes up to 1 GB of memory.",
        validator=Number(gte=1, lte=1024),
    ),
]
# Of drives that are drawn: more would take months.
Drawn = Annotated[int, Parameter(validator=Number(gte=1, lte=1_000_000))]


def command_line() -> str:
    """What the user typed, for manifests."""
    return shlex.join(["fourcorners", *sys.argv[1:]])


def names(listed: str | None) -> list[str] | None:
    """Names that are separated by commas."""
    return None if listed is None else [name.strip() for name in listed.split(",")]


def examples(*commands: str) -> str:
    """What a command's help ends with."""
    return "  \n".join(["Examples:", *(f"fourcorners {command}" for command in commands)])


def pairs(option: str, given: Sequence[str], form: str) -> dict[str, str]:
    """``NAME=VALUE`` pairs as a mapping; raises :class:`UserError`, which says the ``form``."""
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(f'{option} "{pair}": write {form}')
        found[name.strip()] = value.strip()
    return found


def settings_of(given: Sequence[str]) -> dict[str, str]:
    """What ``--set`` replaces; raises :class:`UserError`."""
    return pairs("--set", given, "PARAMETER=VALUE, as in cache.write_back=false")


@Parameter(name="*")
@dataclass(frozen=True)
class RunFlags:
    """Options of everything that runs tests on targets: those of
    :class:`fourcorners.running.options.RunOptions`, and how to show what happens.

    Parameters
    ----------
    state
        File that "prepare" wrote of the simulated drive: the tests start from that state instead of
        erasing and filling the drive.
    out
        Folder for run folders.
    dry_run
        Say what would be done, how long it takes, how much is written and what is destroyed.
    """

    size: FileSize = None
    settings: Settings = ()
    destroy_data: DestroyData = None
    overwrite: Overwrite = None
    purge_method: Purge = None
    io_limit_s: IoLimit = None
    engine: Engine = None
    state: Path | None = None
    filled_share: FilledShare = 1.0
    seed: Seed = 1
    out: Path = Path("runs")
    dry_run: Flag = False
    json: Json = False
    progress: ProgressOption = "auto"
    quiet: Quiet = False

    def given(self, progress: "Progress | None" = None) -> "RunOptions":
        """The options for the package's calls; raises :class:`UserError`."""
        return {
            "command": command_line(),
            "progress": progress,
            "size": self.size,
            "settings": settings_of(self.settings) or None,
            "destroy_data": self.destroy_data,
            "overwrite": self.overwrite,
            "purge_method": self.purge_method,
            "io_limit_s": self.io_limit_s,
            "engine": self.engine,
            "state": self.state,
            "filled_share": self.filled_share,
            "seed": self.seed,
            "out": self.out,
        }


DEFAULTS = RunFlags()
