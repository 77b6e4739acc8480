"""What other sites' pages and the vendors say of the catalog's drives.

Vendors state neither span, queue depth nor state: here an erased or a freshly filled drive, enough
outstanding requests, and data that repeat, which compressing drives are claimed with.
"""

from fourcorners.suites.common import SPAN_BYTES
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.test import Measurement, Phase
from fourcorners.validation.reproduction.experiment import Experiment
from fourcorners.validation.reproduction.experiments import owc, sata, vertex3
from fourcorners.validation.reproduction.figure import Figure
from fourcorners.workload import REPEATED, Stream, Workload

X25_M, M4_128, M4, INTEL_320, INTEL_510, V3_120, V3, S830, S840_PRO, V4, VECTOR, VERTEX_2 = (
    "intel-x25-m-g2-160gb",
    "crucial-m4-128gb",
    "crucial-m4-256gb",
    "intel-320-300gb",
    "intel-510-250gb",
    "ocz-vertex-3-120gb",
    "ocz-vertex-3-240gb",
    "samsung-830-256gb",
    "samsung-840-pro-256gb",
    "ocz-vertex-4-256gb",
    "ocz-vector-256gb",
    "ocz-vertex-2-120gb-34nm",
)
DRIVES = (X25_M, M4_128, M4, INTEL_320, INTEL_510, V3_120, V3, S830, S840_PRO, V4, VECTOR)
WORN = (V3_120, V3, VERTEX_2)
RAW = (M4, S830, V3)

SECONDS = 10.0
TORTURE_S = 1200.0
AS_SSD_BYTES, AS_SSD_BLOCK_BYTES = 2**30, 16 * 2**20
# A vendor's access time is the drive's own.
ALONE = ("host.overhead", "0 us")


def _timed(id: str, stream: Stream, seconds: float) -> Measurement:
    return Measurement(id, id, Workload([stream], seconds=seconds))


def _as_ssd(id: str, operation: str) -> Measurement:
    stream = Stream(
        read_fraction=1.0 if operation == "read" else 0.0,
        pattern="sequential",
        block_bytes=AS_SSD_BLOCK_BYTES,
        span_bytes=AS_SSD_BYTES,
    )
    return Measurement(id, "AS SSD", Workload([stream], transfer_bytes=AS_SSD_BYTES))


def plan_claims(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Sequential and random corners with many and with one outstanding request."""
    seconds, span = SECONDS * scale, SPAN_BYTES
    large = 128 * 1024
    return (
        Phase(
            (Purge(),),
            (
                _timed(
                    "sequential-write/4",
                    Stream.write("sequential", large, queue_depth=4, content=REPEATED),
                    seconds,
                ),
            ),
        ),
        Phase(
            (Purge(),),
            (
                _as_ssd("as-ssd-write", "write"),
                _timed("sequential-write/1", Stream.write("sequential", large), seconds),
            ),
        ),
        Phase(
            (Purge(), Fill(span)),
            (
                _timed(
                    "random-write/32",
                    Stream.write("random", 4096, span_bytes=span, queue_depth=32, content=REPEATED),
                    seconds,
                ),
            ),
        ),
        Phase(
            (Purge(), Fill(capacity_bytes), settle()),
            (
                _timed(
                    "sequential-read/4", Stream.read("sequential", large, queue_depth=4), seconds
                ),
                _timed("sequential-read/1", Stream.read("sequential", large), seconds),
                _as_ssd("as-ssd-read", "read"),
                _timed(
                    "random-read/32",
                    Stream.read("random", 4096, span_bytes=span, queue_depth=32),
                    seconds,
                ),
                _timed(
                    "random-read/4x8",
                    Stream.read("random", 4096, span_bytes=span, queue_depth=8, workers=4),
                    seconds,
                ),
                _timed("random-read/1", Stream.read("random", 4096, span_bytes=span), seconds),
            ),
        ),
        Phase((), (_timed("full-sequential-write/1", Stream.write("sequential", large), seconds),)),
    )


def plan_raw(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Single random reads of an erased drive."""
    read = Stream.read("random", 4096, span_bytes=SPAN_BYTES)
    return (Phase((Purge(),), (_timed("random-read/1", read, SECONDS * scale),)),)


def plan_access(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """Single random reads and writes of a span that holds data."""
    span, seconds = SPAN_BYTES, SECONDS * scale
    return (
        Phase(
            (Purge(), Fill(span), settle()),
            (
                _timed("random-read/1", Stream.read("random", 4096, span_bytes=span), seconds),
                _timed("random-write/1", Stream.write("random", 4096, span_bytes=span), seconds),
            ),
        ),
    )


def plan_worn(capacity_bytes: int, scale: float) -> tuple[Phase, ...]:
    """AS SSD's sequential write on an erased drive, a full one, a worn one, and a rewritten one."""
    torture = Stream.write("random", 4096, queue_depth=32)
    return (
        Phase((Purge(),), (_as_ssd("as-ssd/clean", "write"),)),
        Phase(
            (Purge(), Fill(capacity_bytes)),
            (
                _as_ssd("as-ssd/full", "write"),
                _timed("torture", torture, TORTURE_S * scale),
                _as_ssd("as-ssd/worn", "write"),
            ),
        ),
        Phase((Fill(capacity_bytes),), (_as_ssd("as-ssd/second", "write"),)),
    )


EXPERIMENTS = (
    *(Experiment("pages", drive, plan_claims) for drive in DRIVES),
    *(Experiment("pages", drive, plan_raw, "raw") for drive in RAW),
    Experiment("pages", V4, plan_access, "alone", (ALONE,)),
    *(Experiment("pages", drive, plan_worn, "worn") for drive in WORN),
)


def _rate(
    id: str, drive: str, recording: str, reason: str | None = None, words: tuple[str, ...] = ()
) -> Figure:
    return Figure(
        id,
        lambda r: r(f"pages/{drive}", recording).megabytes_per_second,
        reason=reason,
        words=words,
    )


def _iops(id: str, drive: str, recording: str, reason: str | None = None) -> Figure:
    return Figure(id, lambda r: r(f"pages/{drive}", recording).iops, reason=reason)


def _latency(id: str, drive: str, recording: str, reason: str | None = None) -> Figure:
    return Figure(id, lambda r: r(f"pages/{drive}", recording).latency_mean_s * 1e3, reason=reason)


def _worn(id: str, drive: str, recording: str, reason: str | None = None) -> Figure:
    return Figure(
        id,
        lambda r: r(f"pages/{drive}/worn", recording).megabytes_per_second,
        reason=reason,
    )


def _raw(id: str, drive: str) -> Figure:
    return Figure(
        id,
        lambda r: r(f"pages/{drive}/raw", "random-read/1").megabytes_per_second,
        words=("80 to 90 MB/s",),
    )


# Where a claim and a measurement exclude each other, the measurement is fitted.
LESS_THAN_MEASURED = "The vendor promises less than was measured: {}."
LINK_FILLED = LESS_THAN_MEASURED.format(
    "with four outstanding Tom's Hardware saw these drives near 550 MB/s (3302-4)"
)
SATA_READS = LESS_THAN_MEASURED.format("sata has about 200 MB/s, 48,800 IOPS, even on 3 Gb/s")
FLASH_TIME = (
    "The claim is below the 50 us that the data sheet gives for reading a page; it must mean reads "
    "that miss the flash."
)

AS_SSD = (
    "AS SSD has the drive at 57 % of the 240 GB one (162 of 284 MB/s), where vertex3 has 76 % in "
    "the same kind of test with Iometer, which the drive is fitted to."
)
QUICK_PAGES = (
    "Up to half full the firmware writes the quick pages of each pair alone and tidies up later "
    "(AnandTech 6363 p. 8). The drive file leaves that out: how long these pages take is not known."
)
PRODUCTION = (
    "20 minutes of writes leave the published drive as it was, and its 120 GB sibling at a "
    "quarter: it was a pre-production sample, or was not full. Full of incompressible data, any "
    "drive with its spare area is slowed down."
)
DURA_WRITE = (
    "SandForce's firmware slows itself down once a drive has been filled with incompressible data; "
    "by which rule is not known, and the model has none."
)
WORN_SPARE = (
    "It follows from the spare area that is left to the collector; of what the firmware keeps for "
    "itself only an assumption is known."
)

FIGURES = (
    Figure(
        "v3-vertex-2-read",
        lambda r: r(vertex3.key(VERTEX_2), vertex3.READ).iops / r(f"owc/{X25_M}", owc.READ).iops,
        also=(X25_M,),
    ),
    _rate("claim-x25m-sequential-read", X25_M, "sequential-read/4"),
    _rate("claim-x25m-sequential-write", X25_M, "sequential-write/4"),
    _iops(
        "claim-x25m-read",
        X25_M,
        "random-read/32",
        LESS_THAN_MEASURED.format("Tom's Hardware has 50,000 (2908-9)"),
    ),
    _iops("claim-x25m-write", X25_M, "random-write/32"),
    _iops("pages-x25m-read", X25_M, "random-read/4x8"),
    _rate("claim-m4-128-sequential-read", M4_128, "sequential-read/4", LINK_FILLED),
    _rate("claim-m4-128-sequential-write", M4_128, "sequential-write/4"),
    _iops("claim-m4-128-read", M4_128, "random-read/32", SATA_READS),
    _iops("claim-m4-128-write", M4_128, "random-write/32"),
    _rate("claim-m4-256-sequential-read", M4, "sequential-read/4", LINK_FILLED),
    _rate("claim-m4-256-sequential-write", M4, "sequential-write/4"),
    _iops("claim-m4-256-read", M4, "random-read/32", SATA_READS),
    _iops("claim-m4-256-write", M4, "random-write/32"),
    _rate("pages-m4-sequential-read", M4, "sequential-read/1", words=("370 MB/s",)),
    _raw("pages-m4-raw-read", M4),
    _latency("pages-m4-read-1", M4, "random-read/1"),
    _rate("claim-320-sequential-read", INTEL_320, "sequential-read/4"),
    _rate("claim-320-sequential-write", INTEL_320, "sequential-write/4"),
    _iops("claim-320-read", INTEL_320, "random-read/32", SATA_READS),
    _iops(
        "claim-320-write",
        INTEL_320,
        "random-write/32",
        LESS_THAN_MEASURED.format("sata has 110 MB/s, 26,900 IOPS"),
    ),
    _latency("pages-320-read-1", INTEL_320, "random-read/1"),
    _iops("claim-510-read", INTEL_510, "random-read/32"),
    _latency("pages-510-read-1", INTEL_510, "random-read/1"),
    _rate("claim-v3-120-sequential-read", V3_120, "sequential-read/4"),
    _rate("claim-v3-120-sequential-write", V3_120, "sequential-write/4"),
    _iops("claim-v3-120-read", V3_120, "random-read/32"),
    _iops("claim-v3-120-write", V3_120, "random-write/32"),
    _worn("v3-120-as-ssd-clean", V3_120, "as-ssd/clean", AS_SSD),
    _worn("v3-120-as-ssd-torture", V3_120, "as-ssd/worn", WORN_SPARE),
    _worn("v3-120-as-ssd-second", V3_120, "as-ssd/second", AS_SSD),
    _iops("claim-v3-240-read", V3, "random-read/32"),
    _iops("claim-v3-240-write", V3, "random-write/32"),
    _rate("pages-v3-sequential-read", V3, "sequential-read/1", words=("370 MB/s",)),
    _raw("pages-v3-raw-read", V3),
    Figure(
        "pages-v3-raw-read-7",
        lambda r: sata.rate(r, V3, "6 Gb/s", "read", 7),
        words=("more than 400",),
    ),
    _latency("pages-v3-read-1", V3, "random-read/1"),
    _worn("v3-240-as-ssd-clean", V3, "as-ssd/clean"),
    _worn("v3-240-as-ssd-torture", V3, "as-ssd/worn", PRODUCTION),
    _worn("v3-vertex-2-full", VERTEX_2, "as-ssd/full", DURA_WRITE),
    _rate("pages-830-sequential-read", S830, "sequential-read/1"),
    _rate("pages-830-sequential-write", S830, "sequential-write/1"),
    _raw("pages-830-raw-read", S830),
    _rate("pages-840-pro-sequential-read", S840_PRO, "sequential-read/1"),
    _rate(
        "pages-840-pro-as-ssd-read",
        S840_PRO,
        "as-ssd-read",
        "The link is the model's only limit here; how long AS SSD pauses between its blocks is not "
        "known, nor is the capacity of the drive.",
    ),
    _rate("pages-840-pro-as-ssd-write", S840_PRO, "as-ssd-write"),
    _rate("pages-v4-sequential-read", V4, "sequential-read/1"),
    _latency("claim-v4-read-access", f"{V4}/alone", "random-read/1", FLASH_TIME),
    _latency("claim-v4-write-access", f"{V4}/alone", "random-write/1"),
    _iops("claim-v4-read", V4, "random-read/32"),
    _iops("claim-v4-write", V4, "random-write/32"),
    _rate("claim-vector-sequential-read", VECTOR, "sequential-read/4"),
    _rate("claim-vector-sequential-write", VECTOR, "sequential-write/4", QUICK_PAGES),
    _iops("claim-vector-read", VECTOR, "random-read/32"),
    _iops("claim-vector-write", VECTOR, "random-write/32"),
    _rate("pages-vector-sequential-read", VECTOR, "as-ssd-read"),
    _rate("pages-vector-sequential-write", VECTOR, "as-ssd-write", QUICK_PAGES),
    _rate("pages-vector-full-write", VECTOR, "full-sequential-write/1"),
)
