"""What is told, and what is refused, of targets that others have open and that cannot be seen."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners.errors import UserError

MIB = 1 << 20
NOBODY = 65534


@pytest.fixture
def file() -> Iterator[Path]:
    """A file that another user may reach, too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "precious.img"
        path.write_bytes(os.urandom(MIB))
        path.chmod(0o666)
        yield path


def _said_to_nobody(file: Path) -> str:
    """Refusal or notes, as they are told to a user without rights."""
    if os.geteuid() != 0:
        pytest.skip("to be another user needs root")
    with pytest.raises(UserError):
        fc.open_target(str(file.parent / "missing"))  # what is loaded once is loaded as root
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            said = _said(file)
        except BaseException as error:
            said = repr(error)
        os.write(tell, said.encode())
        os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with os.fdopen(told, encoding="utf-8") as answer:
        return answer.read()


def _said(file: Path) -> str:
    try:
        with fc.open_target(str(file), overwrite=str(file)) as target:
            return "; ".join(target.notes)
    except UserError as error:
        return str(error)


def test_a_writer_that_may_not_be_looked_into_is_refused_all_the_same(file: Path) -> None:
    os.chown(file, NOBODY, NOBODY)
    with (
        file.open("ab") as output,
        subprocess.Popen(["sleep", "60"], stdout=output) as other,
    ):
        try:
            output.close()
            said = _said_to_nobody(file)
            assert "open for writing by the kernel, or by a program that cannot be seen" in said
        finally:
            other.kill()


def test_what_cannot_be_seen_is_told(file: Path) -> None:
    """Leases are for a file's owner: nothing tells a user of another's file who has it open."""
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            assert "programs of other users have open" in _said_to_nobody(file)
        finally:
            other.kill()


def test_who_only_reads_is_named_and_does_not_stop_the_run(file: Path) -> None:
    with file.open("rb") as opened, subprocess.Popen(["sleep", "60"], stdin=opened) as other:
        try:
            assert f"open for reading by sleep (process {other.pid})" in _said(file)
        finally:
            other.kill()
