"""RAID 0 of simulated drives as a user sees it."""

import json
from pathlib import Path

import pytest
from command import fourcorners

import fourcorners as fc
from fourcorners import catalog
from fourcorners.errors import UserError

DISK = "wd6400aaks"
OWN = """\
name = "Two of mine"
kind = "raid-0"
summary = "A pair."
[host]
overhead = { value = "0 us", source = "test" }
[array]
chunk = { value = "64 KiB", source = "test" }
members = { value = ["MEMBER", "mine.toml"], source = "test" }
"""


def test_an_array_by_its_short_name() -> None:
    array = fc.open_target("sim:raid0:3xWD6400")
    assert array.locator == "sim:raid0:3xwd6400aaks"
    assert array.name == "RAID 0 of 3 WD6400AAKS"
    one = fc.open_target(f"sim:{DISK}").capacity_bytes
    assert one * 3 - 3 * 131072 < array.capacity_bytes <= one * 3
    assert not array.keeps_state
    assert list(array.member_texts) == ["1-wd6400aaks"]


def test_members_may_differ() -> None:
    array = fc.open_target("sim:raid0:2xocz-vertex-3-240gb+wd6400aaks")
    assert array.keeps_state
    assert list(array.member_texts) == ["1-ocz-vertex-3-240gb", "2-wd6400aaks"]
    drive = catalog.load("raid0:2xocz-vertex-3-240gb+wd6400aaks")
    members = next(p for p in drive.parameters if p.name == "members")
    assert members.value == "ocz-vertex-3-240gb, ocz-vertex-3-240gb, wd6400aaks"


def test_settings_reach_the_array_and_its_members(tmp_path: Path) -> None:
    done = fourcorners(
        "characterize", f"sim:raid0:2x{DISK}", "--profile", "quick", "--tests", "transfer-size",
        "--set", "array.chunk=64 KiB", "--set", "member.cache.write_back=false", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path = tmp_path / json.loads(done.stdout)["runs"][0]["path"]
    assert "raid-0" in (path / "drive.toml").read_text()
    assert 'kind = "disk"' in (path / "member-1-wd6400aaks.toml").read_text()
    model = fc.open_run(str(path)).manifest.target
    assert model.settings["member.cache.write_back"] == "false"


def test_a_member_from_a_file_beside_the_array(tmp_path: Path) -> None:
    drive = catalog.load(DISK)
    (tmp_path / "mine.toml").write_text(drive.text.replace(drive.name, "Mine"))
    (tmp_path / "pair.toml").write_text(OWN.replace("MEMBER", DISK))
    pair = fc.open_target(str(tmp_path / "pair.toml"))
    assert list(pair.member_texts) == ["1-wd6400aaks", "2-mine"]
    assert pair.describe().specification_sha256 != (
        fc.open_target(f"sim:{DISK}").describe().specification_sha256
    )


@pytest.mark.parametrize(
    ("locator", "complaint"),
    [
        ("sim:raid0:", "write raid0:4xNAME"),
        ("sim:raid0:4xnothing-like-it", "no drive named"),
        ("sim:raid0:0xwd6400aaks", "at least one member"),
        ("sim:raid0:65xwd6400aaks", "use 1 to 64"),
        ("sim:raid0:2xraid0:2xwd6400aaks", "an array cannot be a member"),
    ],
)
def test_mistakes(locator: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        fc.open_target(locator)
