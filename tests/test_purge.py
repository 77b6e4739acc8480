"""Drives are erased only by the method that was named, and only the drive that was named."""

import dataclasses
import os
import shlex
import stat
from pathlib import Path

import pytest
from dangers import disk

from fourcorners.cli import main
from fourcorners.errors import EXIT_FAILED, EXIT_USAGE, TargetLostError, UserError
from fourcorners.running.run import run as run_suite
from fourcorners.suites.suite import suite_of
from fourcorners.target import purge
from fourcorners.target.open import open_target
from fourcorners.target.options import Method
from fourcorners.target.verification import verify

NVME = purge.Drive("/dev/nvme9n1", "nvme9n1", "S1", 1 << 30, "7", "NVMe over pcie", "/dev/nvme9", 1)
ATA = purge.Drive("/dev/sdz", "sdz", "S2", 1 << 30, "8", "ATA", None, 0)
SECURITY = """
Security:
\tMaster password revision code = 65534
\t\tsupported
\tnot\tenabled
\tnot\tlocked
\tnot\tfrozen
"""


@dataclasses.dataclass
class Tools:
    """Programs that write down how they were called, in a PATH of their own."""

    folder: Path

    def make(self, name: str, script: str = "") -> None:
        tool = self.folder / name
        tool.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.folder}/calls\n{script}\nexit 0\n')
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    def make_hdparm(self, script: str = "", security: str = SECURITY) -> None:
        (self.folder / "identity").write_text(security)
        self.make("hdparm", f'[ "$1" = -I ] && exec /bin/cat {self.folder}/identity\n{script}')

    @property
    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(purge, "_await_release", lambda drive: None)
    monkeypatch.setattr(purge, "_POLL_S", 0.0)
    return Tools(tmp_path / "bin")


def refused(drive: purge.Drive, method: Method) -> str:
    with pytest.raises(UserError) as caught:
        purge.check(drive, method)
    assert caught.value.exit_code == EXIT_USAGE
    return str(caught.value)


def failed(drive: purge.Drive, method: Method) -> str:
    with pytest.raises(UserError) as caught:
        purge.erase(drive, method)
    assert caught.value.exit_code == EXIT_FAILED
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_format_runs_the_command_that_the_plan_shows(tools: Tools) -> None:
    tools.make("nvme")
    purge.check(NVME, "nvme-format")
    purge.erase(NVME, "nvme-format")
    assert tools.calls == ["nvme list-ns /dev/nvme9 --all", "nvme format /dev/nvme9n1 --ses=1"]
    assert "(serial S1) runs `nvme format /dev/nvme9n1 --ses=1`" in purge.plan(NVME, "nvme-format")


@pytest.mark.parametrize(("end", "works"), [(1, True), (4, True), (3, False), (0, False)])
def test_sanitize_is_waited_for(tools: Tools, end: int, works: bool) -> None:
    # In progress at the first look, then ended.
    log = (
        f'[ "$1" = sanitize-log ] || exit 0\n[ -e {tools.folder}/seen ] && '
        f"{{ printf '\\377\\377\\00{end}\\001'; exit; }}\n: > {tools.folder}/seen\n"
        "printf '\\000\\100\\002\\000'"
    )
    tools.make("nvme", log)
    if works:
        purge.erase(NVME, "nvme-sanitize")
    else:
        assert "the sanitize operation failed" in failed(NVME, "nvme-sanitize")
    look = "nvme sanitize-log /dev/nvme9 --raw-binary"
    assert tools.calls == ["nvme sanitize /dev/nvme9 --sanact=0x02", look, look]


def test_an_ata_erase_sets_a_password_first(tools: Tools) -> None:
    tools.make_hdparm()
    purge.check(ATA, "ata-secure-erase")
    purge.erase(ATA, "ata-secure-erase")
    assert tools.calls == [
        "hdparm -I /dev/sdz",
        # For its estimate.
        "hdparm -I /dev/sdz",
        "hdparm --user-master u --security-set-pass fourcorners /dev/sdz",
        "hdparm --user-master u --security-erase fourcorners /dev/sdz",
    ]


def test_a_failed_ata_erase_takes_its_password_back(tools: Tools) -> None:
    enabled = SECURITY.replace("not\tenabled", "\tenabled")
    tools.make_hdparm('[ "$3" = --security-erase ] && { echo "bad sense" >&2; exit 5; }', enabled)
    message = failed(ATA, "ata-secure-erase")
    assert "--security-erase fourcorners /dev/sdz` failed with exit code 5: bad sense" in message
    assert tools.calls[-1] == "hdparm --user-master u --security-disable fourcorners /dev/sdz"
    tools.make_hdparm('[ "$3" = --security-set-pass ] || exit 5', enabled)
    assert "left its ATA password set: remove it with `hdparm" in failed(ATA, "ata-secure-erase")


def lost(drive: purge.Drive, method: Method) -> str:
    with pytest.raises(TargetLostError) as caught:
        purge.erase(drive, method)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Ends by itself soon after a test has.
HANGS = "exec /bin/sleep 5"


@pytest.mark.parametrize(
    ("estimate", "seconds", "why"),
    [
        ("\t32min for SECURITY ERASE UNIT. 40min for ENHANCED", 2 * 32 * 60 + 600, "estimated"),
        ("\tmore than 508min for SECURITY ERASE UNIT.", 86_400, "estimates no time"),
        ("", 86_400, "estimates no time"),
    ],
)
def test_an_erase_gets_twice_the_drives_estimate(
    tools: Tools, estimate: str, seconds: float, why: str
) -> None:
    tools.make_hdparm(security=SECURITY + estimate)
    limit = purge._erase_limit(ATA, purge._ata_estimate_s(ATA))
    assert limit.seconds == seconds
    assert why in limit.why
    # Four days and a half for 20 TB without an estimate.
    large = dataclasses.replace(ATA, size_bytes=20 * 10**12)
    assert purge._erase_limit(large, None).seconds == 400_000


def test_an_erase_that_takes_too_long_is_left_alone(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = "\t2min for SECURITY ERASE UNIT."
    tools.make_hdparm(f'[ "$3" = --security-erase ] && {HANGS}', SECURITY + estimate)
    monkeypatch.setattr(purge, "_ESTIMATES", 0.001)
    monkeypatch.setattr(purge, "_ERASE_SPARE_S", 0.1)
    message = lost(ATA, "ata-secure-erase")
    assert "has not ended after 0.22 s, more than twice the 2 min that the drive" in message
    assert "look at the drive with `hdparm -I /dev/sdz`" in message
    # It is at work: nothing more is asked of it.
    assert "--security-erase" in tools.calls[-1]


def test_a_sanitize_that_takes_too_long_is_told(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In progress; the estimates for an overwrite, a block erase (200 s) and a crypto erase.
    log = r"\000\100\002\000" + r"\000" * 8 + r"\310\000\000\000" + r"\377" * 4
    tools.make("nvme", f"[ \"$1\" = sanitize-log ] && printf '{log}'")
    monkeypatch.setattr(purge, "_ESTIMATES", 0.001)
    monkeypatch.setattr(purge, "_ERASE_SPARE_S", 0.0)
    message = lost(NVME, "nvme-sanitize")
    assert "sanitizing itself for 0.2 s, more than twice the 3.33 min" in message
    assert "`nvme sanitize-log /dev/nvme9` tells its end" in message


def test_a_tool_that_does_not_answer_is_left_alone(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.make("nvme", f'[ "$1" = list-ns ] && {HANGS}')
    monkeypatch.setattr(purge, "_ASK_LIMIT", purge._Limit(0.1, "the limit for its answer"))
    with pytest.raises(TargetLostError, match=r"list-ns.*after 0\.1 s, the limit for its answer"):
        purge.check(NVME, "nvme-format")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("not\tfrozen", "\tfrozen", "systemctl suspend"),
        ("not\tenabled", "\tenabled", "has an ATA password"),
        ("\t\tsupported", "\tnot\tsupported", "has no ATA security erase"),
        ("Security:", "", "has no ATA security erase"),
    ],
)
def test_ata_security_states_that_are_refused(tools: Tools, old: str, new: str, named: str) -> None:
    tools.make_hdparm(security=SECURITY.replace(old, new))
    assert named in refused(ATA, "ata-secure-erase")


def test_other_namespaces_are_not_erased_along(tools: Tools) -> None:
    tools.make("nvme")
    shown = dataclasses.replace(NVME, namespaces=3)
    assert "all 3 namespaces of /dev/nvme9" in refused(shown, "nvme-format")
    tools.make("nvme", "printf '[   0]:0x1\\n[   1]:0x2\\n'")
    assert "all 2 namespaces of /dev/nvme9" in refused(NVME, "nvme-sanitize")


def test_methods_and_drives_that_do_not_fit(tools: Tools) -> None:
    tools.make("nvme")
    tools.make_hdparm()
    assert "for whole NVMe namespaces" in refused(ATA, "nvme-format")
    assert "for whole ATA drives" in refused(NVME, "ata-secure-erase")
    part = dataclasses.replace(ATA, name="sdz1")
    assert "for whole ATA drives" in refused(part, "ata-secure-erase")
    bridge = dataclasses.replace(ATA, transport="USB")
    assert "for whole ATA drives" in refused(bridge, "ata-secure-erase")
    assert tools.calls == []


def test_a_missing_tool_is_named_with_its_package(tools: Tools) -> None:
    assert "no program nvme here" in refused(NVME, "nvme-format")
    assert "install the package nvme-cli" in refused(NVME, "nvme-sanitize")
    assert "install the package hdparm" in refused(ATA, "ata-secure-erase")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--purge", "discard"], "it needs --destroy-data"),
        (["--purge", "nvme-format", "--destroy-data", "DEVICE"], "for whole NVMe namespaces"),
        (["--purge", "discard", "--destroy-data", "/dev/null"], "names"),
        (["--purge", "everything", "--destroy-data", "DEVICE"], "everything"),
    ],
)
def test_refused_before_anything_is_erased(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], named: str
) -> None:
    with disk(tmp_path) as one:
        before = one.image.read_bytes()
        words = [one.device if word == "DEVICE" else word for word in words]
        assert main(["characterize", one.device, *words, "--profile", "quick"]) == EXIT_USAGE
        assert named in capsys.readouterr().err
        assert one.image.read_bytes() == before


def test_a_simulated_drive_needs_no_purge_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="--purge is for files and devices"):
        open_target("sim:ocz-core-64gb", purge_method="discard")


def test_a_device_is_discarded_only_when_that_is_named(tmp_path: Path) -> None:
    with disk(tmp_path) as one:
        before = one.image.read_bytes()
        with (
            open_target(one.device, destroy_data=one.device) as target,
            pytest.raises(UserError, match=r"not purged.*name --purge"),
        ):
            target.purge()
        assert one.image.read_bytes() == before
        with open_target(one.device, destroy_data=one.device, purge_method="discard") as target:
            assert "discards all blocks" in (target.purge_plan or "")
            target.purge()
            assert target.needs_fill
        assert not any(one.image.read_bytes())


@pytest.mark.parametrize("method", [None, "discard"])
def test_verify_erases_first_only_when_that_is_named(tmp_path: Path, method: str | None) -> None:
    span = 1 << 20
    with disk(tmp_path) as one:
        before = one.image.read_bytes()
        told: list[str] = []
        with open_target(one.device, destroy_data=one.device, purge_method=method) as target:
            found = verify(target, span_bytes=span, seconds=0.001, tell=told.append)
            assert (found.failure, found.damages) == (None, [])
            if method is not None:
                (tmp_path / "state").touch()
                with pytest.raises(UserError, match="leave --purge out"):
                    verify(target, again=True, state=tmp_path / "state")
        rest = one.image.read_bytes()[span:]
        assert rest == (before[span:] if method is None else bytes(len(rest)))
    assert ("discards all blocks" in told[0]) == (method is not None)


@pytest.mark.parametrize("method", [None, "discard", "nvme-format"])
def test_the_run_says_whether_it_purged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str | None
) -> None:
    read = {"amount": "16 KiB", "reads": 1, "block": "4 KiB", "pattern": "random"}
    test = {"name": "reads", "prepare": ["purge"], "workload": [read]}
    suite = suite_of({"name": "reads", "test": [test]}, "test")
    runs: list[str] = []

    def tool(line: list[str], **_: object) -> bytes:
        runs.append(shlex.join(line))
        raise UserError("the drive said no", EXIT_FAILED)

    monkeypatch.setattr(purge, "check", lambda drive, method: None)
    monkeypatch.setattr(purge, "_run", tool)
    with (
        disk(tmp_path) as one,
        open_target(one.device, destroy_data=one.device, purge_method=method) as target,
    ):
        # A loop device may call itself a disk, which no purge changes.
        target.keeps_state = True
        manifest = run_suite(suite, target, out=tmp_path / "runs").manifest
    [entry] = manifest.tests
    if method == "nvme-format":
        [line] = runs
        assert any(f"runs `{line}`" in note for note in manifest.notes)
        assert (entry.status, entry.reason) == ("failed", "the drive said no")
        assert manifest.status == "failed"
        return
    said = "discards all blocks" if method else "name --purge"
    assert any(said in note for note in manifest.notes)
    assert entry.status == "complete"
    assert entry.preparation[0].startswith("purge of the drive" if method else "not purged")


def test_the_device_is_free_during_the_erase_and_compared_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop device that passes for an NVMe namespace; the tool claims it as nvme-cli does."""
    with disk(tmp_path) as one:
        real = purge.examine
        drive = dataclasses.replace(real(one.device), controller="/dev/nvme9", namespaces=1)
        monkeypatch.setattr(purge, "examine", lambda path: drive)
        monkeypatch.setattr(purge, "_check_namespaces", lambda drive, method: None)
        claims: list[str] = []

        def tool(line: list[str], **_: object) -> bytes:
            purge._await_release(drive)
            claims.append(line[1])
            return b""

        monkeypatch.setattr(purge, "_run", tool)
        with open_target(one.device, destroy_data=one.device, purge_method="nvme-format") as target:
            target.purge()
            assert claims == ["format"]
            assert target.needs_fill
            # Another drive under the same name.
            found = iter([drive, dataclasses.replace(drive, serial="another")])
            monkeypatch.setattr(purge, "examine", lambda path: next(found))
            with pytest.raises(UserError, match="no longer the same drive"):
                target.purge()
            with pytest.raises(UserError, match="given up"):
                target.filled()


def test_a_drive_is_known_by_what_the_kernel_says(tmp_path: Path) -> None:
    with disk(tmp_path) as one:
        number = Path(one.device).stat().st_rdev
        namespace = tmp_path / "sys/devices/pci0/nvme/nvme4/nvme4n1"
        for directory in (namespace / "queue", namespace.parent / "nvme4n2"):
            directory.mkdir(parents=True)
        (namespace / "size").write_text("2048\n")
        (namespace / "diskseq").write_text("31\n")
        (namespace.parent / "serial").write_text("ABC \n")
        (namespace / "device").symlink_to(namespace.parent)
        numbers = tmp_path / "sys/dev/block"
        numbers.mkdir(parents=True)
        name = f"{os.major(number)}:{os.minor(number)}"
        (numbers / name).symlink_to(namespace)
        drive = purge.examine(one.device, tmp_path)
    assert (drive.name, drive.serial, drive.size_bytes) == ("nvme4n1", "ABC", 1 << 20)
    assert (drive.sequence, drive.controller, drive.namespaces) == ("31", "/dev/nvme4", 2)
