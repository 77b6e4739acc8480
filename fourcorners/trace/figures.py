"""What is in a trace, as the crate ``trace`` counts it."""

from __future__ import annotations

from fourcorners.documents import Part


class TraceHeader(Part):
    """What a trace says about itself."""

    schema_version: int
    origin: list[str]
    """Where it comes from and what was done to it, in sentences."""
    format: str
    """The format that it was first read from."""
    volumes: list[str]
    start_unix_ns: int | None
    """Unix time of its zero, where that is known."""
    lost_events: int
    """Events that the recorder lost."""


class Quantiles(Part):
    """Of values that were counted in buckets 0.1 % wide."""

    count: int
    mean: float
    p50: int
    p90: int
    p99: int
    p999: int
    max: int


class TracedOperation(Part):
    """What an operation does in a trace."""

    ios: int
    bytes: int
    fua_ios: int
    latency_ns: Quantiles | None
    """From issue to completion, where that was recorded."""
    lengths: dict[int, int]
    """I/Os of each length; where there are thousands of lengths, those of the others are at 0."""


class TracedBlocks(Part):
    """Which blocks of 4 KiB are used, and how often. Where ``sampled_share`` is below 1, blocks
    were sampled by a hash of their address (SHARDS), and all else here is an estimate."""

    block_bytes: int
    sampled_share: float
    sampled_blocks: int
    footprint_bytes: float
    """All blocks that were read or written."""
    read_footprint_bytes: float
    written_footprint_bytes: float
    accessed_once_share: float
    hottest: list[tuple[float, float]]
    """Share of the blocks, hottest first, and the share of the accesses that they have."""
    hottest_written: list[tuple[float, float]]
    """The same of blocks that were written, and writes."""
    reuse: list[tuple[int, float]]
    """Bytes of other blocks that were accessed between two accesses of one, at most, and the share
    of all accesses; what is missing to 1 are first accesses."""
    rewrite: list[tuple[int, float]]
    """Bytes that were written between two writes of a block, at most, and the share of all block
    writes."""


class TracedPlaces(Part):
    """Where I/Os begin."""

    sequential_read_share: float | None
    """Reads that begin where one of the last 32 reads of their volume ended."""
    sequential_write_share: float | None
    aligned: list[tuple[int, float]]
    """Bytes, and the share of the I/Os whose place and length are multiples of them."""


class Dispersion(Part):
    """Variance over mean of the I/Os in windows: 1 of a Poisson process."""

    window_ns: int
    windows: int
    index: float


class TracedArrivals(Part):
    """When I/Os come."""

    gap_ns: Quantiles | None
    dispersion: list[Dispersion]
    idle: list[tuple[int, int, float]]
    """Gaps of at least so many ns: how many, and their share of the whole time."""


class TracedQueue(Part):
    """I/Os outstanding, where latencies were recorded."""

    depth: Quantiles
    """When an I/O was issued, with itself."""
    busy_ns: int
    idle_ns: Quantiles | None


class TracedDurability(Part):
    """What is made durable, and when."""

    flush_interval_ns: Quantiles | None
    bytes_between_flushes: Quantiles | None
    fua_interval_ns: Quantiles | None
    fua_share: float | None
    """Of the writes."""


class TraceInterval(Part):
    """What happened in an interval."""

    reads: int
    writes: int
    others: int
    read_bytes: int
    written_bytes: int
    working_set_bytes: float
    """Blocks that were read or written in it."""


class TraceOverTime(Part):
    """A trace in equal intervals."""

    interval_ns: int
    intervals: list[TraceInterval]

    def whole(self, length_ns: float) -> list[TraceInterval]:
        """The intervals that the end of a trace of that length does not cut short: the rate of a
        part of one would look like a fall."""
        cut = len(self.intervals) * self.interval_ns > length_ns
        return self.intervals[:-1] if cut and len(self.intervals) > 2 else self.intervals


class TracedVolume(Part):
    """What a volume does in a trace."""

    name: str
    ios: dict[str, int]
    read_bytes: int
    written_bytes: int
    end_bytes: int


class TraceInformation(Part):
    """What is in a trace."""

    header: TraceHeader
    ios: int
    first_ns: int
    length_ns: int
    """From the first issue to the last one."""
    time_step_ns: int
    """What all times are multiples of."""
    operations: dict[str, TracedOperation]
    end_bytes: int
    """The byte behind the last one that was used."""
    blocks: TracedBlocks
    places: TracedPlaces
    arrivals: TracedArrivals
    queue: TracedQueue | None
    durability: TracedDurability
    over_time: TraceOverTime
    volumes: list[TracedVolume]
    """By number; the first thousand."""
