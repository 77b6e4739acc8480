"""Every test of the program by itself: from Python, on a drive; and as docs/suites.md says it."""

import re
import shlex
from pathlib import Path
from typing import Any, Literal

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.suites import TESTS, Subject
from fourcorners.suites.suite import choose_suite

SMALL = "sim:intel-x25-v-40gb"
DOCUMENT = (Path(__file__).parents[1] / "docs/suites.md").read_text("utf-8")
# At their shortest; SNIA's IOPS has a test of its own.
FEWER: dict[str, dict[str, Any]] = {
    "transfer-rate": {"places": 3, "accesses": 5},
    "block-size-matrix": {"blocks": ["4 KiB"], "depths": [1, 2]},
    "queue-depth": {"depths": "1,31"},
    "outstanding-ios": {"depths": "1,256"},
    "write-cache": {"depths": "1,256"},
    "atto": {"sizes": ["4 KiB", "8 KiB"]},
    "latency-under-load": {"loads": "40 %,80 %", "halvings": 1},
    "snia-throughput": {"rounds": 5},
    "snia-latency": {"rounds": 5},
    "snia-host-idle-recovery": {"rounds": 5, "idles": "5 s,10 s", "burst": "0.3 s"},
}
FOUND = {
    "four-corners": "corner_",
    "queue-depth": "queue_depth_",
    "transfer-size": "access_model_",
    "consistency": "consistency_write",
    "transfer-rate": "access_time",
    "write-cache": "write_cache_gain",
    "aligned-writes": "unaligned_share",
    "recovery": "recovery_after-trim",
    "latency": "exceedance_latency/100-percent-reads",
    "latency-under-load": "sustained_rate_bursts",
    "sync-writes": "spec_sheet",
    "sequential-fill": "write_amplification",
    "snia-throughput": "rounds_snia-throughput_1 MiB sequential",
    "snia-latency": "rounds_snia-latency_4 KiB random, R/W 0/100",
    "snia-write-saturation": "rounds_snia-write-saturation_",
    "snia-host-idle-recovery": "rounds_snia-host-idle-recovery_",
}


@pytest.mark.parametrize("name", [name for name in TESTS if name != "snia-iops"])
def test_each_test_runs_by_itself_from_python(name: str, tmp_path: Path) -> None:
    given = FEWER.get(name)
    run = fc.run(
        name, SMALL, parameters=given, scale=0.0005, filled_share=0.002, out=tmp_path, seed=2
    )
    [test] = run.manifest.tests
    assert (test.name, test.status) == (name, "complete"), test.reason
    assert test.recordings
    assert test.parameters
    # Rows of a table that say the same cannot be told apart; those of bursts are hundreds alike.
    recordings = [one for one in test.recordings if "burst" not in one.point]
    labels = [recording.label for recording in recordings]
    probes = name.startswith("probe-")
    assert probes or name == "transfer-rate" or len(set(labels)) == len(labels)
    assert run.manifest.profile == "shortened"
    page = (run.path / "report.html").read_text()
    assert test.title in page
    found = [finding.name for finding in run.findings]
    assert name not in FOUND or any(one.startswith(FOUND[name]) for one in found), found
    # The same words plan it for a file; what TRIM does there is the file system's.
    kind: Literal["file", "device"] = "device" if name == "probe-trim" else "file"
    [planned] = choose_suite(name, parameters=given).plan(Subject(kind, 64 << 20)).tests
    assert planned.phases
    assert planned.skip_reason is None


def _commands() -> list[list[str]]:
    """The words after "run" in the document's code spans and listings, of tests of the program."""
    spans = re.findall(r"`(?:fourcorners )?run ([^`]+)`", re.sub(r"(?s)```.*?```", "", DOCUMENT))
    listed = re.findall(r"(?m)^fourcorners run (.*?)$", DOCUMENT)
    commands = [shlex.split(one, comments=True) for one in dict.fromkeys([*spans, *listed])]
    return [words for words in commands if words[0] in TESTS]


def test_the_document_has_every_test() -> None:
    named = {words[0] for words in _commands()}
    for name in TESTS:
        assert name in named or name.startswith("probe-"), name


def test_the_commands_of_the_document_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # Devices that the document names are not those of this machine.
    simulated = [words for words in _commands() if not any("/dev/" in word for word in words)]
    assert len(simulated) >= 40
    for words in simulated:
        given = [SMALL if word == "TARGET" else word for word in words if word != "--dry-run"]
        code = main(["run", *given, "--dry-run", "--quiet"])
        assert code == 0, (words, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []
