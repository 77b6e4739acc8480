"""What a drive tells of itself, SMART, through ``nvme`` or ``smartctl`` with their JSON output."""

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fourcorners.documents import FixedPart, plain

# A drive that hangs must not take the run with it.
_TOOL_LIMIT_S = 15.0
# NVMe counts data in thousands of 512-byte units (base specification, SMART / Health log page).
_NVME_UNIT_BYTES = 512_000
_KELVIN = 273
# A reading that young serves for the next measurement, too.
_FRESH_S = 5.0
# ATA attributes that vendors agree on.
_REALLOCATED, _PENDING, _CRC_ERRORS = 5, 197, 199
_ABSENT = (
    "Temperature and SMART values of the drive are not known: neither smartctl (package "
    "smartmontools) nor nvme (nvme-cli) is installed"
)


class Health(FixedPart, frozen=True, kw_only=True):
    """One reading. What the drive does not tell is ``None``.

    Temperatures are in degrees Celsius, shares from 0 to 1; counters grow over the drive's life.
    """

    tool: str
    temperature_c: float | None = None
    temperature_limit_c: float | None = None
    passed: bool | None = None
    """The drive's own verdict."""
    critical_warning: int | None = None
    """NVMe: bits, 0 is well."""
    used_share: float | None = None
    """Of the endurance that its maker expects; may exceed 1."""
    spare_share: float | None = None
    power_on_h: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    media_errors: int | None = None
    reallocated_sectors: int | None = None
    pending_sectors: int | None = None
    crc_errors: int | None = None
    throttled: int | None = None
    """Times that the drive slowed itself down because of heat."""
    throttled_s: int | None = None
    hot_min: int | None = None
    """Minutes above the drive's warning and critical temperatures."""


def from_nvme(log: Mapping[str, Any]) -> Health:
    """From ``nvme smart-log -o json``: the SMART / Health log page, temperatures in Kelvin."""
    temperature = _number(log, "temperature")
    used, spare = _number(log, "percent_used"), _number(log, "avail_spare")
    read, written = _number(log, "data_units_read"), _number(log, "data_units_written")
    return Health(
        tool="nvme",
        temperature_c=None if temperature is None else temperature - _KELVIN,
        critical_warning=_whole(_number(log, "critical_warning")),
        used_share=_share(used),
        spare_share=_share(spare),
        power_on_h=_whole(_number(log, "power_on_hours")),
        read_bytes=_scaled(read, _NVME_UNIT_BYTES),
        written_bytes=_scaled(written, _NVME_UNIT_BYTES),
        media_errors=_whole(_number(log, "media_errors")),
        throttled=_sum(log, "thm_temp1_trans_count", "thm_temp2_trans_count"),
        throttled_s=_sum(log, "thm_temp1_total_time", "thm_temp2_total_time"),
        hot_min=_sum(log, "warning_temp_time", "critical_comp_time"),
    )


def from_smartctl(document: Mapping[str, Any]) -> Health:
    """From ``smartctl --json -a``, of an NVMe, ATA or SCSI drive."""
    log = _part(document, "nvme_smart_health_information_log")
    table = _part(document, "ata_smart_attributes").get("table") or []
    raw = {row.get("id"): _number(_part(row, "raw"), "value") for row in table}
    statistics = _part(document, "ata_sct_status")
    used, spare = _number(log, "percentage_used"), _number(log, "available_spare")
    read, written = _number(log, "data_units_read"), _number(log, "data_units_written")
    return Health(
        tool="smartctl",
        temperature_c=_number(_part(document, "temperature"), "current"),
        temperature_limit_c=_number(_part(statistics, "temperature"), "op_limit_max"),
        passed=_part(document, "smart_status").get("passed"),
        critical_warning=_whole(_number(log, "critical_warning")),
        used_share=_share(used),
        spare_share=_share(spare),
        power_on_h=_whole(_number(_part(document, "power_on_time"), "hours")),
        read_bytes=_scaled(read, _NVME_UNIT_BYTES),
        written_bytes=_scaled(written, _NVME_UNIT_BYTES),
        media_errors=_whole(_number(log, "media_errors")),
        reallocated_sectors=_whole(raw.get(_REALLOCATED)),
        pending_sectors=_whole(raw.get(_PENDING)),
        crc_errors=_whole(raw.get(_CRC_ERRORS)),
        hot_min=_sum(log, "warning_temp_time", "critical_comp_time"),
    )


class HealthReader:
    """Reads a disk's health, as long as that works.

    ``reason`` says why it does not; that is found out by the first :meth:`read`.
    """

    def __init__(self, disk: Path | None) -> None:
        """For the disk with this directory in ``/sys``; without one there is nothing to read."""
        self.reason: str | None = None
        self.hottest_c: float | None = None
        """Of the readings since :meth:`begin`."""
        self._latest: Health | None = None
        self._read_at = float("-inf")
        self._device = None if disk is None else f"/dev/{disk.name}"
        self._thread: threading.Thread | None = None

    def begin(self) -> Health | None:
        """A reading before a measurement, unless one was taken a moment ago."""
        self.hottest_c = None
        return self._latest if self.age_s < _FRESH_S else self.read()

    def read(self) -> Health | None:
        """A reading, which takes a tenth of a second or so; ``None`` where there is none."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._read()
        return self._latest

    def sample(self) -> None:
        """Begins a reading in the background, unless one is under way."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._read, daemon=True)
            self._thread.start()

    @property
    def age_s(self) -> float:
        """Of the latest reading."""
        return time.monotonic() - self._read_at

    def _read(self) -> None:
        self._latest = None if self._device is None or self.reason else self._ask(self._device)
        self._read_at = time.monotonic()
        now = self._latest.temperature_c if self._latest else None
        if now is not None:
            self.hottest_c = now if self.hottest_c is None else max(now, self.hottest_c)

    def _ask(self, device: str) -> Health | None:
        nvme, smartctl = _tool("nvme"), _tool("smartctl")
        # Its log has what smartctl's lacks: how often the drive slowed itself down.
        if nvme is not None and device.startswith("/dev/nvme"):
            document, reason = _call([nvme, "smart-log", device, "-o", "json"])
            if document is not None and "temperature" in document:
                return from_nvme(document)
            self.reason = f"nvme tells no SMART values of {device}: {reason}"
        elif smartctl is None:
            self.reason = _ABSENT
        if smartctl is not None:
            document, reason = _call([smartctl, "--json", "-a", device])
            health = None if document is None else from_smartctl(document)
            if health is not None and plain(health).keys() - {"tool"}:
                self.reason = None
                return health
            self.reason = f"smartctl tells no SMART values of {device}: {reason}"
        return None


def _tool(name: str) -> str | None:
    # Where the tools are, and where an ordinary user's PATH does not look.
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _call(line: list[str]) -> tuple[dict[str, Any] | None, str]:
    """The JSON that a tool prints, and what it says is wrong. Bits of smartctl's exit code tell of
    the drive, so that alone the output says whether there is a reading."""
    try:
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TOOL_LIMIT_S,
            # Ctrl-C is for the run.
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, f"no answer within {_TOOL_LIMIT_S:g} s"
    except OSError as error:
        return None, str(error)
    said = " ".join(done.stderr.decode(errors="replace").split())
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return None, said or f"it ended with {done.returncode} and without JSON"
    if not isinstance(document, dict):
        return None, "its JSON is not an object"
    messages = _part(document, "smartctl").get("messages") or []
    told = "; ".join(str(message.get("string")) for message in messages)
    return document, told or said or f"exit code {done.returncode}"


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _number(values: Mapping[str, Any], name: str) -> float | None:
    """Large counters are text in some versions, and single bits may be spelt out below a value."""
    value = values.get(name)
    if isinstance(value, dict):
        value = value.get("value")
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _share(percent: float | None) -> float | None:
    return None if percent is None else percent / 100


def _scaled(value: float | None, unit: int) -> int | None:
    return None if value is None else int(value) * unit


def _sum(values: Mapping[str, Any], *names: str) -> int | None:
    known = [value for name in names if (value := _number(values, name)) is not None]
    return int(sum(known)) if known else None
