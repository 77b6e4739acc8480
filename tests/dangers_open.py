"""Dangerous situations of files and devices that other programs have open, locked or mapped."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dangers import MIB, Danger, danger, destroy, disk, overwrite, run
from fault_disk import FaultDisk, needs_fuse


def _file(folder: Path) -> Path:
    path = folder / "precious.img"
    path.write_bytes(os.urandom(MIB))
    return path


@contextlib.contextmanager
def another(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Another program, from the moment when it has said that it is ready."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
        try:
            assert it.stdout is not None
            if it.stdout.readline() != "ready\n":
                pytest.skip(f"{command[0]} does not work here")
            yield it
        finally:
            it.kill()


def python(script: str, *arguments: str | Path) -> contextlib.AbstractContextManager[object]:
    """A program that goes on after ``script``."""
    imports = "import fcntl, mmap, os, sqlite3, struct, sys, time; path = sys.argv[1]"
    script = f"{imports}\n{script}\nprint('ready', flush=True); time.sleep(60)"
    return another(sys.executable, "-S", "-c", script, *arguments)


def shell(script: str, *arguments: str | Path) -> contextlib.AbstractContextManager[object]:
    """A shell that goes on with what ``script`` has opened."""
    return another("sh", "-c", f"{script}; echo ready; read -r _", "sh", *arguments)


# Files


def _used_file(name: str, script: str, named: str) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        file = _file(folder)
        with python(script, file):
            yield Danger(overwrite(file), named, [file])

    stage.__name__ = f"a_file_that_another_program_has_{name}"
    danger(stage)


_used_file("open_for_writing", "file = open(path, 'r+b')", "open for writing by python")
_used_file("open_to_append", "file = open(path, 'ab')", "open for writing by python")
_used_file(
    "locked_for_reading",
    "file = open(path, 'rb'); fcntl.lockf(file, fcntl.LOCK_SH, 1, 4096)",
    "locked by python",
)
_used_file(
    "locked_for_writing",
    "file = open(path, 'r+b'); fcntl.lockf(file, fcntl.LOCK_EX)",
    "open for writing by python",
)
_used_file(
    "locked_by_an_open_file",
    "file = open(path, 'rb'); "
    "fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0))",
    "locked by python",
)
_used_file(
    "locked_as_a_whole", "file = open(path, 'rb'); fcntl.flock(file, fcntl.LOCK_EX)", "locked by"
)
_used_file(
    "locked_together_with_others",
    "file = open(path, 'rb'); fcntl.flock(file, fcntl.LOCK_SH)",
    "locked by",
)
_used_file(
    "mapped_for_writing",
    "file = open(path, 'r+b'); memory = mmap.mmap(file.fileno(), 0); file.close()",
    "for writing by python",
)
_used_file(
    "mapped_for_writing_without_a_descriptor",
    "import ctypes\n"
    "file = open(path, 'r+b'); libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n"
    "libc.mmap(None, ctypes.c_size_t(4096), 3, 1, file.fileno(), ctypes.c_long(0)); file.close()",
    "mapped for writing by python",
)
_used_file(
    "open_for_writing_in_a_namespace_of_its_own",
    "os.unshare(os.CLONE_NEWNS) if hasattr(os, 'unshare') else None; file = open(path, 'r+b')",
    "open for writing by python",
)
_used_file(
    "open_for_writing_as_another_user",
    "file = open(path, 'r+b'); os.setuid(65534)",
    "open for writing by python",
)
_used_file(
    "open_for_writing_twice_forked",
    "file = open(path, 'r+b')\nif os.fork(): os._exit(0)\nos.setsid()",
    "open for writing by python",
)
_used_file(
    "open_as_its_output",
    "os.dup2(os.open(path, os.O_WRONLY), 2)",
    "open for writing by python",
)


@danger
def a_database_in_a_transaction(folder: Path) -> Iterator[Danger]:
    script = (
        "base = sqlite3.connect(path); base.execute('CREATE TABLE t (x)'); base.commit()\n"
        "base.execute('BEGIN IMMEDIATE')"
    )
    file = folder / "base.db"
    with python(script, file):
        yield Danger(overwrite(file), "open for writing by python", [file])


@danger
def a_database_that_is_read_in_a_transaction(folder: Path) -> Iterator[Danger]:
    make = "base = sqlite3.connect(path); base.execute('CREATE TABLE t (x)'); base.commit()"
    read = (
        "base.close(); base = sqlite3.connect('file:' + path + '?mode=ro', uri=True)\n"
        "base.execute('BEGIN'); base.execute('SELECT * FROM t').fetchall()"
    )
    file = folder / "base.db"
    with python(f"{make}\n{read}", file):
        yield Danger(overwrite(file), "locked by python", [file])


@danger
def a_file_that_a_stopped_program_has_open_for_writing(folder: Path) -> Iterator[Danger]:
    file = _file(folder)
    with another("sh", "-c", 'exec 3<>"$1"; echo ready; read -r _', "sh", file) as program:
        program.send_signal(signal.SIGSTOP)
        yield Danger(overwrite(file), "open for writing by sh", [file])


@danger
def a_file_open_for_writing_under_another_name(folder: Path) -> Iterator[Danger]:
    file = _file(folder)
    (folder / "link").hardlink_to(file)
    with shell('exec 3>>"$1"', folder / "link"):
        yield Danger(overwrite(file), "open for writing by sh", [file])


@danger
def a_file_open_for_writing_through_a_bind_mount(folder: Path) -> Iterator[Danger]:
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    file = _file(folder)
    (folder / "bound").write_bytes(b"")
    run("mount", "--bind", file, folder / "bound")
    try:
        with shell('exec 3>>"$1"', folder / "bound"):
            yield Danger(overwrite(file), "open for writing by sh", [file])
    finally:
        run("umount", folder / "bound")


@danger
def a_file_whose_open_descriptor_is_on_its_way(folder: Path) -> Iterator[Danger]:
    """No process has it at the moment: it waits in a socket."""
    file = _file(folder)
    left, right = socket.socketpair()
    with left, right:
        descriptor = os.open(file, os.O_RDWR)
        socket.send_fds(left, [b"x"], [descriptor])
        os.close(descriptor)
        yield Danger(overwrite(file), "open for writing by the kernel, or", [file])


@danger
def an_image_that_a_fuse_program_serves(folder: Path) -> Iterator[Danger]:
    """Read-only, as an archive or a compressed image is mounted."""
    if not Path("/dev/fuse").exists() or os.geteuid() != 0:
        pytest.skip("no /dev/fuse here")
    file = _file(folder)
    with shell('exec 3<>/dev/fuse 4<"$1"', file):
        yield Danger(overwrite(file), "mounted through FUSE by sh", [file])


@danger
def an_image_that_fuse_has_mounted(folder: Path) -> Iterator[Danger]:
    needs_fuse()
    with FaultDisk(folder, MIB):
        image = folder / "medium"
        yield Danger(overwrite(image), "open for writing by python", [image])


# Devices


def _used_device(name: str, script: str, named: str) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        with disk(folder) as one, python(script, one.device):
            yield Danger(destroy(one.device), named, [one.image])

    stage.__name__ = f"a_disk_that_another_program_has_{name}"
    danger(stage)


_used_device("open_for_writing", "file = open(path, 'r+b', 0)", "open for writing by python")
_used_device(
    "locked",
    "file = open(path, 'rb', 0); fcntl.flock(file, fcntl.LOCK_EX)",
    "locked by python",
)
_used_device(
    "mapped_for_writing_without_a_descriptor",
    "import ctypes\n"
    "file = open(path, 'r+b', 0); libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n"
    "libc.mmap(None, ctypes.c_size_t(4096), 3, 1, file.fileno(), ctypes.c_long(0)); file.close()",
    "mapped for writing by python",
)


@danger
def a_disk_open_for_writing_under_a_node_of_another_name(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one:
        node = folder / "node"
        run("mknod", node, "b", "7", str(os.minor(Path(one.device).stat().st_rdev)))
        with shell('exec 3<>"$1"', node):
            yield Danger(destroy(one.device), "open for writing by sh", [one.image])


@danger
def a_disk_with_a_partition_that_is_open_for_writing(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, shell('exec 3<>"$1"', one.partition(2)):
        yield Danger(destroy(one.device), "p2, open for writing by sh", [one.image])


@danger
def a_partition_of_a_disk_that_is_open_for_writing(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, shell('exec 3<>"$1"', one.device):
        yield Danger(destroy(one.partition(1)), "open for writing by sh", [one.image])


@danger
def a_disk_whose_file_a_virtual_machine_has_open(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, shell('exec 3<>"$1"', one.image):
        yield Danger(destroy(one.device), "disk.img, open for writing by sh", [one.image])


@danger
def a_loop_device_over_a_disk_that_is_open_for_writing(folder: Path) -> Iterator[Danger]:
    with disk(folder) as one, shell('exec 3<>"$1"', one.device):
        upper = run("losetup", "--find", "--show", one.device)
        try:
            yield Danger(destroy(upper), "open for writing by sh", [one.image])
        finally:
            run("losetup", "--detach", upper)


@danger
def a_program_of_another_name_that_has_a_disk_open(folder: Path) -> Iterator[Danger]:
    """Its name holds what a terminal would take for a command."""
    program = folder / "a\x1b[31mred"
    shutil.copy2(shutil.which("sh") or "/bin/sh", program)
    with (
        disk(folder) as one,
        another(program, "-c", 'exec 3<>"$1"; echo ready; read -r _', "sh", one.device),
    ):
        yield Danger(destroy(one.device), "by a?[31mred", [one.image])
