"""What the named parts of a workload did, each by itself: parts of runs."""

import msgspec

from fourcorners.documents import Count, Part


class JobOperation(Part, kw_only=True):
    """One operation of a job; latencies are ``None`` where no I/O succeeded."""

    ios: Count
    bytes: Count
    errors: Count = 0
    latency_mean_s: float | None = None
    latency_p50_s: float | None = None
    latency_p99_s: float | None = None
    latency_max_s: float | None = None


class JobRecording(Part, kw_only=True):
    """The streams of one name, counted beside the whole: what fio calls a job.

    ``elapsed_s`` runs from its start, or from the end of the ramp, to its own last completion.
    """

    name: str
    elapsed_s: float
    operations: dict[str, JobOperation] = msgspec.field(default_factory=dict)

    def iops(self, operation: str) -> float:
        """Completed I/Os of an operation per second of the job's own time."""
        return self.operations[operation].ios / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def bytes_per_second(self, operation: str) -> float:
        """Completed bytes of an operation per second of the job's own time."""
        return self.operations[operation].bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0
