"""Whether a target is the one that a run began on, so that the run may go on with it."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.machine import system_files
from fourcorners.target.target import Target
from fourcorners.wording import chosen_size


def identify(target: Target) -> dict[str, Any]:
    """What identifies an open target.

    Simulated drives: hashes of the drive file, with its members, and of the state that it was
    opened from. Devices: serial number, partition with its first sector (of 512 bytes), and size;
    without a serial number the kernel's count of disks since it started. Files: inode, with its
    generation and time of birth as another file may get the inode of one that was removed, and
    size.
    """
    if target.kind == "simulated":
        return {
            "specification_sha256": target.describe().specification_sha256,
            "state_sha256": None if target.state is None else _sha256(Path(target.state)),
        }
    facts = target.facts
    if target.kind == "file":
        return facts
    number = facts.pop("number")
    directory = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    facts["partition"] = system_files.number(directory / "partition")
    facts["start"] = system_files.number(directory / "start")
    if facts["serial"] is None:
        facts["boot"] = system_files.text(Path("/proc/sys/kernel/random/boot_id"))
    else:
        del facts["sequence"]
    return facts


def check_same(target: Target, before: Mapping[str, Any]) -> str:
    """Compares an open target with what :func:`identify` told of it when the run began.

    Returns in words what was compared. Raises :class:`UserError` unless it is the same: what is
    missing in ``before`` is not.
    """
    now = identify(target)
    if before.keys() != now.keys():
        raise UserError(
            f"the run does not say all by which {target.locator} would be known again: begin it "
            "anew"
        )
    if target.kind == "simulated":
        return _same_simulated(target, now, before)
    for name, value in now.items():
        if before[name] != value:
            raise UserError(
                f"{target.locator} is not the one that the run began on: its {_WORDS[name]} was "
                f"{_shown(name, before[name])} and is {_shown(name, value)}; nothing was written"
            )
    return ", ".join(
        f"{_WORDS[name]} {_shown(name, value)}"
        for name, value in now.items()
        if value is not None and name in _TOLD
    )


def _same_simulated(target: Target, now: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if now["specification_sha256"] != before["specification_sha256"]:
        raise UserError(
            f"the drive file of {target.locator} is not the one that the run began with: put that "
            "one back, or begin the run anew"
        )
    if now["state_sha256"] != before["state_sha256"]:
        raise UserError(
            f"the state in {target.state} is not the one that the run began with: put that one "
            "back, or begin the run anew"
        )
    return "drive file and seed"


_WORDS = {
    "serial": "serial number",
    "size_bytes": "size",
    "partition": "partition",
    "start": "first sector",
    "inode": "inode",
    "generation": "inode's generation",
    "born_ns": "time of birth",
    "sequence": "number among the kernel's disks",
    "boot": "start of the machine",
}
_TOLD = ("serial", "size_bytes", "partition", "inode", "sequence")


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    return chosen_size(value) if name == "size_bytes" and isinstance(value, int) else str(value)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
