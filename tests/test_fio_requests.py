"""The same job file gives the same requests by fio and by us: in law, not one by one.

fio writes down what it issues (``write_iolog``), on its engine that does nothing.
"""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import fourcorners as fc

BLOCK = 4096
JOBS = {
    "permuted": "rw=randread",
    "uniform": "rw=randread\nnorandommap",
    "zipf": "rw=randread\nrandom_distribution=zipf:1.2",
    "pareto": "rw=randread\nrandom_distribution=pareto:0.2",
    "normal": "rw=randread\nrandom_distribution=normal:20",
    "zoned": "rw=randread\nnorandommap\nrandom_distribution=zoned:60/10:30/20:10/70",
    "partly-random": "rw=randread\nnorandommap\npercentage_random=30",
    "runs": "rw=randread:8\nnorandommap",
    "gaps": "rw=read:4k\nio_size=8m",
    "backwards": "rw=read:-8k",
    "mixed": "rw=rw\nrwmixread=70",
    "mixed-random": "rw=randrw\nrwmixwrite=20\nnorandommap",
    "split": "rw=randwrite\nnorandommap\nbssplit=4k/60:16k/30:32k/10",
    "range": "rw=write\nbsrange=4k-32k",
    "two-sizes": "rw=randrw\nnorandommap\nbs=4k,16k",
    "strided": "rw=read\nzonemode=strided\nzonesize=256k\nzoneskip=768k\nio_size=4m",
    "strided-random": (
        "rw=randread\nnorandommap\nzonemode=strided\nzonesize=128k\nzonerange=512k\n"
        "zoneskip=512k\nio_size=4m"
    ),
    "gaps-to-the-end": "rw=read:6k",
    "small-part-of-a-file": "rw=randread\nfilesize=32m\nsize=4m",
    "flushes": "rw=write\nfsync=16",
}


@dataclass
class Issued:
    """What was issued: operations, offsets and lengths, and the number of flushes."""

    ios: list[tuple[str, int, int]]
    flushes: int

    def shares(self) -> dict[str, float]:
        """Numbers that tell one law of requests from another."""
        count = len(self.ios)
        found = {"reads": sum(one[0] == "read" for one in self.ios) / count}
        sizes = Counter((one[0], one[2]) for one in self.ios)
        found |= {f"{name} of {size}": n / count for (name, size), n in sizes.items()}
        ends: dict[str, int] = {}
        goes_on = 0
        for name, offset, length in self.ios:
            goes_on += ends.get(name) == offset
            ends[name] = offset + length
        found["goes on"] = goes_on / count
        places = Counter(one[1] for one in self.ios)
        hottest = sorted(places.values(), reverse=True)
        found["distinct"] = len(places) / count
        found["hottest tenth"] = sum(hottest[: max(len(hottest) // 10, 1)]) / count
        span = max(one[1] for one in self.ios) + BLOCK
        found["first tenth"] = sum(one[1] < span / 10 for one in self.ios) / count
        steps = Counter(b[1] - a[1] for a, b in zip(self.ios, self.ios[1:], strict=False))
        found["commonest step"] = steps.most_common(1)[0][1] / count
        found["flushes"] = self.flushes / count
        return found


def _job(folder: Path, log: bool) -> str:
    lines = ["[global]", "ioengine=null", "size=16m", f"filename={folder}/data", "stonewall"]
    for name, text in JOBS.items():
        lines += [f"[{name}]", text]
        if log:
            lines.append(f"write_iolog={folder}/{name}.log")
    return "\n".join(lines) + "\n"


def _by_fio(folder: Path) -> dict[str, Issued]:
    job = folder / "logged.fio"
    job.write_text(_job(folder, log=True), "utf-8")
    subprocess.run(["fio", str(job)], check=True, capture_output=True, cwd=folder)
    found = {}
    for name in JOBS:
        lines = (folder / f"{name}.log").read_text("utf-8").splitlines()
        parts = [re.sub(r"^\d+ (?=\S+/)", "", line).split() for line in lines[1:]]
        ios = [
            (part[1], int(part[2]), int(part[3])) for part in parts if part[1] in ("read", "write")
        ]
        found[name] = Issued(ios, sum(part[1] in ("sync", "datasync") for part in parts))
    return found


def _by_us(folder: Path) -> dict[str, Issued]:
    job = folder / "plain.fio"
    job.write_text(_job(folder, log=False), "utf-8")
    run = fc.run(str(job), "sim:ocz-vertex-3-240gb", log_ios=20_000, out=folder / "runs")
    found = {}
    for recording in run.recordings:
        log = recording.log
        assert log is not None
        issued = sorted(
            zip(log.submitted_ns, log.operation, log.offset_bytes, log.bytes, strict=True),
            key=lambda one: int(one[0]),
        )
        ios = [(str(one[1]), int(one[2]), int(one[3])) for one in issued if one[1] != "flush"]
        found[recording.id.partition("/")[2]] = Issued(ios, len(issued) - len(ios))
    return found


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Issued], dict[str, Issued]]:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    folder = tmp_path_factory.mktemp("requests")
    return _by_fio(folder), _by_us(folder)


@pytest.mark.parametrize("name", JOBS)
def test_requests_are_those_of_fio(
    name: str, both: tuple[dict[str, Issued], dict[str, Issued]]
) -> None:
    theirs, ours = (one[name] for one in both)
    # The last request of several sizes may pass the amount.
    assert len(ours.ios) == pytest.approx(len(theirs.ios), rel=0.05)
    expected, found = theirs.shares(), ours.shares()
    # Five standard deviations of a share of a thousand requests are 8 %, of four thousand 4 %.
    allowed = 0.08 if len(ours.ios) < 2_000 else 0.04
    if name in ("zipf", "pareto"):
        # fio places the hottest blocks by a hash of the file's name.
        del expected["first tenth"], found["first tenth"]
    differ = _differ(expected, found, allowed)
    assert not differ, differ


def _differ(expected: dict[str, float], found: dict[str, float], allowed: float) -> Sequence[str]:
    return [
        f"{key}: {expected.get(key, 0):.3f} by fio, {found.get(key, 0):.3f} here"
        for key in sorted(expected.keys() | found.keys())
        if abs(expected.get(key, 0) - found.get(key, 0)) > allowed
    ]
