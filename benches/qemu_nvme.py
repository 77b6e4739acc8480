#!/usr/bin/env python3
"""`explain` on an emulated NVMe controller: a guest of QEMU's, whose drive has a known truth.

A small guest boots (a kernel, and an image made of this environment's Python and packages) and runs
`fourcorners explain` on its second NVMe device. What that is made of is one case each:

- `served-slow`, `served`: QEMU's controller in front of `fourcorners serve`: a page-mapped SSD that
  takes ten times as long as flash does, and one that is as fast as flash.
- `disk`: QEMU's controller in front of the catalog's WD6400AAKS, of 16 GB, served likewise.
- `constant`: QEMU's own null driver, which answers everything after one millisecond.

Without hardware virtualization QEMU interprets the guest's instructions, which takes longer than a
fast drive does. The kernel must have NVMe and ext4 built in, as Debian's cloud kernel has:

    apt-get download linux-image-6.1.0-56-cloud-amd64
    dpkg-deb -x linux-image-6.1.0-56-cloud-amd64_*.deb kernel
    benches/qemu_nvme.py kernel/boot/vmlinuz-* --keep runs --write docs

Needs qemu-system-x86_64, mkfs.ext4 and debugfs; takes up to half an hour a case and no root, but
for `--nice -15`, with which other load of this machine does not starve the guest.
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from qemu_guest import ACCELERATOR, boot_command, make_image, qemu_version, take_out

import fourcorners as fc
from fourcorners import catalog, wording
from fourcorners.analysis import find
from fourcorners.analysis.artefacts import PREFIX
from fourcorners.analysis.source import measured
from fourcorners_validation.arena.explain.contest import ProbedDrive, answers_of
from fourcorners_validation.arena.explain.drives import Hidden
from fourcorners_validation.arena.explain.goals import OWN
from fourcorners_validation.arena.explain.side_by_side import HEADER, rows
from fourcorners_validation.arena.explain.truths import true_of
from fourcorners_validation.arena.tables import TEXTS, markdown_table

PAGE = "explain-qemu.md"
HOST = "host.txt"
"""In the folder of a case: what serving its drive showed of this machine."""
CAPACITY_BYTES = 1 << 30

DISK, DISK_CAPACITY = "wd6400aaks", "16 GB"
"""What the probes write of a disk of its full size would not fit on most machines' own."""

CONSTANT_S = 1e-3
CASES = {
    "served-slow": "behind QEMU's controller, a simulated page-mapped SSD whose times are ten "
    "times those of flash, served in real time",
    "served": "the same SSD with times as those of flash",
    "disk": f"behind QEMU's controller, the catalog's WD6400AAKS, of {DISK_CAPACITY} instead of "
    "640, served in real time",
    "constant": f"behind QEMU's controller, its null driver: everything takes {CONSTANT_S * 1e3:g} "
    "ms, however much is outstanding, and nothing is kept",
}

HEAD = """# Explain behind an emulated NVMe controller

Written by `benches/qemu_nvme.py KERNEL {cases}--write docs` with {version},
`-accel {accelerator}`. A guest boots Debian's kernel and runs `fourcorners explain` on an NVMe
device that QEMU emulates; what it measured is analysed outside of it. This is the kernel's own
driver and an NVMe controller's protocol, but neither flash nor a bus: the times of the controller
are those of this machine's processor, which interprets the guest's instructions where it cannot run
them. What is slower than that can be found; the rest must be "not identifiable". The truth is that
of the drive behind the controller.
"""

DRIVE = """name = "behind-qemu"
kind = "page-mapped-ssd"
summary = "For benches/qemu_nvme.py."
[host]
overhead = {{ value = "0 ns", source = "assumed: the guest is the host" }}
[link]
pcie_generation = {{ value = 3, source = "assumed" }}
pcie_lanes = {{ value = 4, source = "assumed" }}
command_overhead = {{ value = "128 B", source = "assumed" }}
command_latency = {{ value = "2000 ns", source = "assumed" }}
queue_depth = {{ value = 64, source = "assumed: what QEMU's controller passes on" }}
[capacity]
user = {{ value = "{capacity} B", source = "assumed" }}
[controller]
read_overhead = {{ value = "{overhead} ns", source = "assumed" }}
write_overhead = {{ value = "{overhead} ns", source = "assumed" }}
[write_buffer]
size = {{ value = "1 MiB", source = "assumed" }}
write_back = {{ value = true, source = "assumed" }}
power_loss_protection = {{ value = false, source = "assumed" }}
[flash]
channels = {{ value = 4, source = "assumed" }}
dies = {{ value = 8, source = "assumed" }}
planes = {{ value = 1, source = "assumed" }}
page_size = {{ value = "8 KiB", source = "assumed" }}
pages_per_block = {{ value = 64, source = "assumed" }}
blocks_per_plane = {{ value = 300, source = "assumed" }}
read_time = {{ value = "{read} ns", source = "assumed" }}
program_time = {{ value = "{program} ns", source = "assumed" }}
erase_time = {{ value = "{erase} ns", source = "assumed" }}
bus_rate = {{ value = "{bus} B/s", source = "assumed" }}
[translation]
unit = {{ value = "4 KiB", source = "assumed" }}
superblock_dies = {{ value = 8, source = "assumed" }}
spare_area = {{ value = 0.125, source = "assumed" }}
[garbage_collection]
start_free_blocks = {{ value = 3, source = "assumed" }}
burst_blocks = {{ value = 0, source = "assumed" }}
[read_ahead]
size = {{ value = "256 KiB", source = "assumed" }}
streams = {{ value = 1, source = "assumed" }}
"""

NOT_THERE = (
    "log_blocks placement_by_address read_ahead read_cache_bytes rotation_rpm write_buffer_bytes "
    "over_provisioning op_by_cliff op_by_amplification superblock_bytes collection_stall_length "
    "collection_stall_spacing idle_recovery trim_effect slc_cache_bytes compression deduplication "
    "stripe_bytes page_bytes planes_per_die dies channels mapping_unit page_read_time program_time "
    "erase_time pages_per_block"
)
CONSTANT_TRUE = dict.fromkeys(NOT_THERE.split(), 0.0) | {"zones": 1.0, "flush_cost": CONSTANT_S}
"""There is no flash, no collection and no cache, so that any value but none is a false claim."""

PROGRAM = """import glob, os, sys
[name] = [
    path.split("/")[-1]
    for path in glob.glob("/sys/class/nvme/nvme*")
    if open(path + "/serial").read().strip() == "tested"
]
device = "/dev/" + name + "n1"
words = [sys.executable, "-m", "fourcorners", "explain", device, "--seed", "1", "--out", "/runs"]
words += {options}
if "--reads-only" not in words:
    words += ["--destroy-data", device]
os.execv(sys.executable, words)
"""


def drive_text(name: str) -> str:
    """The file of a case's drive."""
    if name == "disk":
        size = f'user = {{ value = "{DISK_CAPACITY}", source = "assumed" }}'
        return re.sub(r"^user = .*$", size, catalog.load(DISK).text, count=1, flags=re.MULTILINE)
    slower = 10 if name == "served-slow" else 1
    return DRIVE.format(
        capacity=CAPACITY_BYTES,
        overhead=round(5e3 * slower),
        read=round(60e3 * slower),
        program=round(500e3 * slower),
        erase=round(2e6 * slower),
        bus=round(400e6 / slower),
    )


def truth_of(name: str, folder: Path) -> Mapping[str, float]:
    """What is true of a case's drive, whose file is written into the folder if it has one."""
    if name == "constant":
        return CONSTANT_TRUE
    path = folder / f"{name}.toml"
    path.write_text(drive_text(name), "utf-8")
    return true_of(Hidden("NVMe SSD", catalog.load_path(path), 1))


@contextmanager
def behind(name: str, folder: Path) -> Iterator[str]:
    """QEMU's words for a case's drive, which is served as long as the context."""
    if name == "constant":
        words = f"latency-ns={round(CONSTANT_S * 1e9)},read-zeroes=on"
        yield f"driver=null-aio,size={CAPACITY_BYTES},{words}"
        return
    socket, data = folder / "drive.sock", folder / "data"
    drive = str(folder / f"{name}.toml")
    with fc.serve(drive, nbd=f"unix:{socket}", data=data, out=folder) as served:
        yield f"driver=nbd,server.type=unix,server.path={socket}"
    data.unlink()
    assert served.session is not None
    late, load = served.session.late_share, os.getloadavg()[2]
    told = f"{late:.1%} of the answers left the server too late. "
    told += f"{load:.0f} processes ran or waited on this machine's {os.cpu_count()} processors."
    (folder / HOST).write_text(told, "utf-8")


def explained(name: str, folder: Path, given: argparse.Namespace) -> fc.Run:
    """The guest's run of a case: the one that is kept, or a new one."""
    kept = folder / "guest"
    if not kept.exists():
        image = folder / "guest.img"
        program = PROGRAM.format(options=["--reads-only"] if given.reads_only else [])
        make_image(image, program, given.minutes, kernel=given.kernel)
        with behind(name, folder) as drive:
            command = boot_command(given.kernel, image, accelerator=given.accel)
            command += ["-drive", f"{drive},if=none,id=tested,discard=unmap"]
            command += ["-device", "nvme,drive=tested,serial=tested"]
            subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
        take_out(image, kept)
        image.unlink()
    manifests = list(kept.glob("runs/*/manifest.json"))
    if not manifests:
        sys.exit("the guest left no run: its console above says why")
    return fc.open_run(str(manifests[0].parent))


def section(name: str, run: fc.Run, true: Mapping[str, float], host: str) -> list[str]:
    """What was said of one case, with the truth beside it."""
    # By the estimators as they are now, not as they were when the guest ran.
    findings = find(run)
    answers = answers_of(findings, true)
    given = [answer for answer in answers if answer.value is not None]
    table = rows([name], [ProbedDrive(0, name, tuple(given), ())], OWN)
    wrong = [a for a, row in zip(given, table, strict=True) if row[-1] == "WRONG"]
    held = sum(a.interval is not None and a.interval[0] <= a.truth <= a.interval[1] for a in wrong)
    despite = f" ({held} with an interval that holds the truth)" if held else ""
    by_name = {finding.name: finding for finding in findings}
    reasons = Counter(
        by_name[a.finding].text.partition(":")[0].partition(";")[0]
        for a in answers
        if a.value is None and a.finding in by_name and a.finding != "explanation"
    )
    unasked = sum(a.finding not in by_name for a in answers)
    explanation = by_name.get("explanation")
    sentinels = [
        row.latency_percentile_s(50) for row in measured(run) if "sentinel" in row.recording
    ]
    took = [one for one in sentinels if one is not None]
    reads = f"A 4 KiB read takes the guest {wording.quantity(float(np.median(took)), 's')} "
    reads += f"({wording.quantity(min(took), 's')} to {wording.quantity(max(took), 's')} by probe)."
    # What was not reached is listed, too.
    tests = [test.name for test in run.manifest.tests if test.recordings]
    stopped = "" if run.manifest.status == "complete" else f" It was stopped in {tests[-1]}."
    return [
        f"## {name}",
        "",
        f"{CASES[name][0].upper()}{CASES[name][1:]}. {reads} {host}".rstrip(),
        "",
        f"Of {len(answers)} questions, {len(given)} were answered, {len(wrong)} of these wrongly"
        f"{despite}; {unasked} were not reached.{stopped}",
        "",
        *([f"> {explanation.text}", ""] if explanation is not None else []),
        *([markdown_table(HEADER[1:], [row[1:] for row in table], TEXTS), ""] if table else []),
        "Told of the measurements, which is true of this host:",
        "",
        *(f"- {finding.text}" for finding in findings if finding.name.startswith(PREFIX)),
        "",
        *(["Not identifiable, and why:", ""] if reasons else []),
        *(f"- {count} times: {reason}" for reason, count in reasons.most_common()),
        *([""] if reasons else []),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--reads-only", action="store_true", help="only the probes that read")
    parser.add_argument("--minutes", type=float, default=40, help="after which a case is stopped")
    parser.add_argument("--accel", default=ACCELERATOR, help="QEMU's -accel")
    parser.add_argument(
        "--keep",
        type=Path,
        required=True,
        help="folder of the runs; those that are there are not made again",
    )
    parser.add_argument("--nice", type=int, default=0, help="of QEMU and the server; below 0: root")
    parser.add_argument("--write", type=Path, help=f"folder to write {PAGE} to")
    given = parser.parse_args()
    os.nice(given.nice)
    sections = []
    for name in given.case or CASES:
        folder = given.keep / name
        folder.mkdir(parents=True, exist_ok=True)
        true = truth_of(name, folder)
        run = explained(name, folder, given)
        host = folder / HOST
        sections += section(name, run, true, host.read_text("utf-8") if host.exists() else "")
    head = HEAD.format(
        version=qemu_version(),
        accelerator=given.accel,
        cases="".join(f"--case {name} " for name in given.case or ()),
    )
    missing = [name for name in CASES if given.case and name not in given.case]
    left = [f"Not run: {name}, {CASES[name]}." for name in missing]
    text = "\n".join([head, *sections, *left]).rstrip() + "\n"
    if given.write:
        (given.write / PAGE).write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
