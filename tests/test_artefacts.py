"""Artefacts by made-up conditions, by the second and across recordings; none where none is."""

import io
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from rich.console import Console

import fourcorners as fc
from fourcorners.analysis import find
from fourcorners.analysis.artefacts import PREFIX, Artefact, Case, detect
from fourcorners.documents import part, plain
from fourcorners.machine import medium
from fourcorners.machine import observer as observing
from fourcorners.machine.conditions import Conditions
from fourcorners.machine.observer import Observer
from fourcorners.reporting.terminal import render_summary
from fourcorners.suites import steps

GOOD: dict[str, Any] = {
    "observed_s": 10.0,
    "direct": True,
    "file_system": "ext4",
    "mount_options": "rw,relatime",
    "transport": "NVMe over pcie",
    "hole_share": 0.0,
    "sampled_blocks": 64,
    "zero_share": 1 / 64,
    "repeated_share": 0.0,
    "copy_on_write": False,
    "compressed": False,
    "flush_s": 0.002,
    "own_read_bytes": 10_000 * 4096,
    "own_write_bytes": 10_000 * 4096,
    "disk_reads": 10_010,
    "disk_writes": 10_020,
    "disk_read_bytes": 10_010 * 4096,
    "disk_write_bytes": 10_020 * 4096,
    "cores": 8,
    "steal_share": 0.001,
    "other_cpu_share": 0.02,
    "issuers_wait_s": 0.01,
    "kernel_workers": 0,
    "kernel_workers_cpu_s": 0.0,
    "pollers": 0,
    "pollers_cpu_s": 0.0,
    "pollers_wait_s": 0.0,
    "clock_source": "tsc",
    "clock_source_after": "tsc",
    "clock_drift": 4e-5,
    "cpu_governor": "performance",
    "cpu_frequency_share": 0.98,
    "idle_exit_s": 2e-6,
    "link_power": "max_performance",
    "suspended_s": 0.0,
    "cpu_throttled": 0,
    "drive_temperature_c": 45.0,
    "drive_temperature_limit_c": 70.0,
    "purged": True,
    "written_before_bytes": 64 * 10**9,
}


def case(conditions: dict[str, Any] | None = None, **fields: Any) -> Case:
    """10,000 reads and as many writes of 4 KiB in ten seconds under conditions without a fault."""
    values: dict[str, Any] = {
        "id": "test/one",
        "label": "a measurement",
        "bytes": {"read": 10_000 * 4096, "write": 10_000 * 4096},
        "ios": {"read": 10_000, "write": 10_000},
        "elapsed_s": 10.0,
        "second_bytes": np.full(10, 2_000 * 4096),
        "latency_mean_s": 0.5e-3,
        "cpu_s": 2.0,
        "generating_s": 0.1,
        "mean_queue_depth": 1.0,
        "pattern": "random",
        "block_bytes": 4096,
        "workers": 1,
        "capacity_bytes": 64 * 10**9,
        **fields,
    }
    return Case(**values, conditions=part(Conditions, {**GOOD, **(conditions or {})}))


def artefacts(*cases: Case) -> list[Artefact]:
    return [artefact for _, artefact in detect(cases)]


def test_good_conditions_are_no_artefact() -> None:
    assert artefacts(case()) == []


def test_unknown_conditions_are_no_artefact() -> None:
    unknown = dict.fromkeys(GOOD)
    assert artefacts(case(unknown, cpu_s=None, generating_s=None, capacity_bytes=None)) == []


# What is planted, and the artefact that it must be named as. One condition each.
PLANTED: dict[str, tuple[str, dict[str, Any]]] = {
    "buffered I/O": ("page_cache", {"direct": False}),
    "memory": ("page_cache", {"file_system": "tmpfs"}),
    "buffered loop device": ("page_cache", {"transport": "loop", "loop_direct": False}),
    "answered before the device": (
        "page_cache",
        {"own_read_bytes": 5_000 * 4096, "disk_read_bytes": 5_000 * 4096, "disk_reads": 5_000},
    ),
    "holes": ("unwritten_blocks", {"hole_share": 0.1}),
    "zeros": ("zero_blocks", {"zero_share": 4 / 64}),
    "repeats": ("repeated_blocks", {"repeated_share": 4 / 64}),
    "compression": ("compressing_storage", {"compressed": True}),
    "copies": ("copy_on_write", {"file_system": "btrfs", "copy_on_write": True}),
    "long flush": ("write_buffer", {"flush_s": 1.5}),
    "group limit": ("rate_cap", {"cap_write_iops": 1000}),
    "group limit of bytes": ("rate_cap", {"cap_read_bytes_per_second": 4_096_000}),
    "foreign bytes": ("foreign_load", {"disk_read_bytes": 12_000 * 4096}),
    "foreign I/Os": ("foreign_load", {"disk_writes": 12_000}),
    "no processor": ("cpu_contention", {"issuers_wait_s": 1.0}),
    "hypervisor": ("cpu_contention", {"steal_share": 0.2}),
    "kernel workers": ("kernel_workers", {"kernel_workers": 4, "kernel_workers_cpu_s": 1.0}),
    "polling threads": ("sqpoll_starvation", {"pollers": 4, "pollers_cpu_s": 30.0}),
    "waiting poller": (
        "sqpoll_starvation",
        {"pollers": 1, "pollers_cpu_s": 6.0, "pollers_wait_s": 3.0},
    ),
    "clock source": ("unstable_clock", {"clock_source": "hpet", "clock_source_after": "hpet"}),
    "clock change": ("unstable_clock", {"clock_source_after": "hpet"}),
    "clock drift": ("unstable_clock", {"clock_drift": -2e-3}),
    "governor": ("power_saving", {"cpu_governor": "powersave"}),
    "low frequency": ("power_saving", {"cpu_frequency_share": 0.4}),
    "deep sleep": ("power_saving", {"idle_exit_s": 100e-6}),
    "sleeping link": ("power_saving", {"link_power": "min_power"}),
    "suspended": ("power_saving", {"suspended_s": 0.4}),
    "hot processor": ("thermal_throttling", {"cpu_throttled": 3}),
    "hot drive": ("thermal_throttling", {"drive_temperature_c": 70.0}),
    "fresh drive": ("preconditioning", {"written_before_bytes": 10**9}),
}


def test_a_test_that_means_to_begin_with_an_erased_drive_is_not_blamed_for_it() -> None:
    fresh = {"written_before_bytes": 0, "purged": True}
    assert [one.name for one in artefacts(case(fresh))] == ["preconditioning"]
    for id in ("probe-overwrite/write", "snia-write-saturation/write"):
        assert not artefacts(case(fresh, id=id))


@pytest.mark.parametrize("planted", PLANTED)
def test_what_is_planted_is_found_and_nothing_else(planted: str) -> None:
    name, conditions = PLANTED[planted]
    [artefact] = artefacts(case(conditions))
    assert artefact.name == name
    for text in (artefact.seen, artefact.effect, artefact.mend):
        assert text.endswith(".")
        assert "None" not in text
        assert "nan" not in text


def test_a_saturated_host_is_told_from_a_waiting_one() -> None:
    [artefact] = artefacts(case(cpu_s=9.5, generating_s=5.0))
    assert artefact.name == "host_saturated"
    assert artefact.evidence["generating_share"] == pytest.approx(0.5, rel=0.01)
    assert artefacts(case(cpu_s=8.5)) == []
    # Half of the time without a processor, the other half at work: it never waited for the drive.
    contended = artefacts(case({"issuers_wait_s": 5.0, "other_cpu_share": 0.1}, cpu_s=4.9))
    assert {a.name for a in contended} == {"host_saturated", "cpu_contention"}


def test_a_thread_that_waits_for_its_own_kind_does_not_wait_for_others() -> None:
    assert artefacts(case({"issuers_wait_s": 1.0, "other_cpu_share": 0.001})) == []
    [artefact] = artefacts(case({"issuers_wait_s": 1.0, "other_cpu_share": None}))
    assert artefact.name == "cpu_contention"


def test_a_hot_drive_that_slows_down_is_severe() -> None:
    falling = np.repeat([8_000_000, 6_000_000, 4_000_000, 4_000_000, 4_000_000], 2)
    [artefact] = artefacts(case({"drive_temperature_c": 82.0}, second_bytes=falling))
    assert artefact.severity == "severe"
    assert "fell to" in artefact.seen


def writes(identifier: str, rates: list[float], **fields: Any) -> Case:
    """A sequential write with such bytes per second."""
    seconds = np.array(rates)
    return Case(
        id=identifier,
        label=identifier,
        bytes={"write": int(seconds.sum())},
        ios={"write": int(seconds.sum()) // 131072},
        elapsed_s=float(len(seconds)),
        second_bytes=seconds,
        pattern="sequential",
        block_bytes=131072,
        **fields,
    )


def test_a_write_cache_that_ends() -> None:
    noise = np.random.default_rng(7).normal(1, 0.03, 30)
    rates = np.where(np.arange(30) < 8, 500e6, 150e6) * noise
    both = [writes("long", list(rates)), writes("short", [490e6] * 4)]
    long, short = artefacts(*both)
    assert (long.severity, short.severity) == ("moderate", "severe")
    assert long.evidence["bytes_until_fall"] == pytest.approx(8 * 500e6, rel=0.05)
    assert long.evidence["slow_bytes_per_second"] == pytest.approx(150e6, rel=0.05)
    assert short.title == "Write cache only"
    # A probe says itself what a cache took.
    assert len(artefacts(both[0], writes("probe-content/plain", [490e6] * 4))) == 1


@pytest.mark.parametrize(
    "rates",
    [
        list(np.linspace(110e6, 55e6, 60)),  # a disk from edge to centre
        [100e6] * 60,
        list(100e6 * np.random.default_rng(3).lognormal(0, 0.4, 60)),
        [100e6, 20e6] * 20,  # pauses that come and go
        [100e6] * 5,
    ],
    ids=["disk", "even", "uneven", "pauses", "short"],
)
def test_writes_without_a_cache(rates: list[float]) -> None:
    assert artefacts(writes("write", rates)) == []


def test_one_finding_for_each_kind_the_severest_first() -> None:
    run = FakeRun()
    for number in range(3):
        run.add(f"queue-depth/read/{number}", "read", iops=1000.0, block_bytes=4096)
    old = {"direct": True, "clock_source": "hpet", "clock_source_after": "hpet"}
    for point in run.points:
        point["conditions"] = dict(old)
    run.points[1]["conditions"]["direct"] = False
    found = [finding for finding in find(run) if finding.name.startswith(PREFIX)]
    assert [finding.name for finding in found] == ["artefact_page_cache", "artefact_unstable_clock"]
    assert list(found[0].evidence) == ["queue-depth/read/1"]
    assert len(found[1].evidence) == 3
    assert "2 other recordings" in found[1].text


def machine(root: Path) -> Path:
    """A laptop's /proc and /sys: what tests cannot plant in the machine that they run on."""
    cpu, disk = "sys/devices/system/cpu/cpu0", "sys/devices/pci/nvme/nvme0/nvme0n1"
    files = {
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
        f"{cpu}/cpufreq/scaling_governor": "powersave",
        f"{cpu}/cpufreq/scaling_driver": "acpi-cpufreq",
        f"{cpu}/cpufreq/scaling_cur_freq": "800000",
        f"{cpu}/cpufreq/cpuinfo_max_freq": "3200000",
        f"{cpu}/cpuidle/state0/usage": "0",
        f"{cpu}/cpuidle/state0/latency": "0",
        f"{cpu}/cpuidle/state1/usage": "10",
        f"{cpu}/cpuidle/state1/latency": "130",
        f"{cpu}/thermal_throttle/core_throttle_count": "0",
        f"{disk}/stat": "100 0 800 0 100 0 800 0 0 0 0",
        f"{disk}/dev": "259:0",
        f"{disk}/size": "1000000",
        "sys/devices/pci/nvme/nvme0/hwmon3/temp1_input": "84850",
        "sys/devices/pci/nvme/nvme0/hwmon3/temp1_max": "81850",
        "proc/self/io": "read_bytes: 0\nwrite_bytes: 0",
        "proc/stat": "cpu 10 0 10 1000 0 0 0 0 0 0",
        "proc/self/stat": "1 (python) " + " ".join(["0"] * 40),
        "proc/self/cgroup": "0::/work",
        "sys/fs/cgroup/work/io.max": "259:0 rbps=1000000 wbps=max riops=max wiops=500",
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    (root / disk / "device").symlink_to(root / "sys/devices/pci/nvme/nvme0")
    return root


def test_the_observer_reads_another_machine(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))
    root = machine(tmp_path / "root")
    number = path.stat().st_dev
    link = root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(root / "sys/devices/pci/nvme/nvme0/nvme0n1")
    kernel_thread = root / "proc/77/stat"
    kernel_thread.parent.mkdir()
    kernel_thread.write_text("77 (kworker/0:1) I 2 0 0 0 -1 0 0 0 0 0 0 0 0 0")
    observer = Observer(str(path), direct=True, root=root)
    observer.begin()
    kernel_thread.write_text("77 (kworker/0:1) I 2 0 0 0 -1 0 0 0 0 0 10 10 0 0")
    cpu, disk = root / "sys/devices/system/cpu/cpu0", link.resolve()
    (cpu / "cpuidle/state1/usage").write_text("1010")
    (cpu / "thermal_throttle/core_throttle_count").write_text("2")
    (disk / "stat").write_text("1100 0 16800 0 100 0 800 0 0 0 0")
    (root / "proc/self/io").write_text("read_bytes: 4096000\nwrite_bytes: 0")
    (root / "proc/stat").write_text("cpu 110 0 10 1100 0 0 0 200 0 0")
    observer.tick()
    workload = fc.Workload([fc.Stream.read("random", 4096)], duration_s=1)
    seen = observer.end(workload, 1 << 20)
    assert (seen.clock_source, seen.cpu_governor, seen.cpu_frequency_share) == (
        "hpet",
        "powersave",
        0.25,
    )
    assert seen.idle_exit_s == pytest.approx(130e-6)
    assert (seen.cpu_throttled, seen.drive_temperature_c, seen.drive_temperature_limit_c) == (
        2,
        84.85,
        81.85,
    )
    assert (seen.own_read_bytes, seen.disk_reads, seen.disk_read_bytes) == (
        4_096_000,
        1000,
        16_000 * 512,
    )
    assert seen.steal_share == pytest.approx(0.5)
    assert seen.other_cpu_share == pytest.approx(0.2)
    assert (seen.cap_read_bytes_per_second, seen.cap_write_iops) == (1_000_000, 500)
    assert seen.hole_share == 0
    assert (seen.sampled_blocks, seen.zero_share, seen.repeated_share) == (64, 0, 0)
    # NVMe commands are in none of the kernel's counts.
    uncounted = Observer(str(path), direct=True, counted=False, root=root)
    uncounted.begin()
    seen = uncounted.end(workload, 1 << 20)
    assert (seen.own_read_bytes, seen.disk_reads, seen.steal_share) == (None, None, None)


def test_conditions_survive_the_run_folder() -> None:
    conditions = part(Conditions, {**GOOD, "of_another_version": 1})
    assert part(Conditions, plain(conditions)) == conditions
    assert plain(conditions)["of_another_version"] == 1


def test_fast_cells_of_a_simulated_drive() -> None:
    cells = {"slc_cache.static_size": "8 GB", "slc_cache.dynamic_share": "0.001"}
    writes = fc.Stream.write("sequential", 131072, queue_depth_per_worker=8)
    with fc.open_target("sim:class-tlc-nvme-consumer-1tb", settings=cells) as drive:
        [artefact] = fc.observe(drive, fc.Workload([writes], duration_s=14)).artefacts
    assert artefact.name == "write_cache"
    assert artefact.evidence["bytes_until_fall"] == pytest.approx(8e9, rel=0.15)


def test_a_run_keeps_and_shows_what_may_mislead(tmp_path: Path) -> None:
    run = fc.characterize(
        "sim:ocz-core-64gb", profile="quick", tests=["four-corners"], out=tmp_path
    )
    [finding] = [f for f in run.findings if f.name.startswith(PREFIX)]
    assert finding.name == "artefact_preconditioning"
    assert finding.detail["severity"] == "slight"
    recordings = run.manifest.tests[0].recordings
    fresh = next(r for r in recordings if r.id == finding.evidence[0])
    # Purged, then filled with 8 GB.
    assert plain(fresh.conditions) == {"purged": True, "written_before_bytes": 8 * 10**9}
    console = Console(file=io.StringIO(), width=100)
    console.print(render_summary(run))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "What may mislead" in shown
    page = (run.path / "report.html").read_text()
    assert "What may mislead" in page
    assert finding.title in page
    assert finding.title in shown


def test_a_file_is_observed_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "SETTLE_S", 0.0)
    short = {"random-time": "300 ms", "sequential-time": "300 ms"}
    path = tmp_path / "file"
    with fc.open_target(str(path), size=1 << 24, engine="sync,buffered") as target:
        run = fc.run("four-corners", target, parameters=short, out=tmp_path)
    found = {finding.name: finding for finding in run.findings}
    assert found["artefact_page_cache"].detail["severity"] == "severe"
    conditions = run.manifest.tests[0].recordings[0].conditions
    assert conditions is not None
    assert conditions.direct is False
    assert (conditions.observed_s or 0) > 0


def test_a_target_that_hangs_does_not_take_the_run_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(1 << 20))

    def hang(*_: object) -> None:
        time.sleep(2)

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr(observing, "_LOOK_LIMIT_S", 0.1)
    monkeypatch.setattr(medium, "flush_s", hang)
    monkeypatch.setattr(medium, "sample", fail)
    observer = Observer(str(path), direct=True)
    observer.begin()
    mixed = fc.Stream(read_share=0.5, block_bytes=4096, pattern="random")
    both = fc.Workload([mixed], duration_s=1)
    seen = observer.end(both, 1 << 20)
    assert seen.sampled_blocks is None
    assert seen.flush_s == pytest.approx(0.1, abs=0.5)
    assert seen.hole_share == 0
