"""A guest of QEMU's that runs one Python program, with this environment's Python and packages.

The guest's disk is an image with an ext4 file system; its kernel needs NVMe and ext4 built in, as
Debian's cloud kernels have. Modules of that kernel and programs of this machine are copied where
they are asked for.
"""

import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import fourcorners as fc

IMAGE_BYTES = 1 << 30
PARTITION_OFFSET = 1 << 20
DISK_SIGNATURE = 0x4C4F4F4B
GUEST_MIB = 2048
ACCELERATOR = "tcg,thread=multi"
"""QEMU's own interpreter of instructions, which every machine has."""

KERNEL_WORDS = "console=ttyS0 quiet loglevel=2 panic=-1 rw init=/init tsc=reliable clearcpuid=cx16"
"""The processor's counter is cheap to read, and QEMU's is stable. QEMU 7.2 spoils the flags in
CMPXCHG16B, at which newer kernels crash: they need not use it."""

PYTHON = Path(sys.base_prefix) / "bin" / Path(os.__file__).parent.name
"""The interpreter of this environment, as the guest has it too."""

INIT = """#!{python}
import ctypes, glob, os, signal, subprocess, traceback
libc = ctypes.CDLL(None, use_errno=True)
for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")):
    libc.mount(kind.encode(), where.encode(), kind.encode(), 0, None)
console = os.open("/dev/console", os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(console, number)
try:
    for module in glob.glob("/modules/*.ko"):
        file = os.open(module, os.O_RDONLY)
        if libc.syscall(313, file, b"", 0):  # finit_module, on x86-64
            print(module, os.strerror(ctypes.get_errno()))
    environment = {{"PYTHONPATH": "/packages", "HOME": "/tmp", "TERM": "dumb", "COLUMNS": "100",
                    "PATH": "/programs", "OPENBLAS_NUM_THREADS": "1"}}
    running = subprocess.Popen(["{python}", "/program.py"], env=environment, cwd="/tmp")
    try:
        running.wait({minutes} * 60)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)
        running.wait(300)
    print("the program ended with", running.returncode, flush=True)
except BaseException:
    traceback.print_exc()
os.sync()
libc.mount(None, b"/", None, 32 | 1, None)
libc.reboot(0x4321FEDC)
"""
"""The first program of the guest: it mounts, runs the other one and switches off."""


def needed_packages() -> set[str]:
    """Names of the distributions that fourcorners needs, itself included."""
    found: set[str] = set()
    waiting = ["fourcorners"]
    while waiting:
        name = waiting.pop().lower()
        if name in found:
            continue
        found.add(name)
        for requirement in distribution(name).requires or []:
            if "extra ==" not in requirement and (match := re.match(r"[\w.-]+", requirement)):
                waiting.append(match[0])
    return found


def shared_libraries(files: list[Path], root: Path) -> set[Path]:
    """The libraries of the system that these programs and extensions need."""
    told = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False)
    paths = {Path(found) for found in re.findall(r"\s(/\S+) \(0x", told.stdout)}
    return {path for path in paths if not path.is_relative_to(root)}


def make_root(root: Path, program: str, minutes: float, programs: Sequence[Path]) -> None:
    """Fills a folder with what the guest needs: Python, the packages, and what it runs."""
    for folder in ("proc", "sys", "dev", "tmp", "runs", "packages", "modules", "mnt", "programs"):
        (root / folder).mkdir()
    ignored = shutil.ignore_patterns("test", "idlelib", "lib2to3", "site-packages")
    library = Path(os.__file__).parent
    shutil.copytree(library, within(root, library), ignore=ignored, symlinks=True)
    for name in needed_packages():
        for file in distribution(name).files or []:
            source = Path(str(file.locate()))
            if ".." in file.parts or not source.is_file():
                continue
            target = root / "packages" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)  # With its time, so that its byte code is used.
    shutil.copytree(Path(fc.__file__).parent, root / "packages/fourcorners", dirs_exist_ok=True)
    extensions = [path for path in root.rglob("*.so*") if path.is_file()]
    for path in programs:
        shutil.copy(path.resolve(), root / "programs" / path.name)
    for path in {PYTHON, *shared_libraries([PYTHON, *programs, *extensions], root)}:
        target = within(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.resolve(), target)
    (root / "program.py").write_text(program, "utf-8")
    init = root / "init"
    init.write_text(INIT.format(python=PYTHON, minutes=minutes), "utf-8")
    init.chmod(0o755)


def add_modules(root: Path, kernel: Path, names: Sequence[str]) -> None:
    """Copies modules of a kernel, ``boot/vmlinuz-VERSION`` of a package that lies unpacked."""
    version = kernel.name.removeprefix("vmlinuz-")
    folder = kernel.parent.parent / "lib/modules" / version
    for name in names:
        [file] = folder.rglob(f"{name}.ko*")
        content = file.read_bytes()
        text = lzma.decompress(content) if file.suffix == ".xz" else content
        (root / "modules" / f"{name}.ko").write_bytes(text)


def within(root: Path, path: Path) -> Path:
    """Where a file of this machine lies in the guest's tree: in the same place."""
    return root / str(path).lstrip("/")


def make_image(
    image: Path,
    program: str,
    minutes: float,
    *,
    kernel: Path,
    modules: Sequence[str] = (),
    programs: Sequence[Path] = (),
) -> None:
    """A disk with one partition, an ext4 file system of what the guest needs to run a program."""
    with tempfile.TemporaryDirectory(dir=image.parent) as folder:
        root = Path(folder)
        make_root(root, program, minutes, programs)
        add_modules(root, kernel, modules)
        with image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        offset, size = f"offset={PARTITION_OFFSET}", f"{(IMAGE_BYTES - PARTITION_OFFSET) >> 10}k"
        command = ["mkfs.ext4", "-q", "-F", "-E", offset, "-d", str(root), str(image), size]
        subprocess.run(command, check=True)
    first, count = PARTITION_OFFSET // 512, (IMAGE_BYTES - PARTITION_OFFSET) // 512
    entry = struct.pack("<8BII", 0, 0, 0, 0, 0x83, 0, 0, 0, first, count)
    with image.open("r+b") as file:
        file.seek(440)
        file.write(struct.pack("<IH", DISK_SIGNATURE, 0) + entry + bytes(48) + b"\x55\xaa")


def boot_command(
    kernel: Path, image: Path, *, accelerator: str = ACCELERATOR, processors: int = 1
) -> list[str]:
    """QEMU's command for a guest that runs until it switches itself off."""
    root = f"driver=raw,file.driver=file,file.filename={image}"
    words = f"{KERNEL_WORDS} root=PARTUUID={DISK_SIGNATURE:08x}-01"
    return [
        *("qemu-system-x86_64", "-accel", accelerator, "-cpu", "max", "-smp", str(processors)),
        *("-m", str(GUEST_MIB), "-nographic", "-no-reboot", "-nic", "none"),
        *("-kernel", str(kernel), "-append", words),
        *("-drive", f"{root},if=none,id=root", "-device", "nvme,drive=root,serial=root"),
    ]


def qemu_version() -> str:
    """Such as "QEMU emulator version 7.2.22"."""
    told = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True)
    return told.stdout.partition(" (")[0]


def take_out(image: Path, to: Path) -> None:
    """Copies what the guest made out of its image."""
    to.mkdir()
    command = ["debugfs", "-R", f"rdump /runs {to}", f"{image}?offset={PARTITION_OFFSET}"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
