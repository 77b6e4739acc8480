"""A catalog drive measured as a run was, and shown beside it."""

from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.store import Run


def test_a_reference_runs_what_the_run_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fc.run(
        "queue-depth",
        "sim:intel-x25-v-40gb",
        parameters={"depths": [1, 4]},
        scale=0.01,
        filled_share=0.5,
        seed=7,
        out=tmp_path,
    )
    page = tmp_path / "page.html"
    command = ["report", str(run.path), "--reference", "wd6400aaks", "--out", str(page), "--quiet"]
    assert main(command) == 0, capsys.readouterr().err
    assert "Intel X25-V 40GB" in page.read_text()
    assert "WD6400AAKS" in page.read_text()
    [beside] = [Run(path) for path in tmp_path.iterdir() if path.is_dir() and path != run.path]
    assert beside.manifest.target.locator == "sim:wd6400aaks"
    for key in ("suite", "seed", "profile", "scale"):
        assert getattr(beside.manifest, key) == getattr(run.manifest, key)
    assert beside.manifest.request is not None
    assert beside.manifest.request.subject["filled_share"] == 0.5
    assert [row.id for row in beside.recordings] == [row.id for row in run.recordings]


def test_a_reference_that_is_no_drive_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fc.run("latency", "sim:intel-x25-v-40gb", scale=0.001, out=tmp_path)
    assert main(["report", str(run.path), "--reference", "no-such-drive"]) == 2
    assert "no-such-drive" in capsys.readouterr().err
