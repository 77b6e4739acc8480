"""--jobs: several simulated drives of one command, side by side."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fourcorners.cli import main
from fourcorners.running import side_by_side

DRIVES = ("sim:ocz-core-64gb", "sim:wd6400aaks")
SHORT = ("run", "queue-depth", "--with", "depths=1,4", "--with", "time=2s")


def _documents(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any, str]:
    code = main([*words, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def test_drives_side_by_side_have_the_results_of_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = []
    for jobs in ("1", "2"):
        words = [*SHORT, *DRIVES, "--out", str(tmp_path / jobs), "--jobs", jobs]
        code, document, said = _documents(words, capsys)
        assert code == 0
        paths = [Path(run["path"]) for run in document["runs"]]
        names = [json.loads((path / "manifest.json").read_text())["target"] for path in paths]
        assert [name["locator"] for name in names] == list(DRIVES)
        assert document["comparison"] is not None
        tables.append([pq.read_table(path / "histograms.parquet") for path in paths])
    assert tables[0] == tables[1]
    assert "WD6400AAKS: Queue depth: complete" in said


def test_what_fails_is_named_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*SHORT, *DRIVES, "--out", str(tmp_path), "--jobs", "2"]
    start = side_by_side._start

    def killed(each: Any, opening: Any) -> Any:
        child = start(each, opening)
        if opening["locator"] == DRIVES[0]:
            child.process.kill()
        return child

    monkeypatch.setattr(side_by_side, "_start", killed)
    code, document, said = _documents(words, capsys)
    assert code == 1
    assert len(document["runs"]) == 1
    assert f"{DRIVES[0]}: its process was ended by SIGKILL" in said


def test_a_script_runs_once(tmp_path: Path) -> None:
    """Without ``if __name__ == "__main__"``, which processes of Python's own would run again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import fourcorners as fc\n"
        "print('here')\n"
        f"drives = {DRIVES!r}\n"
        "short = {'depths': [1], 'time': '1 s'}\n"
        "runs = fc.run_each('queue-depth', drives, parameters=short, jobs=2)\n"
        "print([run.manifest.target.name for run in runs])\n"
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "here\n['OCZ Core 64GB', 'WD6400AAKS']\n", done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_ctrl_c_ends_all_of_them_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Hours of an NVMe drive's time, which take minutes.
    drives = ["sim:class-tlc-nvme-consumer-1tb", "sim:ocz-vector-256gb", "sim:wd6400aaks"]
    words = ["run", "consistency", *drives, "--out", str(tmp_path), "--jobs", "2"]

    def interrupt() -> None:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("*/manifest.json"))) < 2 and time.monotonic() < until:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    code, document, said = _documents(words, capsys)
    assert code == 130
    assert [run["status"] for run in document["runs"]] == ["interrupted"] * 2
    assert f"{drives[2]}: not begun" in said


def test_real_targets_never_run_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.bin"
    assert main([*SHORT, DRIVES[0], str(path), "--size", "8MiB", "--jobs", "2"]) == 2
    assert "files and devices are measured one after the other" in capsys.readouterr().err
    assert not path.exists()
