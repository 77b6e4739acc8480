"""Power saving and heat, of processors and of the disk."""

from dataclasses import dataclass, field
from pathlib import Path

from fourcorners.machine.system_files import number, text


@dataclass(frozen=True)
class PowerReading:
    """Counters that only grow: idle states by (entries, exit latency), throttling, suspension."""

    idle: dict[Path, tuple[int, int]]
    throttled: int | None
    suspended_ms: int | None


def read_power(root: Path, disk: Path | None) -> PowerReading:
    """One reading of them."""
    cpus = _cpus(root)
    idle = {}
    for cpu in cpus:
        for state in sorted((cpu / "cpuidle").glob("state*")):
            usage, latency = number(state / "usage"), number(state / "latency")
            if usage is not None and latency is not None:
                idle[state] = (usage, latency)
    throttled = [number(cpu / "thermal_throttle/core_throttle_count") for cpu in cpus]
    known = [count for count in throttled if count is not None]
    return PowerReading(
        idle=idle,
        throttled=sum(known) if known else None,
        suspended_ms=None if disk is None else number(disk / "device/power/runtime_suspended_time"),
    )


def idle_exit_s(before: PowerReading, after: PowerReading) -> float | None:
    """Mean time to leave an idle state, by how often each was entered in between."""
    entered = [
        (usage - before.idle[state][0], latency)
        for state, (usage, latency) in after.idle.items()
        if state in before.idle
    ]
    total = sum(times for times, _ in entered)
    return sum(times * latency for times, latency in entered) / total * 1e-6 if total else None


@dataclass
class PowerSamples:
    """What is only told as it is now, gathered while measuring."""

    frequency_shares: list[float] = field(default_factory=list)
    temperature_c: float | None = None
    temperature_limit_c: float | None = None

    def read(self, root: Path, disk: Path | None) -> None:
        """Takes a sample: frequencies now, and the drive's highest temperature so far."""
        for cpu in _cpus(root):
            now = number(cpu / "cpufreq/scaling_cur_freq")
            highest = number(cpu / "cpufreq/cpuinfo_max_freq")
            if now and highest:
                self.frequency_shares.append(now / highest)
        sensor = _sensor(disk) if disk is not None else None
        if sensor is None:
            return
        now = number(sensor / "temp1_input")
        if now is not None:
            # Thousandths of a degree.
            self.temperature_c = max(now / 1000, self.temperature_c or now / 1000)
        limit = number(sensor / "temp1_max")
        self.temperature_limit_c = None if limit is None else limit / 1000

    @property
    def frequency_share(self) -> float | None:
        """Mean over processors and samples."""
        shares = self.frequency_shares
        return sum(shares) / len(shares) if shares else None


def governor(root: Path) -> str | None:
    """How the first processor's frequency is chosen. Drivers that choose by themselves
    (``intel_pstate``, ``amd-pstate-epp``) call two ways of it by names of governors."""
    folder = root / "sys/devices/system/cpu/cpu0/cpufreq"
    name, driver = text(folder / "scaling_governor"), text(folder / "scaling_driver") or ""
    return None if name is None or driver in ("intel_pstate", "amd-pstate-epp") else name


def link_power(disk: Path | None) -> str | None:
    """The SATA port's policy, such as ``min_power``."""
    if disk is None:
        return None
    for folder in disk.resolve().parents:
        for host in sorted(folder.glob("scsi_host/host*")):
            return text(host / "link_power_management_policy")
    return None


def _cpus(root: Path) -> list[Path]:
    return sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*"))


def _sensor(disk: Path) -> Path | None:
    """The drive's temperature: NVMe has it at the controller, SATA with ``drivetemp`` loaded."""
    for pattern in ("device/hwmon[0-9]*", "device/hwmon/hwmon[0-9]*"):
        for folder in sorted(disk.glob(pattern)):
            if (folder / "temp1_input").exists():
                return folder
    return None
