"""Whether the host, not the target, set the speed of a measurement."""

from fourcorners.recording import Recording
from fourcorners.workload import Workload

# A worker that is busy for more of its time than this has none left to wait for the drive.
BUSY_FRACTION_MAX = 0.9


def host_limit(recording: Recording, workload: Workload) -> str | None:
    """A sentence when the workers' CPU time filled the measured time, else ``None``.

    The CPU time is the process's own, ramp included.
    """
    if recording.cpu_user_s is None or recording.cpu_system_s is None or not recording.elapsed_s:
        return None
    workers = sum(stream.workers for stream in workload.streams)
    available_s = (recording.elapsed_s + workload.ramp_s) * workers
    busy = (recording.cpu_user_s + recording.cpu_system_s) / available_s
    if busy < BUSY_FRACTION_MAX:
        return None
    making = (recording.generating_s or 0.0) / available_s
    return (
        f"the host, not the drive, was the limit: the CPU was busy {min(busy, 1.0):.0%} of the "
        f"time, {making:.0%} with making data"
    )
