"""SMART values through tools that stand in for smartctl and nvme, with documents like theirs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from report_fixture import make_run
from test_artefacts import artefacts, case, machine

import fourcorners as fc
from fourcorners.documents import plain
from fourcorners.machine.health import HealthReader, from_nvme, from_smartctl
from fourcorners.machine.observer import Observer
from fourcorners.reporting.view import report_view

NVME = {
    "critical_warning": 0,
    "temperature": 311,
    "avail_spare": 100,
    "spare_thresh": 10,
    "percent_used": 3,
    "data_units_read": 1_204_331,
    "data_units_written": "2408662",
    "power_on_hours": 1_904,
    "media_errors": 0,
    "warning_temp_time": 2,
    "critical_comp_time": 0,
    "temperature_sensor_1": 311,
    "thm_temp1_trans_count": 4,
    "thm_temp2_trans_count": 1,
    "thm_temp1_total_time": 61,
    "thm_temp2_total_time": 5,
}
SMARTCTL_NVME = {
    "smartctl": {"version": [7, 4], "exit_status": 0},
    "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"},
    "smart_status": {"passed": True, "nvme": {"value": 0}},
    "nvme_smart_health_information_log": {
        "critical_warning": 0,
        "temperature": 38,
        "available_spare": 100,
        "percentage_used": 3,
        "data_units_read": 1_204_331,
        "data_units_written": 2_408_662,
        "power_on_hours": 1_904,
        "media_errors": 0,
        "warning_temp_time": 2,
        "critical_comp_time": 0,
    },
    "temperature": {"current": 38},
    "power_on_time": {"hours": 1_904},
}
SMARTCTL_ATA = {
    # Bit 6: the drive's error log has entries. It tells of the drive, not of the tool.
    "smartctl": {"version": [7, 3], "exit_status": 64},
    "device": {"name": "/dev/sda", "type": "sat", "protocol": "ATA"},
    "smart_status": {"passed": True},
    "ata_smart_attributes": {
        "table": [
            {"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 8, "string": "8"}},
            {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 1, "string": "1"}},
            {"id": 199, "name": "UDMA_CRC_Error_Count", "raw": {"value": 0, "string": "0"}},
        ]
    },
    "ata_sct_status": {"temperature": {"current": 41, "op_limit_max": 70}},
    "temperature": {"current": 41},
    "power_on_time": {"hours": 21_033},
}


def _plant(folder: Path, tool: str, document: Any, code: int = 0) -> Path:
    """A tool on the PATH that prints a document, of which a test may change the file."""
    folder.mkdir(exist_ok=True)
    said = folder / f"{tool}.json"
    # `read` wants a line's end.
    said.write_text(json.dumps(document) + "\n")
    program = folder / tool
    program.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/{tool}.calls"\n')
    with program.open("a") as file:
        file.write(f'while read -r line; do echo "$line"; done < "{said}"\nexit {code}\n')
    program.chmod(0o755)
    return said


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it, and no tools elsewhere either."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(
        "fourcorners.machine.health._tool",
        lambda name: str(folder / name) if (folder / name).exists() else None,
    )
    return folder


def test_the_tools_say_the_same_in_their_own_ways() -> None:
    nvme, smart = from_nvme(NVME), from_smartctl(SMARTCTL_NVME)
    for health in (nvme, smart):
        assert health.temperature_c == 38
        assert health.written_bytes == 2_408_662 * 512_000
        assert (health.used_share, health.spare_share) == (0.03, 1.0)
        assert (health.power_on_h, health.media_errors, health.hot_min) == (1_904, 0, 2)
    assert (nvme.throttled, nvme.throttled_s) == (5, 66)
    assert (smart.throttled, smart.passed) == (None, True)
    ata = from_smartctl(SMARTCTL_ATA)
    assert (ata.temperature_c, ata.temperature_limit_c, ata.power_on_h) == (41, 70, 21_033)
    assert (ata.reallocated_sectors, ata.pending_sectors, ata.crc_errors) == (8, 1, 0)


def test_the_tool_for_the_drive_is_asked(tools: Path) -> None:
    _plant(tools, "smartctl", SMARTCTL_ATA, code=64)
    _plant(tools, "nvme", NVME)
    nvme, sata = HealthReader(Path("nvme0n1")), HealthReader(Path("sda"))
    assert nvme.read() == from_nvme(NVME)
    assert sata.read() == from_smartctl(SMARTCTL_ATA)
    assert (tools / "nvme.calls").read_text() == "smart-log /dev/nvme0n1 -o json\n"
    assert (tools / "smartctl.calls").read_text() == "--json -a /dev/sda\n"
    assert (nvme.reason, sata.reason) == (None, None)
    # A reading that young serves for the next measurement.
    assert sata.begin() is not None
    assert len((tools / "smartctl.calls").read_text().splitlines()) == 1


def test_what_cannot_be_read_is_told_and_not_asked_again(tools: Path) -> None:
    absent = HealthReader(Path("sda"))
    assert absent.read() is None
    assert absent.reason is not None
    assert "neither smartctl" in absent.reason
    assert HealthReader(None).read() is None
    refused = {
        "smartctl": {
            "exit_status": 2,
            "messages": [{"string": "Smartctl open device: /dev/vda failed", "severity": "error"}],
        }
    }
    _plant(tools, "smartctl", refused, code=2)
    reader = HealthReader(Path("vda"))
    assert reader.read() is None
    assert reader.read() is None
    assert reader.reason is not None
    assert reader.reason.endswith("of /dev/vda: Smartctl open device: /dev/vda failed")
    assert len((tools / "smartctl.calls").read_text().splitlines()) == 1


def test_a_drive_that_throttles_while_it_is_measured_is_found(tools: Path, tmp_path: Path) -> None:
    said = _plant(tools, "nvme", NVME)
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    root = machine(tmp_path / "root")
    (root / "sys/devices/pci/nvme/nvme0/hwmon3/temp1_input").unlink()
    number = path.stat().st_dev
    link = root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(root / "sys/devices/pci/nvme/nvme0/nvme0n1")
    observer = Observer(str(path), direct=True, root=root)
    observer.begin()
    observer.tick()
    hot = {**NVME, "temperature": 358, "thm_temp1_trans_count": 7, "thm_temp1_total_time": 91}
    said.write_text(json.dumps(hot) + "\n")
    seen = observer.end(fc.Workload([fc.Stream.read("random", 4096)], duration_s=1), 1 << 20)
    assert (seen.drive_temperature_before_c, seen.drive_temperature_after_c) == (38, 85)
    assert (seen.drive_temperature_c, seen.drive_throttled, seen.drive_throttled_s) == (85, 3, 30)
    heat = {name: value for name, value in plain(seen).items() if name.startswith("drive_")}
    [artefact] = artefacts(case(heat))
    assert (artefact.name, artefact.severity) == ("thermal_throttling", "severe")
    assert artefact.seen == (
        "The drive slowed itself down 3 times for 30 s because of heat, at up to 85 °C."
    )
    cool = {"drive_throttled": 0, "drive_throttled_s": 0, "drive_temperature_c": 60.0}
    assert artefacts(case({**heat, **cool})) == []


def test_the_report_shows_it_before_and_after() -> None:
    run = make_run()
    after = from_nvme({**NVME, "temperature": 350})
    run.manifest.health = {"before": from_nvme(NVME), "after": after}
    rows = dict(report_view([run])["environment"]["rows"])
    assert rows["drive temperature"] == ["38 °C before, 77 °C after"]
    assert rows["endurance used"] == ["3 %"]
    assert rows["slowed down by heat"] == ["5 times"]
