"""Run folders of served sessions beside each other."""

import json
import subprocess
import sys
from pathlib import Path

from nbd_client import CLIENT

import fourcorners as fc


def session(folder: Path, target: str) -> Path:
    client = folder / "client.py"
    client.write_text(CLIENT + "for block in range(64): ask(1, block, b'k' * 4096)\n")
    with fc.serve(target, nbd=f"unix:{folder}/s", out=folder / "runs") as served:
        subprocess.run([sys.executable, client, served.uri], check=True)
        return served.stop().run.path


def test_sessions_of_two_drives_are_compared(tmp_path: Path) -> None:
    disk = session(tmp_path, "sim:wd6400aaks")
    ssd = session(tmp_path, "sim:ocz-vector-256gb")
    found = fc.compare(disk, ssd)
    assert "write" in {one.operation for one in found.differences}
    assert any("Programs chose what the served drives did" in one for one in found.cautions)
    lateness = json.loads((ssd / "served.json").read_text())
    assert 0 <= lateness["late_share"] <= 1
    assert 0 < lateness["lateness_p50_s"] <= lateness["lateness_max_s"]
