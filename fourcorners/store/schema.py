"""The run folder's file names and table columns, in one place."""

from urllib.parse import quote

import pyarrow as pa

RUN_SCHEMA = "fourcorners/run"
FINDINGS_SCHEMA = "fourcorners/findings"
NOTES_SCHEMA = "fourcorners/notes"
SCHEMA_VERSION = 1

MANIFEST = "manifest.json"
RECORDINGS = "recordings.parquet"
SERIES = "series.parquet"
HISTOGRAMS = "histograms.parquet"
LATENCY_OVER_TIME = "latency_over_time.parquet"
IOS = "ios"
FINDINGS = "findings.json"
NOTES = "notes.json"
DRIVE = "drive.toml"
MEMBER = "member-{}.toml"
REPORT = "report.html"
# A simulated drive in the midst of a test, after so many of its steps.
STATE = "drive-{}.state"

# Column of recordings.parquet and the percentile that it holds.
PERCENTILES = {
    "latency_p50_s": 50.0,
    "latency_p90_s": 90.0,
    "latency_p99_s": 99.0,
    "latency_p999_s": 99.9,
    "latency_p9999_s": 99.99,
    "latency_p99999_s": 99.999,
}

RECORDINGS_SCHEMA = pa.schema(
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
        ("queue_mean_s", pa.float64()),
        ("lateness_mean_s", pa.float64()),
        ("service_mean_s", pa.float64()),
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
SERIES_SCHEMA = pa.schema(
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
HISTOGRAMS_SCHEMA = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("count", pa.int64()),
    ]
)
LATENCY_OVER_TIME_SCHEMA = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("second", pa.int32()),
        ("low_ns", pa.int64()),
        ("high_ns", pa.int64()),
        ("count", pa.int64()),
    ]
)
IOS_SCHEMA = pa.schema(
    [
        ("recording", pa.string()),
        ("operation", pa.string()),
        ("due_ns", pa.int64()),
        ("submitted_ns", pa.int64()),
        ("completed_ns", pa.int64()),
        ("offset_bytes", pa.int64()),
        ("bytes", pa.int64()),
        ("errno", pa.int32()),
    ]
)
TABLES = {
    RECORDINGS: RECORDINGS_SCHEMA,
    SERIES: SERIES_SCHEMA,
    HISTOGRAMS: HISTOGRAMS_SCHEMA,
    LATENCY_OVER_TIME: LATENCY_OVER_TIME_SCHEMA,
}


def ios_file(recording_id: str) -> str:
    """The table of single I/Os of a recording, from the run folder."""
    return f"{IOS}/{quote(recording_id, safe=' ')}.parquet"
