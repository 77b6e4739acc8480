#!/usr/bin/env python3
"""Drives as block devices of a kernel's own drivers, in a guest of QEMU's: ublk, NBD, virtio.

The guest boots a kernel that has the drivers as modules. By `serve --ublk`, and with the kernel's
own NBD client on `serve --nbd`, it serves drives of the catalog to itself; by `serve --vhost-user`
this machine serves one to it. fio, mkfs.ext4 and e2fsck work on the block devices, through losses
of power, `kill -9` and faults (`qemu_serve_guest.py`). What came of each goes on a page.

The kernel must be 6.4 or later with NVMe and ext4 built in, as Debian's cloud kernel of
bookworm-backports is:

    apt-get download linux-image-6.12.95+deb12-cloud-amd64
    dpkg-deb -x linux-image-6.12.95+deb12-cloud-amd64_*.deb kernel
    benches/qemu_serve.py kernel/boot/vmlinuz-* --write docs

Needs qemu-system-x86_64, fio, mkfs.ext4 and nbd-client (a path may be given); takes some ten
minutes without hardware virtualization, and no root.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from qemu_guest import ACCELERATOR, GUEST_MIB, boot_command, make_image, qemu_version

import fourcorners as fc
from fourcorners_validation.arena.tables import TEXTS, markdown_table

PAGE = "serve-qemu.md"
GUEST = Path(__file__).with_name("qemu_serve_guest.py")
PROGRAMS = ("fio", "mkfs.ext4", "e2fsck", "mount", "umount", "nbd-client")
MODULES = ("ublk_drv", "nbd", "virtio_blk")
HOSTED = "sim:ocz-vector-256gb"
"""What this machine serves to the guest."""
HEADINGS = {
    "## ublk": "## `serve --ublk`",
    "## nbd": "## The kernel's NBD client on `serve --nbd`",
    "## vhost-user": "## `serve --vhost-user`",
}

HEAD = """# Served by the kernel's own drivers, in a virtual machine

Written by `benches/qemu_serve.py KERNEL --write docs` with {version}, `-accel {accelerator}`: a
guest with Linux {kernel} serves drives of the catalog to its own kernel, and one is served to it.
Rates and late answers are those of a processor whose instructions are interpreted, and say nothing
about a drive or about a transport.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--accel", default=ACCELERATOR, help="QEMU's -accel")
    parser.add_argument("--minutes", type=float, default=20, help="after which it is stopped")
    parser.add_argument("--nbd-client", type=Path, help="where nbd-client is, unless it is found")
    parser.add_argument("--write", type=Path, help=f"folder to write {PAGE} to")
    given = parser.parse_args()
    found = {name: shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in PROGRAMS}
    if given.nbd_client is not None:
        found["nbd-client"] = str(given.nbd_client.resolve())
    missing = [name for name, path in found.items() if path is None]
    if missing:
        sys.exit(f"install {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "guest.img")
        make_image(
            image,
            GUEST.read_text("utf-8"),
            given.minutes,
            kernel=given.kernel,
            modules=MODULES,
            programs=[Path(path) for path in found.values() if path is not None],
        )
        socket = Path(folder, "drive.sock")
        command = boot_command(given.kernel, image, accelerator=given.accel, processors=2)
        # The guest's memory is where its requests lie.
        command += ["-object", f"memory-backend-memfd,id=memory,size={GUEST_MIB}M,share=on"]
        command += ["-machine", "memory-backend=memory"]
        command += ["-chardev", f"socket,id=drive,path={socket}"]
        command += ["-device", "vhost-user-blk-pci,chardev=drive,num-queues=2"]
        with fc.serve(HOSTED, vhost_user=socket, restart_after_s=0.5, out=folder) as served:
            lines = boot(command, served)
            cuts = served.stop().events["power_cuts"]
        told = [
            f"{cut['written_ios']} writes, then {cut['unacknowledged_ios']} I/Os unanswered"
            for cut in cuts
        ]
        lines.append(
            f"CHECK|{HOSTED}|power cuts as the server saw them|{'; '.join(told) or 'none'}"
        )
    page = written(lines, given.accel)
    if given.write:
        (given.write / PAGE).write_text(page, "utf-8")
    print(page)


def boot(command: list[str], served: fc.Served) -> list[str]:
    """What the guest says until it switches itself off, which is shown as it comes; the drive that
    is served to it is commanded by a line of it."""
    lines = []
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as guest:
        assert guest.stdout is not None
        for line in guest.stdout:
            print(line, end="", flush=True)
            lines.append(line.strip())
            if line.startswith("HOST "):
                served.command(line.removeprefix("HOST "))
    return lines


def written(lines: list[str], accelerator: str) -> str:
    """The page: what came of each check."""
    # The firmware ends its words without a new line.
    release = next(line.partition("GUEST ")[2] for line in lines if "GUEST " in line)
    parts = [HEAD.format(version=qemu_version(), accelerator=accelerator, kernel=release)]
    rows: list[list[str]] = []

    def end_table() -> None:
        if rows:
            parts.append(markdown_table(("drive", "what", "outcome"), rows, TEXTS) + "\n")
            rows.clear()

    for line in lines:
        if line in HEADINGS:
            end_table()
            parts.append(HEADINGS[line] + "\n")
        elif line.startswith("CHECK|"):
            rows.append(line.split("|")[1:])
    end_table()
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    main()
