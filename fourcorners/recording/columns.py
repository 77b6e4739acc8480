"""The tables of recordings: the columns that a run folder and ``Recording.to_arrow`` have."""

import pyarrow as pa

PERCENTILES = {
    "latency_p50_s": 50.0,
    "latency_p90_s": 90.0,
    "latency_p99_s": 99.0,
    "latency_p999_s": 99.9,
    "latency_p9999_s": 99.99,
    "latency_p99999_s": 99.999,
}
"""Column of the totals and the percentile that it holds."""

STAGES = ("queue", "lateness", "service")
"""The parts of a latency at a given rate."""

RECORDINGS = pa.schema(
    [
        ("recording", pa.string()),
        ("test", pa.string()),
        ("operation", pa.string()),
        ("ios", pa.int64()),
        ("bytes", pa.int64()),
        ("errors", pa.int64()),
        ("elapsed_s", pa.float64()),
        ("iops", pa.float64()),
        ("bytes_per_second", pa.float64()),
        ("latency_min_s", pa.float64()),
        ("latency_mean_s", pa.float64()),
        *((column, pa.float64()) for column in PERCENTILES),
        ("latency_max_s", pa.float64()),
        *((f"{stage}_mean_s", pa.float64()) for stage in STAGES),
        ("offered_iops", pa.float64()),
        ("unissued_ios", pa.int64()),
        ("mean_queue_depth", pa.float64()),
        ("cpu_user_s", pa.float64()),
        ("cpu_system_s", pa.float64()),
        ("generating_s", pa.float64()),
        ("energy_j", pa.float64()),
        ("mean_power_w", pa.float64()),
        ("flash_programmed_bytes", pa.int64()),
        ("write_amplification", pa.float64()),
        ("interrupted", pa.bool_()),
    ]
)
SERIES = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("second", pa.int32()),
        ("ios", pa.int64()),
        ("bytes", pa.int64()),
        ("latency_mean_s", pa.float64()),
        ("latency_max_s", pa.float64()),
    ]
)
HISTOGRAMS = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("count", pa.int64()),
    ]
)
LATENCY_OVER_TIME = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("second", pa.int32()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("count", pa.int64()),
    ]
)
IOS = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("due_ns", pa.int64()),
        ("submitted_ns", pa.int64()),
        ("completed_ns", pa.int64()),
        ("offset_bytes", pa.int64()),
        ("bytes", pa.int64()),
        ("fua", pa.bool_()),
        ("errno", pa.int32()),
    ]
)
TABLES = {
    "recordings": RECORDINGS,
    "series": SERIES,
    "histograms": HISTOGRAMS,
    "latency_over_time": LATENCY_OVER_TIME,
    "ios": IOS,
}
"""By the names that the files of a run folder have."""
