"""What a run folder says of a run beside its tables: ``manifest.json``, as docs/run-folder.md
describes it.

Fields without a default are in every manifest. Of the others some came with a later version, and
some are there only where there is something to say.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args

import msgspec

from fourcorners.catalog.claims import Claim
from fourcorners.documents import Count, Fact, FixedPart, Part, Seed, always
from fourcorners.jobs import JobRecording
from fourcorners.machine.conditions import Conditions
from fourcorners.machine.health import Health
from fourcorners.replayed import Replayed
from fourcorners.workload import WorkloadDocument

SCHEMA = "fourcorners/run"
SCHEMA_VERSION: Literal[1] = 1

TargetKind = Literal["simulated", "file", "device"]
RunStatus = Literal["running", "complete", "interrupted", "failed"]
TestStatus = Literal["running", "complete", "interrupted", "failed", "skipped"]
ChartKind = Literal["lines", "dots", "heat", "seconds", "percentiles", "ios", "rounds"]

CHART_KINDS: tuple[ChartKind, ...] = get_args(ChartKind)

Point = Mapping[str, Fact]
"""What a plot needs of a recording: :class:`KnownPoint`, and what the test swept."""


class KnownPoint(msgspec.Struct, kw_only=True):
    """What a point of any test may have, each ``None`` where the recording's streams differ."""

    pattern: str | None = None
    block_bytes: Count | None = None
    queue_depth: Count | None = None
    content: str | None = None


class Chart(FixedPart, frozen=True):
    """A picture of a test's recordings, for the report.

    ``kind`` is ``lines`` (``y`` over the point's ``x``, a line for each value of ``series``),
    ``heat`` (``y`` by the point's ``rows`` and ``x``, a map for each value of ``series``),
    ``seconds`` (``y`` of every second, the recordings one after the other; with ``x`` "written"
    over what they had written),
    ``dots`` (as lines, without them), ``percentiles`` (latency against the share of I/Os that took
    longer) or ``rounds`` (the variables that a steady state is judged by, with the window).
    ``y`` is a name out of docs/suites.md: ``mbps``, ``iops``, ``latency_mean`` and so on.
    ``ids`` restricts it to recordings whose id begins so.
    """

    kind: ChartKind
    title: str
    y: str = "iops"
    x: str = ""
    rows: str = ""
    series: tuple[str, ...] = ()
    log: str = ""
    """The axes that are logarithmic: "x", "y" or "xy"."""
    ids: str = ""


class LoggedIos(Part, kw_only=True):
    """How many single I/Os of a recording were kept: see :class:`fourcorners.IoLog`."""

    ios: Count
    of: Count
    one_in: Count


class RecordingEntry(Part, kw_only=True):
    """A recording, beside what the tables say of it."""

    id: str
    label: str
    point: Annotated[
        Point,
        msgspec.Meta(
            extra_json_schema={
                "properties": msgspec.json.schema(KnownPoint)["$defs"]["KnownPoint"]["properties"]
            }
        ),
    ]
    workload: WorkloadDocument
    partial: bool
    conditions: Conditions | None = None
    logged: LoggedIos | None = None
    replayed: Replayed | None = None
    """How a trace was replayed."""
    jobs: list[JobRecording] = msgspec.field(default_factory=list)
    """What named parts of the workload did, each by itself."""
    failure: str | None = None
    """Why it is partial, where the target was the reason."""
    errors: dict[str, dict[int, Count]] | None = None
    """Failed I/Os, by operation and errno."""

    def __post_init__(self) -> None:
        msgspec.convert(self.point, KnownPoint)


class WrittenBefore(Part, kw_only=True):
    """What had been written to the target: since the purge, or since the run began."""

    written_bytes: Count = 0
    purged: bool = False


class DriveThen(StrEnum):
    """What the drive is where a test goes on."""

    SAVED = "saved"
    """Simulated, and back in the state that it was in."""
    ANEW = "anew"
    """Prepared by the phase that comes next."""
    UNWRITTEN = "unwritten"
    """As its preparation left it: it was only read since."""
    ROUNDS = "rounds"
    """As rounds left it: those that are behind do not count towards the steady state."""


class ResumePoint(Part, kw_only=True):
    """A place in a test where it can go on: what is behind it, while the test runs."""

    passed: Count
    """Steps of preparation and measurements, in the order of the test."""
    preparation: Count
    recordings: Count
    """Entries of the test's ``preparation`` and ``recordings`` that belong to them."""
    drive: DriveThen
    state: str | None
    """File in the run folder with a simulated drive's state."""
    past: WrittenBefore
    rounds: list[Count] = msgspec.field(default_factory=list)
    """Of each phase of rounds that has begun, those that are behind."""


class TestEntry(Part, kw_only=True):
    """A test of the run, as far as it came."""

    __test__ = False  # for pytest

    name: str
    definition: str | None = always(None)
    """The program's test behind the name; ``None`` of a test of the user's own."""
    title: str
    source: str | None
    status: TestStatus
    reason: str | None
    purpose: str
    preparation: list[str]
    parameters: Mapping[str, Fact]
    charts: list[Chart] = msgspec.field(default_factory=list)
    wall_s: float | None
    recordings: list[RecordingEntry]
    waypoint: ResumePoint | None = None


class TargetEntry(Part, kw_only=True):
    """What was measured."""

    kind: TargetKind
    locator: str
    name: str
    capacity_bytes: Count | None
    summary: str
    settings: Mapping[str, Fact]
    specification_sha256: str | None


class Gap(Part, kw_only=True):
    """A time in which the run had stopped, and what was done again because of it."""

    stopped: str
    resumed: str
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    test: str | None
    """The test that was interrupted, or would have been next."""
    kept: list[str]
    repeated: list[str]
    continued: dict[str, Count] = msgspec.field(default_factory=dict)
    """Recordings that were kept of tests that went on in their midst."""
    dropped_s: dict[str, float] = msgspec.field(default_factory=dict)
    same: str
    """What was compared to know that the target is the same."""
    changes: dict[str, tuple[Fact, Fact]]


class Opening(Part, kw_only=True):
    """How a target was opened: arguments of :func:`fourcorners.open_target`."""

    locator: str | None = None
    settings: dict[str, str] | None = None
    size: Count | None = None
    destroy_data: str | None = None
    overwrite: str | None = None
    purge_method: str | None = None
    seed: Seed | None = None
    io_limit_s: float | None = None
    engine: str | None = None
    state: str | None = None

    def arguments(self, *, but: Collection[str] = ()) -> dict[str, Any]:
        """Those that were given, ``but`` for some."""
        given = msgspec.structs.asdict(self)
        return {name: one for name, one in given.items() if one is not None and name not in but}


class Request(Part, kw_only=True):
    """What opens the target and plans the tests again."""

    opening: Opening
    subject: Mapping[str, Fact]
    """A :class:`fourcorners.suites.subject.Subject`."""
    suite: dict[str, Any]
    """A suite file's content."""
    following: list[Opening] = msgspec.field(default_factory=list)
    """Targets that the command had still to run."""
    skip_futile: bool | None = None


class Manifest(Part, kw_only=True, tag_field="schema", tag=SCHEMA):
    """``manifest.json`` of a run folder."""

    schema_version: Literal[1]
    id: str
    created: str
    """ISO 8601, UTC, as all times here."""
    status: RunStatus
    version: str
    """Of the program that measured."""
    command: str | None
    suite: str
    profile: str
    scale: float = 1.0
    """Factor on all durations."""
    seed: Seed | None
    target: TargetEntry
    claims: list[Claim] = msgspec.field(default_factory=list)
    environment: Mapping[str, Fact]
    notes: list[str]
    tests: list[TestEntry]
    ended: str | None = always(None)
    """``None`` while the run goes on."""
    gaps: list[Gap] = msgspec.field(default_factory=list)
    identity: Mapping[str, Fact] | None = None
    """What the target is known by again, see :mod:`fourcorners.target.identity`."""
    request: Request | None = None
    past: WrittenBefore | None = None
    health: dict[Literal["before", "after"], Health | None] | None = None
    """What the drive told of itself; ``None`` where it could not be asked."""
    digests: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """SHA-256 of the other files."""

    def __post_init__(self) -> None:
        if self.seed is not None and self.seed >= 2**64:
            raise ValueError("seed is out of range")
