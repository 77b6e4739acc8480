"""Erasing a real drive: by discard, or by the drive's own erase command through ``nvme`` and
``hdparm``. Nothing here runs unless it was named with ``--purge``."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fourcorners.errors import EXIT_FAILED, EXIT_USAGE, TargetLostError, UserError
from fourcorners.machine.environment import controller_of, describe_path
from fourcorners.target.options import Method

METHODS: tuple[Method, ...] = get_args(Method)

# ATA erases only under a password, and forgets it with the data.
_ATA_PASSWORD = "fourcorners"
_PACKAGES = {"nvme": "nvme-cli", "hdparm": "hdparm"}
_POLL_S = 1.0
# What a tool gets that only asks, or sets a password: longer than Linux tries to bring back a drive
# that does not answer (30 s a try).
_ASK_LIMIT_S = 120.0
# An erase gets twice what the drive estimates, and ten minutes.
_ESTIMATES = 2.0
_ERASE_SPARE_S = 600.0
# Without an estimate: a day, or as long as writing every block takes at half the rate of a slow
# disk's innermost tracks.
_ERASE_UNKNOWN_S = 86_400.0
_ERASE_BYTES_PER_SECOND = 50e6
# The longest that an ATA drive can estimate, and what it says if it takes longer.
_ATA_ESTIMATE_MAX_MIN = 508
# Of the sanitize log, in seconds; all bits set where the drive does not say.
_BLOCK_ERASE_ESTIMATE = slice(12, 16)
_NO_ESTIMATE = 0xFFFFFFFF
# The kernel gives up a claim a moment after the ring that used the device was closed.
_RELEASE_S = 5.0


@dataclass(frozen=True)
class Drive:
    """What identifies a drive, and what its erase commands reach.

    ``sequence`` is the kernel's count of disks (``diskseq``), ``controller`` the NVMe character
    device, ``namespaces`` how many namespaces the kernel shows of it.
    """

    path: str
    name: str
    serial: str | None
    size_bytes: int | None
    sequence: str | None
    transport: str | None
    controller: str | None
    namespaces: int


def examine(path: str, root: Path = Path("/")) -> Drive:
    """The block device behind ``path``, as ``/sys`` below ``root`` describes it."""
    path = os.path.realpath(path)
    facts = describe_path(path, root)
    number = os.stat(path).st_rdev  # noqa: PTH116 - text as above
    directory = (root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    sequence = directory / "diskseq"
    is_nvme = _is_namespace(directory.name)
    # Namespaces lie side by side below their controller, or with multipath their subsystem.
    beside = [entry for entry in directory.parent.glob("nvme*") if _is_namespace(entry.name)]
    size, serial, transport = (
        facts[name] for name in ("device_size_bytes", "device_serial", "transport")
    )
    return Drive(
        path=path,
        name=directory.name,
        serial=None if serial is None else str(serial),
        size_bytes=None if size is None else int(size),
        sequence=sequence.read_text().strip() if sequence.exists() else None,
        transport=None if transport is None else str(transport),
        controller=f"/dev/{controller_of(directory).name}" if is_nvme else None,
        namespaces=len(beside) if is_nvme else 0,
    )


def check(drive: Drive, method: Method) -> None:
    """Whether ``method`` can erase this drive and nothing else. Only asks; changes nothing.

    Raises:
        UserError: it cannot: one sentence with why and how to mend it.
    """
    if method == "discard":
        return
    if method == "ata-secure-erase":
        if not re.fullmatch(r"sd[a-z]+", drive.name) or drive.transport != "ATA":
            raise UserError(
                f"--purge {method} is for whole ATA drives at a port of their own, and "
                f"{drive.path} is none: use --purge discard"
            )
        _check_ata(drive)
        return
    if drive.controller is None:
        raise UserError(
            f"--purge {method} is for whole NVMe namespaces, and {drive.path} is none: "
            "use --purge discard"
        )
    _check_namespaces(drive, method)


def commands(drive: Drive, method: Method) -> list[list[str]]:
    """The command lines that erase the drive, in order; none for discard."""
    match method:
        case "discard":
            return []
        case "nvme-format":
            return [["nvme", "format", drive.path, "--ses=1"]]
        case "nvme-sanitize":
            return [["nvme", "sanitize", str(drive.controller), "--sanact=0x02"]]
        case "ata-secure-erase":
            return [
                _ata(drive, "--security-set-pass"),
                _ata(drive, "--security-erase"),
            ]


def plan(drive: Drive, method: Method) -> str:
    """What a purge will do, as one sentence."""
    serial = f" (serial {drive.serial})" if drive.serial else ""
    if method == "discard":
        return f"every purge discards all blocks of {drive.path}{serial} through the kernel"
    lines = ", then ".join(f"`{shlex.join(line)}`" for line in commands(drive, method))
    reach = {
        "nvme-format": "the drive, of which this is the only namespace",
        "nvme-sanitize": "the whole NVMe subsystem, of which this is the only namespace",
        "ata-secure-erase": "the whole drive",
    }[method]
    return f"every purge of {drive.path}{serial} runs {lines}: it erases {reach}"


def erase(drive: Drive, method: Method) -> None:
    """Runs the drive's erase command and waits for its end. Nobody may hold the device.

    Raises:
        UserError: a tool failed, or the drive did; says what it said.
        TargetLostError: it takes too long, and goes on.
    """
    _await_release(drive)
    limit = _erase_limit(drive, _ata_estimate_s(drive) if method == "ata-secure-erase" else None)
    try:
        *preparing, erasing = commands(drive, method)
        for line in preparing:
            _run(line)
        _run(erasing, limit=limit)
    except TargetLostError:
        # The drive is at work: it takes no other command.
        raise
    except UserError:
        if method == "ata-secure-erase":
            _unlock(drive)
        raise
    if method == "nvme-sanitize":
        _await_sanitized(drive)


@dataclass(frozen=True)
class _Limit:
    """How long something may take, and why so long: a clause to follow the time."""

    seconds: float
    why: str


_ASK_LIMIT = _Limit(_ASK_LIMIT_S, "the limit for its answer")


def _erase_limit(drive: Drive, estimate_s: float | None) -> _Limit:
    if estimate_s is not None:
        seconds = _ESTIMATES * estimate_s + _ERASE_SPARE_S
        return _Limit(seconds, f"more than twice the {_time(estimate_s)} that the drive estimated")
    writing_s = (drive.size_bytes or 0) / _ERASE_BYTES_PER_SECOND
    seconds = max(_ERASE_UNKNOWN_S, writing_s)
    return _Limit(seconds, "the limit for a drive that estimates no time")


def _ata_estimate_s(drive: Drive) -> float | None:
    """What ``hdparm -I`` says of a drive: ``32min for SECURITY ERASE UNIT``."""
    identity = _run(["hdparm", "-I", drive.path]).decode(errors="replace")
    found = re.search(r"(more than )?(\d+)min for SECURITY ERASE UNIT", identity)
    if found is None or found[1] or not 0 < int(found[2]) < _ATA_ESTIMATE_MAX_MIN:
        return None
    return int(found[2]) * 60.0


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def check_same(before: Drive, after: Drive) -> None:
    """Refuses to go on with a drive that is not the one that was examined."""
    if before != after:
        raise UserError(
            f"{before.path} is no longer the same drive (its serial number, size or the "
            "kernel's count of it changed): nothing more was written; repeat the command",
            EXIT_FAILED,
        )


def _is_namespace(name: str) -> bool:
    return re.fullmatch(r"nvme\d+n\d+", name) is not None


def _check_namespaces(drive: Drive, method: Method) -> None:
    # Lists also those that no host has attached, on drives that manage namespaces; others refuse
    # the command and have what the kernel shows.
    line = ["nvme", "list-ns", str(drive.controller), "--all"]
    listed = re.findall(r"^\[\s*\d+\]:", _call(line).stdout.decode(errors="replace"), re.MULTILINE)
    count = max(drive.namespaces, len(listed))
    if count > 1:
        raise UserError(
            f"--purge {method} may erase all {count} namespaces of {drive.controller}, not "
            f"{drive.path} alone: use --purge discard"
        )


def _check_ata(drive: Drive) -> None:
    lines = _security(_run(["hdparm", "-I", drive.path], exit_code=EXIT_USAGE))
    if "supported" not in lines:
        raise UserError(f"{drive.path} has no ATA security erase: use --purge discard")
    if "frozen" in lines:
        raise UserError(
            f"the firmware froze the ATA security of {drive.path}: suspend the machine and wake "
            "it (`systemctl suspend`), or plug the drive in again, then repeat"
        )
    if "enabled" in lines or "locked" in lines:
        raise UserError(
            f"{drive.path} has an ATA password: remove it "
            f"(`hdparm --user-master u --security-disable PASSWORD {drive.path}`), then repeat"
        )


def _security(identity: bytes) -> set[str]:
    """The lines of ``hdparm -I`` on security: "frozen" or "not frozen" and the like."""
    _, _, section = identity.decode(errors="replace").partition("\nSecurity:")
    return {" ".join(line.split()) for line in section.splitlines()}


def _ata(drive: Drive, action: str) -> list[str]:
    return ["hdparm", "--user-master", "u", action, _ATA_PASSWORD, drive.path]


def _unlock(drive: Drive) -> None:
    """After a failed erase: a password that stays would lock the drive at its next power-on."""
    if "not enabled" in _security(_call(["hdparm", "-I", drive.path]).stdout):
        return
    line = _ata(drive, "--security-disable")
    if _call(line).returncode != 0:
        raise UserError(
            f"the erase of {drive.path} failed and left its ATA password set: remove it with "
            f"`{shlex.join(line)}`",
            EXIT_FAILED,
        )


def _await_release(drive: Drive) -> None:
    deadline = time.monotonic() + _RELEASE_S
    while True:
        try:
            os.close(os.open(drive.path, os.O_RDONLY | os.O_EXCL))
        except OSError as error:
            if time.monotonic() > deadline:
                raise UserError(
                    f"{drive.path} was not purged: something else uses it; release it, then repeat",
                    EXIT_FAILED,
                ) from error
            time.sleep(0.01)
        else:
            return


def _await_sanitized(drive: Drive) -> None:
    """The command only starts it; the log page tells its end (NVMe base specification, Sanitize
    Status: bytes 2 and 3, of which the lowest three bits are the state)."""
    started = time.monotonic()
    line = ["nvme", "sanitize-log", str(drive.controller), "--raw-binary"]
    while True:
        log = _run(line)
        state = log[2] & 7 if len(log) > 3 else None
        if state in (1, 4):
            return
        if state != 2:
            raise UserError(f"{drive.path}: the sanitize operation failed", EXIT_FAILED)
        estimate = int.from_bytes(log[_BLOCK_ERASE_ESTIMATE], "little")
        limit = _erase_limit(drive, estimate if 0 < estimate < _NO_ESTIMATE else None)
        if time.monotonic() - started > limit.seconds:
            raise TargetLostError(
                f"{drive.path} has been sanitizing itself for {_time(limit.seconds)}, {limit.why}: "
                f"wait until `{shlex.join(line[:-1])}` tells its end, then repeat"
            )
        time.sleep(_POLL_S)


def _run(line: list[str], exit_code: int = EXIT_FAILED, limit: _Limit | None = None) -> bytes:
    """Output of a tool; its complaint as one sentence."""
    done = _call(line, limit)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).decode(errors="replace").split())
        raise UserError(
            f"`{shlex.join(line)}` failed with exit code {done.returncode}: "
            f"{said or 'it does not say why'}",
            exit_code,
        )
    return done.stdout


def _call(line: list[str], limit: _Limit | None = None) -> subprocess.CompletedProcess[bytes]:
    limit = limit or _ASK_LIMIT
    tool = shutil.which(line[0])
    if tool is None:
        raise UserError(
            f"there is no program {line[0]} here, which this purge needs: install the package "
            f"{_PACKAGES[line[0]]}, or use --purge discard"
        )
    # Files, which a tool that is left behind can go on writing to.
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        # A session of its own: Ctrl-C must not end a tool halfway through an erase.
        child = subprocess.Popen(
            [tool, *line[1:]],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        try:
            code = child.wait(limit.seconds)
        except subprocess.TimeoutExpired as expired:
            # Not ended: the drive would go on alone, and a password might stay.
            raise TargetLostError(
                f"`{shlex.join(line)}` has not ended after {_time(limit.seconds)}, {limit.why}: "
                f"wait until its process {child.pid} has, look at the drive with `{_look(line)}`, "
                "then repeat"
            ) from expired
        except KeyboardInterrupt as interrupt:
            if limit is _ASK_LIMIT:
                raise
            raise TargetLostError(
                f"`{shlex.join(line)}` goes on, as an erase is not to be ended halfway: wait until "
                f"its process {child.pid} has ended, look at the drive with `{_look(line)}`, then "
                "repeat"
            ) from interrupt
        said.seek(0)
        complained.seek(0)
        return subprocess.CompletedProcess(line, code, said.read(), complained.read())


def _look(line: list[str]) -> str:
    """The command that shows in what state an erase left the drive."""
    return f"hdparm -I {line[-1]}" if line[0] == "hdparm" else f"nvme id-ctrl {line[2]}"
