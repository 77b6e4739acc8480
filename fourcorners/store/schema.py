"""The run folder's file names, in one place."""

from urllib.parse import quote

from fourcorners.recording import columns

MANIFEST = "manifest.json"
RECORDINGS = "recordings.parquet"
SERIES = "series.parquet"
HISTOGRAMS = "histograms.parquet"
LATENCY_OVER_TIME = "latency_over_time.parquet"
IOS = "ios"
FINDINGS = "findings.json"
NOTES = "notes.json"
SERVED = "served.json"
DRIVE = "drive.toml"
MEMBER = "member-{}.toml"
REPORT = "report.html"
# A simulated drive in the midst of a test, after so many of its steps.
STATE = "drive-{}.state"

TABLES = {
    RECORDINGS: columns.RECORDINGS,
    SERIES: columns.SERIES,
    HISTOGRAMS: columns.HISTOGRAMS,
    LATENCY_OVER_TIME: columns.LATENCY_OVER_TIME,
}


def ios_file(recording_id: str) -> str:
    """The table of single I/Os of a recording, from the run folder."""
    return f"{IOS}/{quote(recording_id, safe=' ')}.parquet"
