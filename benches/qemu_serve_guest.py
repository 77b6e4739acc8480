"""What the guest of ``qemu_serve.py`` does: block devices of the kernel's own drivers, from us.

Each check prints one line, ``CHECK|drive|what|outcome``, on the console.
"""

import contextlib
import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import fourcorners as fc

DRIVES = ("sim:ocz-vector-256gb", "sim:wd6400aaks", "sim:intel-dc-s3700-200gb")
OUT = "/tmp/runs"
SECONDS = 4
MOUNTED = Path("/mnt")
SOCKET = Path("/tmp/nbd.sock")


def say(drive: str, what: str, outcome: str) -> None:
    print("CHECK", drive.removeprefix("sim:"), what, outcome, sep="|", flush=True)


def check(drive: str, what: str, do: Callable[[], str]) -> None:
    """Does one thing and says what came of it."""
    began = time.monotonic()
    try:
        outcome = do()
    except Exception as error:
        outcome = f"FAILED: {type(error).__name__}: {error}".replace("\n", " ")[:600]
    say(drive, what, f"{outcome} ({time.monotonic() - began:.0f} s)")


def run(*words: str | Path) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        told = (done.stderr + done.stdout).strip().splitlines()
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {' / '.join(told[-3:])}")
    return done.stdout


def attributes(device: Path) -> str:
    """What the kernel says of a block device."""
    queue = Path("/sys/block", device.name, "queue")
    names = "logical_block_size physical_block_size max_sectors_kb discard_max_bytes "
    names += "write_zeroes_max_bytes write_cache fua"
    return ", ".join(f"{name} {(queue / name).read_text().strip()}" for name in names.split())


def fio(device: Path, *words: str) -> str:
    """A job of fio's in the first GiB of a device: rates, and that nothing was wrong."""
    command = ["fio", "--name=job", f"--filename={device}", "--ioengine=libaio", "--direct=1"]
    command += ["--size=1G", "--output-format=json", "--group_reporting", *words]
    text = run(*command)
    [job] = json.loads(text[text.index("{") :])["jobs"]
    if job["error"]:
        raise RuntimeError(f"error {job['error']}")
    sides = [(side, job[side]) for side in ("read", "write", "trim") if job[side]["total_ios"]]
    told = [f"{side} {one['iops']:.0f} IOPS, {one['total_ios']} I/Os" for side, one in sides]
    if job["sync"]["total_ios"]:
        told.append(f"{job['sync']['total_ios']} flushes")
    return "; ".join(told)


def fio_checks(drive: str, device: Path, has_trim: bool) -> None:
    timed = ("--time_based", f"--runtime={SECONDS}", "--bs=4k", "--iodepth=32")
    check(drive, "fio, 4 KiB random reads", lambda: fio(device, "--rw=randread", *timed))
    check(drive, "fio, 4 KiB random writes", lambda: fio(device, "--rw=randwrite", *timed))
    verify = ("--verify=crc32c", "--iodepth=32", "--numjobs=4", "--offset_increment=8M")
    mixed = (*verify, "--rw=randwrite", "--bsrange=512-256k", "--blockalign=512", "--io_size=8M")
    check(
        drive,
        "fio, four jobs, verify=crc32c, flushes mixed in",
        lambda: fio(device, *mixed, "--size=8M", "--fsync=8", "--do_verify=1"),
    )
    durable = ("--rw=randwrite", "--bs=4k", "--sync=dsync", "--iodepth=4", "--io_size=512k")
    check(drive, "fio, FUA writes", lambda: fio(device, *durable))
    if has_trim:
        trims = ("--rw=randtrimwrite", "--bs=64k", "--iodepth=8", "--io_size=4M", "--fsync=16")
        check(drive, "fio, trim and write mixed, flushes", lambda: fio(device, *trims))


def durable_tree(device: Path) -> dict[str, bytes]:
    """A file system with files that were synchronized, and some that were not."""
    run("mkfs.ext4", "-q", "-F", device, "200000k")
    run("mount", device, MOUNTED)
    kept = {}
    for number in range(20):
        name, content = f"kept-{number}", os.urandom(3000 * (number + 1))
        with (MOUNTED / name).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        kept[name] = content
    directory = os.open(MOUNTED, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    for number in range(20):
        (MOUNTED / f"hasty-{number}").write_bytes(bytes(5000))
    return kept


def power_cut(device: Path, cut: Callable[[], object], back: Callable[[], object]) -> str:
    """Power fails under a file system; it comes back, and what was synchronized is there."""
    kept = durable_tree(device)
    cut()
    subprocess.run(["umount", MOUNTED], capture_output=True, check=False)
    back()
    done = subprocess.run(["e2fsck", "-f", "-p", device], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"e2fsck ended with {done.returncode}: {done.stdout[-300:]}")
    run("e2fsck", "-f", "-n", device)
    run("mount", device, MOUNTED)
    lost = [name for name, content in kept.items() if (MOUNTED / name).read_bytes() != content]
    run("umount", MOUNTED)
    if lost:
        raise RuntimeError(f"synchronized files were lost: {lost}")
    return f"e2fsck {done.returncode}, then clean; all {len(kept)} synchronized files are whole"


def cut_of(served: fc.Served) -> tuple[Callable[[], object], Callable[[], object]]:
    """How power is cut, and how one waits until it is back."""

    def back() -> None:
        while served.command("status")["is_away"]:
            time.sleep(0.1)

    return lambda: served.command("power-cut for=500ms"), back


def cached_data(device: Path) -> str:
    """What a program wrote through the page cache and did not synchronize reaches the drive."""
    file = os.open(device, os.O_RDWR)
    os.pwrite(file, b"c" * 2**20, 2**30)
    os.close(file)
    return "written"


@contextlib.contextmanager
def served(drive: str, name: str, **how: object) -> Iterator[fc.Served]:
    data = Path(f"/tmp/{name}.img")
    with fc.serve(drive, data=data, out=OUT, **how) as one:  # type: ignore[arg-type]
        yield one


def by_ublk(drive: str) -> None:
    with served(drive, "ublk", ublk=True, restart_after_s=0.5) as one:
        device = one.device
        assert device is not None
        say(drive, "the block device", f"{device}: {attributes(device)}")
        has_trim = int(Path("/sys/block", device.name, "queue/discard_max_bytes").read_text()) > 0
        fio_checks(drive, device, has_trim)
        check(drive, "ext4, a power cut, e2fsck", lambda: power_cut(device, *cut_of(one)))
        check(drive, "unsynchronized data at the end", lambda: cached_data(device))
        session = one.stop()
    late = f"{session.late_share:.1%} late, failure {session.failure}, notes {one.notes}"
    say(drive, "the end", f"device there: {device.exists()}; {late}")
    with Path("/tmp/ublk.img").open("rb") as data:
        data.seek(2**30)
        whole = data.read(2**20) == b"c" * 2**20
    say(drive, "unsynchronized data is on the drive", str(whole))
    Path("/tmp/ublk.img").unlink()


def killed() -> str:
    """A server that is killed leaves a device without a disk, which the next start removes."""
    command = [sys.executable, "-m", "fourcorners", "serve", DRIVES[0], "--ublk", "--out", OUT]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    device = Path(process.stdout.readline().strip())
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 30
    while device.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    left = sorted(path.name for path in Path("/dev").glob("ublk[bc]*"))
    with fc.serve(DRIVES[0], ublk=True, out=OUT):
        during = sorted(path.name for path in Path("/dev").glob("ublk[bc]*"))
    after = sorted(path.name for path in Path("/dev").glob("ublk[bc]*"))
    return f"left {left}; during the next session {during}; after it {after}"


def faults(drive: str) -> str:
    """Errors, a hang that is cleared, and a device that is away."""
    with fc.serve(drive, ublk=True, out=OUT) as one, contextlib.ExitStack() as stack:
        assert one.device is not None
        file = os.open(one.device, os.O_RDWR | os.O_DIRECT)
        stack.callback(os.close, file)
        page = mmap.mmap(-1, 4096)
        told = []
        for words in ("io-error on=read times=1", "gone for=300ms"):
            one.command(words)
            try:
                os.preadv(file, [page], 0)
                told.append(f"{words}: no error")
            except OSError as error:
                told.append(f"{words}: {errno.errorcode[error.errno or 0]}")
            time.sleep(0.5)
            os.preadv(file, [page], 0)
        return "; ".join(told) + "; then it reads again"


def by_kernel_nbd(drive: str) -> None:
    """The kernel's own NBD client."""
    with served(drive, "nbd", nbd=f"unix:{SOCKET}", restart_after_s=0.5) as one:
        device = Path("/dev/nbd0")
        words = ("nbd-client", "-unix", SOCKET, device, "-b", "512", "-C", "2")
        check(drive, "nbd-client connects", lambda: run(*words).strip().splitlines()[-1])
        say(drive, "the block device", f"{device}: {attributes(device)}")
        has_trim = int(Path("/sys/block/nbd0/queue/discard_max_bytes").read_text()) > 0
        fio_checks(drive, device, has_trim)

        def tree() -> str:
            kept = durable_tree(device)
            run("umount", MOUNTED)
            run("e2fsck", "-f", "-n", device)
            return f"clean, {len(kept)} files"

        check(drive, "ext4, e2fsck", tree)
        check(drive, "nbd-client disconnects", lambda: run("nbd-client", "-d", device) or "done")
        session = one.stop()
    say(drive, "the end", f"{session.late_share:.1%} late, failure {session.failure}")


def reads(device: Path) -> bool:
    """Whether the drive itself reads."""
    file = os.open(device, os.O_RDONLY | os.O_DIRECT)
    try:
        os.preadv(file, [mmap.mmap(-1, 4096)], 2**29)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def by_vhost_user() -> None:
    """A disk of this machine's, which the host serves; it does what a line says that it reads."""
    device = Path("/dev/vda")
    drive = f"{Path('/sys/block/vda/serial').read_text().strip()}, of the host"
    say(drive, "the block device", f"{device}: {attributes(device)}")
    fio_checks(drive, device, has_trim=True)

    def wait_until(is_there: bool) -> None:
        deadline = time.monotonic() + 60
        while reads(device) != is_there:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the drive is {'not ' * is_there}there")
            time.sleep(0.05)

    def cut() -> None:
        print("HOST power-cut for=3s", flush=True)
        wait_until(is_there=False)

    back = partial(wait_until, is_there=True)
    check(drive, "ext4, a power cut, e2fsck", lambda: power_cut(device, cut, back))


def main() -> None:
    print("GUEST", os.uname().release, flush=True)
    print("## ublk", flush=True)
    for drive in DRIVES:
        by_ublk(drive)
    check(DRIVES[0], "faults", lambda: faults(DRIVES[0]))
    check(DRIVES[0], "kill -9", killed)
    print("## nbd", flush=True)
    by_kernel_nbd(DRIVES[0])
    print("## vhost-user", flush=True)
    by_vhost_user()


if __name__ == "__main__":
    main()
