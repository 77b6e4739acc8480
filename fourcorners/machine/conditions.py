"""The conditions of one measurement, as a run folder keeps them with its recording."""

from fourcorners.documents import FixedPart


class Conditions(FixedPart, frozen=True, kw_only=True):
    """Facts and differences of counters over one measurement. What is not known is ``None``.

    ``own_*`` is what the kernel charged to this process as block I/O, ``disk_*`` what the disk's
    own counters say. Shares run from 0 to 1. Times are seconds, sizes bytes.
    """

    observed_s: float | None = None
    """Time between the two readings of the counters."""

    # The path under test
    direct: bool | None = None
    file_system: str | None = None
    mount_options: str | None = None
    transport: str | None = None
    loop_direct: bool | None = None
    """Whether a loop device passes its file system's page cache by."""
    hole_share: float | None = None
    """Part of the measured span that the file system has no written blocks for."""
    sampled_blocks: int | None = None
    """4 KiB blocks of the measured span that were looked at after a measurement of reads."""
    zero_share: float | None = None
    repeated_share: float | None = None
    copy_on_write: bool | None = None
    compressed: bool | None = None
    flush_s: float | None = None
    """Time that a flush took right after a measurement of writes."""
    cap_read_iops: int | None = None
    cap_write_iops: int | None = None
    cap_read_bytes_per_second: int | None = None
    cap_write_bytes_per_second: int | None = None

    # Block I/O
    own_read_bytes: int | None = None
    own_write_bytes: int | None = None
    disk_reads: int | None = None
    disk_writes: int | None = None
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None

    # Processors
    cores: int | None = None
    steal_share: float | None = None
    """CPU time that the hypervisor gave to others, of all."""
    other_cpu_share: float | None = None
    """CPU time of other processes, of all."""
    issuers_wait_s: float | None = None
    """Longest time that a thread which issues I/O was ready and had no processor."""
    kernel_workers: int | None = None
    kernel_workers_cpu_s: float | None = None
    pollers: int | None = None
    """Kernel threads that polled for requests (SQPOLL)."""
    pollers_cpu_s: float | None = None
    """CPU time of all of them."""
    pollers_wait_s: float | None = None
    """Longest time that one of them was ready and had no processor."""

    # Clock
    clock_source: str | None = None
    clock_source_after: str | None = None
    clock_drift: float | None = None
    """Relative difference between the clock in use and the one that nothing adjusts."""

    # Power and heat
    cpu_governor: str | None = None
    cpu_frequency_share: float | None = None
    """Mean of the processors' frequencies while measuring, of the highest possible."""
    idle_exit_s: float | None = None
    """Mean time to leave the processors' idle states, by how often each was entered."""
    link_power: str | None = None
    suspended_s: float | None = None
    """Time that the disk was suspended."""
    cpu_throttled: int | None = None
    """Times that a processor was slowed down because of heat."""
    drive_temperature_c: float | None = None
    """The highest that was seen."""
    drive_temperature_limit_c: float | None = None
    drive_temperature_before_c: float | None = None
    drive_temperature_after_c: float | None = None
    drive_throttled: int | None = None
    """Times that the drive slowed itself down because of heat, as its SMART log counts them."""
    drive_throttled_s: int | None = None
    drive_hot_min: int | None = None
    """Minutes above the drive's warning or critical temperature, by its SMART log."""

    # The past
    purged: bool | None = None
    """Whether all was erased before, so that ``written_before_bytes`` is everything."""
    written_before_bytes: int | None = None
    """Written by this run since the purge, or since it began. ``None`` for drives whose past does
    not matter."""
