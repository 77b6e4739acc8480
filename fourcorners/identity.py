"""Whether a target is the one that a run began on, so that the run may go on with it."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fourcorners import purge
from fourcorners.errors import UserError, os_reason
from fourcorners.targets import Target
from fourcorners.wording import chosen_size

# Names the run that writes to a file: another file may get the inode of one that was removed.
_MARK = "user.fourcorners.run"


def identify(target: Target, run: str) -> dict[str, Any]:
    """What identifies an open target. A file that ``run`` may write is marked with its name.

    Simulated drives: hashes of the drive file, with its members, and of the state that it was
    opened from. Devices: serial number and size; without a serial number the kernel's count
    of disks since it started. Files: inode, size and mark.
    """
    if target.kind == "simulated":
        return {
            "specification_sha256": target.describe()["specification_sha256"],
            "state_sha256": None if target.state is None else _sha256(Path(target.state)),
        }
    if target.kind == "file" and target.read_only_reason is None:
        # Not every file system keeps marks, nor every system's Python; inode and size remain.
        with contextlib.suppress(OSError, AttributeError):
            os.setxattr(target.locator, _MARK, run.encode())
    return _identify_path(target.locator)


def check_path(locator: str, before: Mapping[str, Any]) -> str:
    """Compares a file or device, without opening it, with what :func:`identify` told of it.

    Returns in words what was compared. Raises :class:`UserError` unless it is the same.
    """
    try:
        now = _identify_path(locator)
    except OSError as error:
        raise UserError(
            f"{locator}: {os_reason(error)}; connect the drive that the run began on under this "
            "name"
        ) from error
    for name, value in before.items():
        if now.get(name) != value:
            raise UserError(
                f"{locator} is not the one that the run began on: its {_WORDS[name]} was "
                f"{_shown(name, value)} and is {_shown(name, now.get(name))}; nothing was written"
            )
    return ", ".join(
        f"{_WORDS[name]} {_shown(name, value)}"
        for name, value in before.items()
        if value is not None and name != "boot"
    )


def check_simulated(target: Target, before: Mapping[str, Any]) -> str:
    """The same for an open simulated drive."""
    now = identify(target, "")
    if now["specification_sha256"] != before.get("specification_sha256"):
        raise UserError(
            f"the drive file of {target.locator} is not the one that the run began with: put that "
            "one back, or begin the run anew"
        )
    if now["state_sha256"] != before.get("state_sha256"):
        raise UserError(
            f"the state in {target.state} is not the one that the run began with: put that one "
            "back, or begin the run anew"
        )
    return "drive file and seed"


_WORDS = {
    "serial": "serial number",
    "size_bytes": "size",
    "inode": "inode",
    "mark": "mark",
    "sequence": "number among the kernel's disks",
    "boot": "start of the machine",
}


def _identify_path(path: str) -> dict[str, Any]:
    status = os.stat(path)  # noqa: PTH116 - a text
    if not stat.S_ISBLK(status.st_mode):
        return {"inode": status.st_ino, "size_bytes": status.st_size, "mark": _mark(path)}
    drive = purge.examine(path)
    found: dict[str, Any] = {"serial": drive.serial, "size_bytes": drive.size_bytes}
    if drive.serial is None:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        found |= {"sequence": drive.sequence, "boot": boot}
    return found


def _mark(path: str) -> str | None:
    try:
        return os.getxattr(path, _MARK).decode(errors="replace")
    except (OSError, AttributeError):
        return None


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    return chosen_size(value) if name == "size_bytes" else str(value)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
