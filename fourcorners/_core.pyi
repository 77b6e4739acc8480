"""The compiled part of fourcorners. Times are integer nanoseconds, sizes bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Disturbance",
    "ForeignDrive",
    "RawIoLog",
    "RawJob",
    "RawJobOperation",
    "RawLatencies",
    "RawOperation",
    "RawRecording",
    "RawSession",
    "RealTarget",
    "Server",
    "SimulatedDrive",
    "Verification",
    "check_workload",
    "foreign_conformance",
    "trace_information",
    "trace_survey",
    "trace_transform",
]

_Array = npt.NDArray[np.uint64]

def check_workload(workload_json: str, capacity_bytes: int) -> None:
    """Raises ``ValueError``, in words for the user, for what no target of that capacity runs."""

@final
class Disturbance:
    """What a real system does to measurements of a target in virtual time, from run to run."""

    def __new__(
        cls,
        seed: int,
        *,
        spread: float = ...,
        drift: float = ...,
        outlier_share: float = ...,
        load_share: float = ...,
        overhead_ns: int = ...,
    ) -> Disturbance: ...

@final
class RawLatencies:
    """A distribution of latencies: extremes, sum, and the buckets that hold something."""

    @property
    def min_ns(self) -> int | None: ...
    @property
    def max_ns(self) -> int | None: ...
    @property
    def sum_ns(self) -> int: ...
    @property
    def bucket_low_ns(self) -> _Array: ...
    @property
    def bucket_high_ns(self) -> _Array: ...
    @property
    def bucket_count(self) -> _Array: ...

@final
class RawJobOperation:
    """One operation of a named part of the workload."""

    @property
    def ios(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def errors(self) -> int: ...
    @property
    def latencies(self) -> RawLatencies: ...

@final
class RawJob:
    """A named part of the workload; times count from the start of measuring."""

    @property
    def name(self) -> str: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def operations(self) -> dict[str, RawJobOperation]: ...

@final
class RawIoLog:
    """Single I/Os in order of completion; times count from the start of measuring."""

    @property
    def offered(self) -> int: ...
    @property
    def one_in(self) -> int: ...
    @property
    def due_ns(self) -> npt.NDArray[np.int64]: ...
    @property
    def submitted_ns(self) -> npt.NDArray[np.int64]: ...
    @property
    def completed_ns(self) -> npt.NDArray[np.int64]: ...
    @property
    def offset_bytes(self) -> npt.NDArray[np.int64]: ...
    @property
    def bytes(self) -> npt.NDArray[np.int64]: ...
    @property
    def operation(self) -> npt.NDArray[np.int8]: ...
    @property
    def operations(self) -> list[str]: ...
    @property
    def fua(self) -> npt.NDArray[np.bool_]: ...
    @property
    def errno(self) -> npt.NDArray[np.int32]: ...

@final
class RawOperation:
    """One operation's share of a recording; ``errors`` counts failures by errno."""

    @property
    def ios(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def errors(self) -> dict[int, int]: ...
    @property
    def latencies(self) -> RawLatencies: ...
    @property
    def stages(self) -> dict[str, RawLatencies]: ...
    @property
    def second_ios(self) -> _Array: ...
    @property
    def second_bytes(self) -> _Array: ...
    @property
    def second_latency_sum_ns(self) -> _Array: ...
    @property
    def second_latency_max_ns(self) -> _Array: ...
    @property
    def over_time_second(self) -> _Array: ...
    @property
    def over_time_low_ns(self) -> _Array: ...
    @property
    def over_time_high_ns(self) -> _Array: ...
    @property
    def over_time_count(self) -> _Array: ...

@final
class RawRecording:
    """What one workload's execution showed; ``operations`` by ``read``, ``write``, ``flush``,
    ``discard`` and ``write-zeroes``."""

    @property
    def off_time(self) -> RawLatencies | None:
        """How far I/Os of a trace were issued off their times."""

    @property
    def replayed_json(self) -> str | None:
        """How a trace was replayed."""

    @property
    def elapsed_ns(self) -> int: ...
    @property
    def outstanding_integral_ns(self) -> int: ...
    @property
    def offered_ios(self) -> int: ...
    @property
    def unissued_ios(self) -> int: ...
    @property
    def offered_ns(self) -> int: ...
    @property
    def cpu_user_ns(self) -> int: ...
    @property
    def cpu_system_ns(self) -> int: ...
    @property
    def generating_ns(self) -> int: ...
    @property
    def energy_j(self) -> float | None: ...
    @property
    def flash_programmed_bytes(self) -> int | None: ...
    @property
    def interrupted(self) -> bool: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def operations(self) -> dict[str, RawOperation]: ...
    @property
    def jobs(self) -> list[RawJob]: ...
    @property
    def log(self) -> RawIoLog | None: ...

def foreign_conformance(
    command: list[str], seed: int, folder: str, io_limit_ns: int = ...
) -> list[tuple[str, bool | None, str]]: ...

@final
class ForeignDrive:
    """A program that is a drive; ``OSError`` says why it is none, or is one no longer."""

    def __new__(cls, command: list[str], seed: int, io_limit_ns: int = ...) -> ForeignDrive: ...
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def keeps_state(self) -> bool: ...
    @property
    def can_purge(self) -> bool: ...
    @property
    def can_trim(self) -> bool: ...
    @property
    def can_save(self) -> bool: ...
    @property
    def truths_json(self) -> str: ...
    def run(
        self,
        workload_json: str,
        watch: Callable[[int, int, int, int], bool] | None = None,
        verification: Verification | None = None,
        disturbance: Disturbance | None = None,
    ) -> RawRecording: ...
    def idle(self, idle_ns: int) -> None: ...
    def purge(self) -> None: ...
    def trim(self, offset_bytes: int, length_bytes: int) -> None: ...
    def power_cut(self) -> list[tuple[int, int]]: ...
    def save(self, path: str) -> None: ...
    def load(self, path: str) -> None: ...
    def close(self) -> None: ...
    def counters(self) -> dict[str, float]: ...

@final
class RawSession:
    """What a session of :class:`Server` showed."""

    @property
    def recording(self) -> RawRecording: ...
    @property
    def lateness(self) -> RawLatencies:
        """How late answers were, on this machine's clock."""

    @property
    def ended(self) -> str:
        """``stopped``, ``power-cut`` or ``failed``."""

    @property
    def failure(self) -> str | None: ...
    @property
    def events_json(self) -> str: ...

@final
class Server:
    """Listens for programs, and serves one drive once; ``ValueError`` says what cannot be done.

    As a ``file`` the drive has ``capacity_bytes``, and is ``read_only``. With ``ublk`` it is a
    ``block_device`` as long as it is served; ``vhost_user`` is a socket for virtual machines.
    """

    def __new__(
        cls,
        *,
        nbd: str | None = None,
        expose: str | None = None,
        control: Path | None = None,
        file: Path | None = None,
        ublk: bool = False,
        vhost_user: Path | None = None,
        capacity_bytes: int = 0,
        read_only: bool = False,
    ) -> Server: ...
    @property
    def uri(self) -> str | None: ...
    @property
    def block_device(self) -> Path | None: ...
    def serve(
        self,
        drive: SimulatedDrive | ForeignDrive,
        begins: Callable[[], object],
        *,
        data: Path | None = None,
        faults_json: str = "[]",
        seed: int = 1,
        speed: float = 1.0,
        read_only: bool = False,
        description: str = "",
        restart_after_ns: int | None = None,
        sync: bool = False,
        state: Path | None = None,
        save_every_s: float = 0.0,
        trace: Path | None = None,
    ) -> RawSession:
        """Serves until :meth:`stop`, or until power is gone for good. ``begins`` is called when
        everything that was given can be used.

        With ``sync`` the host's disk keeps the data before a flush is acknowledged; to ``state``
        the drive's state is saved after a flush, at most every ``save_every_s``.
        """

    def ask(self, command_json: str) -> str:
        """Has a command done and returns the answer; ``OSError`` once the session has ended."""

    def stop(self) -> None: ...

@final
class SimulatedDrive:
    """A drive made from the text of a drive file; ``ValueError`` says what is wrong in it.

    An array of drives also needs its ``members``: the texts of their drive files by the names
    that :meth:`member_names` tells.
    """

    def __new__(
        cls,
        text: str,
        settings: list[tuple[str, str]],
        seed: int,
        members: list[tuple[str, str]] = ...,
    ) -> Self: ...
    @staticmethod
    def member_names(text: str, settings: list[tuple[str, str]]) -> list[str]:
        """The drive files that an array's members are made from; none for a drive."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def keeps_state(self) -> bool: ...
    @property
    def capacity_bytes(self) -> int: ...
    def run(
        self,
        workload_json: str,
        watch: Callable[[int, int, int, int], bool] | None = None,
        verification: Verification | None = None,
        disturbance: Disturbance | None = None,
    ) -> RawRecording:
        """Runs a workload; ``watch(elapsed_ns, ios, bytes, latency_sum_ns)`` returns False to
        stop early. A run that verifies is not disturbed."""

    def idle(self, idle_ns: int) -> None: ...
    def purge(self) -> None: ...
    def trim(self, offset_bytes: int, length_bytes: int) -> None: ...
    def power_cut(self) -> list[tuple[int, int]]:
        """Offset and length of what was acknowledged and is lost, ascending; ``ValueError`` where
        the model cannot say."""

    def save(self, path: str) -> None:
        """Writes the drive's state; ``ValueError`` says why it cannot."""

    def load(self, path: str) -> None:
        """Takes over a saved state; ``ValueError`` says why it cannot be used."""

    def enter_steady_state(self, filled_share: float, stream_json: str | None = None) -> None:
        """Enters the steady state of uniform random writes to the first ``filled_share`` of the
        drive; ``ValueError`` where there is none."""

    def counters(self) -> dict[str, float]: ...
    def truths(
        self,
        *,
        burst_bytes: int,
        rest_ns: int,
        flushed_bytes: int,
        overwrite_block_bytes: int,
        collected_valid_share: float | None = None,
    ) -> list[tuple[str, float, str]]:
        """Name, value and unit of what is true of the drive (drive/sim/src/truth.rs)."""

@final
class RealTarget:
    """An open file or block device.

    ``ValueError`` for what is wrong or refused before anything was written, ``OSError`` when the
    target fails; the message is for the user.
    """

    def __new__(
        cls,
        path: str,
        *,
        size_bytes: int | None = None,
        destroy_data: str | None = None,
        overwrite: str | None = None,
        seed: int = 1,
        io_limit_ns: int = ...,
        engine: str = ...,
    ) -> Self: ...
    @staticmethod
    def examine(
        path: str,
        *,
        size_bytes: int | None,
        destroy_data: str | None,
        overwrite: str | None,
        engine: str,
    ) -> None:
        """Refuses what opening would refuse, of a file that it would make; makes none."""
    @property
    def kind(self) -> Literal["file", "device"]: ...
    @property
    def capacity_bytes(self) -> int: ...
    @property
    def direct(self) -> bool: ...
    @property
    def is_counted(self) -> bool: ...
    @property
    def needs_fill(self) -> bool: ...
    @property
    def request_alignment_bytes(self) -> int: ...
    @property
    def read_only_reason(self) -> str | None: ...
    @property
    def notes(self) -> list[str]: ...
    def run(
        self,
        workload_json: str,
        watch: Callable[[int, int, int, int], bool] | None = None,
        verification: Verification | None = None,
    ) -> RawRecording:
        """Runs a workload, each worker on a thread and a ring of its own."""

    def facts(self) -> dict[str, Any]:
        """Of a file ``inode``, ``generation``, ``born_ns`` and ``size_bytes``; of a device
        ``serial``, ``size_bytes``, ``sequence`` and ``number``."""

    def holds(self) -> list[str]:
        """Formats that were found on what may be written."""

    def look(self) -> None:
        """Looks once more at what is about to be written; ``ValueError`` where it has changed."""

    def seal(self) -> None:
        """Marks what a file of fourcorners holds as its own."""

    def purge(self) -> None:
        """Discards a device; gives a file's room back and takes it anew."""

    def trim(self, offset_bytes: int, length_bytes: int) -> None:
        """Gives whole blocks back; raises what ``purge`` does, and ``ValueError`` for others."""

    def filled(self) -> None:
        """Says that all of the capacity has been written."""

@final
class Verification:
    """Which write every block of a target should hold, and which did not; kept between runs.

    ``ValueError`` when the state's file exists already, or is not of this target.
    """

    def __new__(
        cls, capacity_bytes: int, span_bytes: int, drive: int, run: int, path: str | None = None
    ) -> Self: ...
    @staticmethod
    def open(path: str, capacity_bytes: int) -> Verification: ...
    def end_load(self) -> None:
        """Says that what follows is the pass over everything."""

    @property
    def state_damaged(self) -> int:
        """Entries of the state's file that were damaged when it was opened."""

    @property
    def checked(self) -> int: ...
    @property
    def unchecked(self) -> int: ...
    @property
    def damaged(self) -> int: ...
    def take(self) -> list[tuple[str, int, int | None]]:
        """Kind and address of each damaged block, and the address it was written for."""

def trace_transform(
    files: list[str],
    out: str,
    *,
    to: str,
    step_json: str | None = None,
    format: str | None = None,
    processor: int | None = None,
    watch: Callable[[int, int, int, int], bool] | None = None,
) -> str:
    """Reads files as one trace, takes it through a step and writes a new file; what became of it,
    as JSON. ``processor`` is the one that all events of a file of blktrace's are said to be of.
    Raises ``ValueError`` for what is no trace and ``OSError`` for what cannot be read or
    written."""

def trace_survey(
    files: list[str],
    *,
    format: str | None = None,
    watch: Callable[[int, int, int, int], bool] | None = None,
) -> str:
    """Reads files as one trace; what has to be known of it before it is replayed, as JSON. Raises
    as :func:`trace_transform`."""

def trace_information(
    files: list[str],
    *,
    format: str | None = None,
    watch: Callable[[int, int, int, int], bool] | None = None,
) -> str:
    """Reads files as one trace; what is in it, as JSON. Raises as :func:`trace_transform`."""
