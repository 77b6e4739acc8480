"""A test that was interrupted in its midst goes on there: to the same bytes on simulated drives."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.documents import changed, plain
from fourcorners.store import directory, schema

DRIVE = "sim:ocz-core-64gb"
# Saves the state after every step, and dies when the n-th manifest is about to be flushed.
SCRIPT = """
import json, os, signal, sys
import fourcorners as fc
from fourcorners.running import resume_point
resume_point.STATE_INTERVAL_S, resume_point.STATE_SHARE_MAX = 0.0, 1e9
left, flush = int(sys.argv[2]), os.fsync
def fsync(descriptor):
    global left
    left -= os.readlink(f"/proc/self/fd/{descriptor}").endswith(".manifest.json.partial")
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    flush(descriptor)
os.fsync = fsync
if sys.argv[1] == "resume":
    fc.resume(sys.argv[3])
elif sys.argv[1] == "command":
    from fourcorners.cli import main
    main(json.loads(sys.argv[3]))
else:
    test, target, out, options, size = sys.argv[3:]
    with fc.open_target(target, **({"size": int(size)} if size else {})) as drive:
        fc.run(test, drive, out=out, **json.loads(options))
"""
"""Arguments: "run", n, test, target, folder, options and size; "resume", n and the run; or
"command", n and the command's own."""


def _killed(*arguments: object) -> None:
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def _manifest(out: Path) -> dict[str, Any]:
    [folder] = out.iterdir()
    document: dict[str, Any] = json.loads((folder / schema.MANIFEST).read_text())
    return document


SIMULATED: dict[str, dict[str, Any]] = {
    "queue-depth": {"parameters": {"depths": [1, 2, 4]}, "scale": 0.02},
    "snia-throughput": {"parameters": {"rounds": 6}, "scale": 0.02},
    "recovery": {"parameters": {"idles": "1 s"}, "scale": 0.01},
    "latency-under-load": {
        "parameters": {"arrivals": "poisson", "loads": [0.4, 0.8], "halvings": 2},
        "scale": 0.01,
    },
}


@pytest.mark.parametrize("test", SIMULATED)
def test_a_simulated_test_goes_on_to_the_same_bytes(test: str, tmp_path: Path) -> None:
    options = SIMULATED[test]
    whole = fc.run(test, DRIVE, out=tmp_path / "whole", **options)
    out = tmp_path / "killed"
    _killed("run", 8, test, DRIVE, out, json.dumps(options), "")
    before = _manifest(out)
    _killed("resume", 4, out / before["id"])
    between = _manifest(out)
    run = fc.resume(out / before["id"])
    for name in (
        schema.RECORDINGS,
        schema.SERIES,
        schema.HISTOGRAMS,
        schema.LATENCY_OVER_TIME,
        schema.FINDINGS,
    ):
        assert (run.path / name).read_bytes() == (whole.path / name).read_bytes(), name
    names = {path.name for path in run.path.iterdir()}
    assert names == {path.name for path in whole.path.iterdir()}
    [done], [same] = run.manifest.tests, whole.manifest.tests
    assert changed(done, wall_s=None) == changed(same, wall_s=None)
    # Each time it went on further along, and repeated nothing that was saved.
    kept = [gap.continued[test] for gap in run.manifest.gaps]
    assert kept == [
        document["tests"][0]["waypoint"]["recordings"] for document in (before, between)
    ]
    assert kept[0] <= kept[1]
    assert kept[1] > 0
    assert all(gap.repeated == [] for gap in run.manifest.gaps)
    assert "from the drive's saved state" in run.manifest.notes[-1]


def test_a_test_of_a_file_goes_on_at_a_phase_that_prepares_it_anew(tmp_path: Path) -> None:
    options = {"parameters": {"filled": [0.5, 1.0], "time": "0.2 s"}}
    test, out = "consistency-filled", tmp_path / "runs"
    file, size = tmp_path / "drive", 16 * 2**20
    # The eleventh manifest stands: that after the second phase's measurement.
    _killed("run", 12, test, file, out, json.dumps(options), size)
    [folder] = out.iterdir()
    before = fc.open_run(str(folder))
    with pytest.raises(fc.UserError, match="has not ended: go on with it by fourcorners resume"):
        _ = fc.open_run(str(out / before.manifest.id)).manifest
    first = before.manifest.tests[0].recordings[0].id
    kept = [row for row in before.table("recordings").to_pylist() if row["recording"] == first]
    lost = [row for row in before.table("recordings").to_pylist() if row["recording"] != first]
    run = fc.resume(out / before.manifest.id, overwrite=str(file))
    [done] = run.manifest.tests
    assert done.status == "complete"
    assert done.waypoint is None
    assert [recording.id for recording in done.recordings] == [
        f"{test}/filled-50",
        f"{test}/filled-100",
    ]
    assert [row for row in run.table("recordings").to_pylist() if row["recording"] == first] == kept
    [gap] = run.manifest.gaps
    assert gap.continued == {test: 1}
    assert "went on after 1 of its measurements, prepared anew" in run.manifest.notes[-1]
    # What the second phase had measured was there for whoever does not go on.
    assert gap.dropped_s == {test: round(sum(row["elapsed_s"] for row in lost), 3)}
    assert gap.dropped_s[test] > 0
    assert "were dropped and measured again" in run.manifest.notes[-1]


def test_a_test_that_only_reads_a_file_goes_on_with_it_as_it_was_prepared(tmp_path: Path) -> None:
    options = {"parameters": {"depths": [1, 2, 4], "time": "0.1 s"}}
    test, out, file = "random-reads", tmp_path / "runs", tmp_path / "drive"
    _killed("run", 9, test, file, out, json.dumps(options), 16 * 2**20)
    before = _manifest(out)["tests"][0]
    kept = before["waypoint"]["recordings"]
    assert kept > 0
    run = fc.resume(out / _manifest(out)["id"], overwrite=str(file))
    [done] = run.manifest.tests
    assert done.status == "complete"
    assert done.preparation == before["preparation"]
    assert plain(done.recordings[:kept]) == before["recordings"][:kept]
    assert len(done.recordings) == 3
    assert "as its preparation had left it" in run.manifest.notes[-1]


def test_rounds_on_a_file_go_on_and_those_before_decide_nothing(tmp_path: Path) -> None:
    options = {"parameters": {"edition": "client", "rounds": 6, "time": "0.05 s"}}
    test, out, file = "snia-throughput", tmp_path / "runs", tmp_path / "drive"
    # In the fourth round.
    _killed("run", 22, test, file, out, json.dumps(options), 16 * 2**20)
    before = _manifest(out)["tests"][0]
    assert before["waypoint"]["rounds"] == [3]
    run = fc.resume(out / _manifest(out)["id"], overwrite=str(file))
    [done] = run.manifest.tests
    assert done.status == "complete"
    # Prepared once for each of the two block sizes; the first one's was not repeated.
    assert done.preparation[:2] == before["preparation"]
    assert len(done.preparation) == 4
    assert plain(done.recordings[:6]) == before["recordings"][:6]
    points: list[dict[str, Any]] = [dict(recording.point) for recording in done.recordings]
    rounds = [point["round"] for point in points if point["block_bytes"] == 2**20]
    last = rounds[-1]
    assert rounds == [number for number in range(1, last + 1) for _ in range(2)]
    # Five in a row at least, six at most, are after the interruption.
    assert last - 3 in (5, 6)
    assert "none of its rounds until then counts" in run.manifest.notes[-1]


def test_the_targets_that_were_to_follow_are_run_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, targets = tmp_path / "runs", [DRIVE, "sim:wd6400aaks", "sim:intel-x25-v-40gb"]
    options = ["--with", "depths=1", "--scale", "0.01", "--quiet", "--out", str(out)]
    _killed("command", 10, json.dumps(["run", "queue-depth", *targets, *options]))
    [killed] = [path for path in out.iterdir() if path.name.endswith(".partial")]
    before = json.loads((killed / schema.MANIFEST).read_text())
    assert before["target"]["locator"] == targets[0]
    capsys.readouterr()
    assert main(["resume", str(out / before["id"]), "--quiet"]) == 0
    runs = [fc.open_run(str(path)) for path in sorted(out.iterdir()) if path.is_dir()]
    done = {run.manifest.target.locator: run.manifest.status for run in runs}
    assert done == dict.fromkeys(targets, "complete")
    # A folder of something else is not taken for a run that followed.
    (out / "another").mkdir()
    (out / "another" / schema.MANIFEST).write_text("{")
    # A run that is over already has nothing to follow it any more.
    assert main(["resume", str(out / before["id"]), "--quiet"]) == 0
    assert len([path for path in out.iterdir() if path.is_dir()]) == len(targets) + 1
    # Nor has a copy of it that stands alone.
    shutil.copytree(out / before["id"], tmp_path / "copied" / before["id"])
    assert main(["resume", str(tmp_path / "copied" / before["id"]), "--quiet"]) == 0
    assert len(list((tmp_path / "copied").iterdir())) == 1
    # As if the command had been killed between the second target and the third, or the second one
    # had been left out: only what is missing is run.
    for locator in (targets[2], targets[1]):
        missing = next(run for run in runs if run.manifest.target.locator == locator)
        shutil.rmtree(missing.path)
        (out / before["id"] / directory.FOLLOWING).touch()
        assert main(["resume", str(out / before["id"]), "--quiet"]) == 0
        shutil.rmtree(out / "another")
        runs = [fc.open_run(str(path)) for path in out.iterdir() if path.is_dir()]
        (out / "another").mkdir()
        assert sorted(run.manifest.target.locator for run in runs) == sorted(targets)
