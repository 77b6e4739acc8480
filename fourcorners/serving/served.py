"""Serves a simulated drive to other programs, from when it is called until it is told to stop."""

import json
import os
import resource
import shlex
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from fourcorners import _core
from fourcorners.catalog.settings import Setting
from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.input_files import check_name
from fourcorners.serving.faults import command_json, read_faults
from fourcorners.serving.mounts import LoopDevice, clean_up, left_on_ublk, opens, unmount_all
from fourcorners.serving.session import Session, keep_session
from fourcorners.serving.state import only_server_of
from fourcorners.store.writer import ensure_writable
from fourcorners.target.open import open_target
from fourcorners.target.options import TargetOptions
from fourcorners.target.simulated import SimulatedTarget
from fourcorners.target.target import check_seed
from fourcorners.target.virtual import VirtualTarget

CONNECTIONS_MAX = 8192
"""Twice as many as the server takes (serve/src/clients.rs), for what else is open."""

SAVE_EVERY_S = 60.0
"""Between two saves of the state while it is served: a worn drive's takes seconds of a processor,
which programs may want."""

APPEARS_S = 30.0
"""For the block device of ublk, whose partitions the kernel reads from the drive first."""

SPEED_MAX = 1e6
"""Of the drive's time over real time, and of its inverse: a week in a second."""


class Served:
    """A drive that is being served. A context manager, which ends the session when it is left.

    ``uri`` is where programs reach it: the NBD address, or else ``device``, ``file`` or
    ``vhost_user``, the socket for virtual machines.
    ``file`` is the path where the drive is a file, ``device`` its block device (ublk's, or the loop
    device on that file),
    ``control`` the socket for :func:`fourcorners.control`. ``notes`` are sentences about what the
    host still has of this drive or an earlier one, and ``session`` is what it showed, once it has
    ended.
    """

    def __init__(
        self,
        target: VirtualTarget,
        server: "_core.Server",
        *,
        file: Path | None,
        vhost_user: Path | None,
        control: Path | None,
        state: Path | None,
        held: ExitStack,
        out: Path,
        seed: int,
        speed: float,
        command: str | None,
        **serving: Any,
    ) -> None:
        """Begins to serve; where it cannot, the session has ended when this returns. Takes over
        what is ``held``, until the session was stopped."""
        self.nbd = server.uri
        self.file = file
        self.vhost_user = vhost_user
        self.control = control
        self.notes: list[str] = []
        self.session: Session | None = None
        self._target = target
        self._server = server
        self._state = state
        self._held = held.pop_all()
        self._keep = partial(
            keep_session,
            target,
            out=out,
            began_s=time.time(),
            seed=seed,
            speed=speed,
            command=command,
        )
        self._raw: _core.RawSession | None = None
        self._error: BaseException | None = None
        serving = {**serving, "seed": seed, "speed": speed, "description": target.name}
        self._loop: LoopDevice | None = None
        self._block_device = server.block_device
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._serve, kwargs=serving)
        self._thread.start()
        self._settled.wait()

    @property
    def failed_to_begin(self) -> bool:
        """Whether something that was given cannot be used, such as a data file or a fault, which
        :meth:`stop` raises."""
        return self._error is not None

    @property
    def device(self) -> Path | None:
        """The block device: ublk's, or the loop device on the file."""
        return self._block_device if self._loop is None else Path(self._loop.path)

    @property
    def uri(self) -> str:
        """Where programs reach the drive."""
        return self.nbd or str(self.device or self.file or self.vhost_user)

    def set_up_loop_device(self, *, read_only: bool) -> None:
        """Sets up a loop device on the file; raises :class:`UserError` where that fails."""
        assert self.file is not None
        is_disk = not self._target.keeps_state
        self._loop = LoopDevice(self.file, read_only=read_only, is_rotational=is_disk)

    def await_block_device(self) -> None:
        """Waits until programs can open the block device of ublk, or the session has ended; raises
        :class:`UserError` where neither happens."""
        assert self._block_device is not None
        deadline = time.monotonic() + APPEARS_S
        while not opens(self._block_device) and not self.wait(0.005):
            if time.monotonic() > deadline:
                raise UserError(
                    f"{self._block_device} did not appear within {APPEARS_S:g} s", EXIT_FAILED
                )

    def _serve(self, *, saved_to: Path | None, **serving: Any) -> None:
        try:
            self._raw = self._server.serve(
                self._target.core, self._settled.set, state=saved_to, **serving
            )
        except BaseException as error:
            self._error = error
        finally:
            self._settled.set()

    def command(self, words: str) -> dict[str, Any]:
        """Has a command done, such as ``"power-cut for=2s"`` or ``"io-error on=read times=1"``
        (docs/serve.md), and returns the answer; ``"status"`` says what happens.

        Raises :class:`UserError` for what is no command, or when the session has ended.
        """
        try:
            answer = self._server.ask(command_json(split_words(words)))
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
        return answered(answer)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for the end of the session, which a power cut brings; whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def release(self) -> None:
        """Unmounts the file systems on the block device, which still write to the drive what they
        hold, and takes a loop device down. What stays in use is in ``notes``."""
        if self._loop is not None:
            loop, self._loop = self._loop, None
            self.notes += loop.detach()
        if self._block_device is not None and not self.wait(0):
            self.notes += unmount_all(str(self._block_device))

    def stop(self) -> Session:
        """Ends the session and returns what it showed. What the drive was given is served and
        flushed, its state saved where one is kept.

        Raises :class:`UserError` where the session failed to begin, or its results cannot be kept.
        """
        if self.session is None:
            self.release()
        self._server.stop()
        self._thread.join()
        if self.session is not None:
            return self.session
        try:
            # A data file, a fault or a trace that cannot be used: nothing was served.
            if isinstance(self._error, ValueError):
                raise UserError(str(self._error)) from self._error
            if self._error is not None:
                raise self._error
            assert self._raw is not None
            if self._state is not None and self._raw.failure is None:
                self._target.save(self._state, replace=True)
            self.session = self._keep(self._raw)
        finally:
            self._held.close()
        return self.session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(
    target: str,
    *,
    nbd: str | None = None,
    fuse: str | Path | None = None,
    loop: bool = False,
    ublk: bool = False,
    vhost_user: str | Path | None = None,
    data: str | Path | None = None,
    sync_data: bool = False,
    state: str | Path | None = None,
    save_every_s: float = SAVE_EVERY_S,
    speed: float = 1.0,
    read_only: bool = False,
    faults: str | Path | None = None,
    restart_after_s: float | None = None,
    trace: str | Path | None = None,
    control: str | Path | None = None,
    expose: str | None = None,
    settings: Mapping[str, Setting] | None = None,
    io_limit_s: float | None = None,
    seed: int = 1,
    out: str | Path = "runs",
    command: str | None = None,
) -> Served:
    """Serves a simulated drive as a block device to other programs, in real time.

    Args:
        target: ``sim:NAME``, ``sim:raid0:...``, a drive file, or ``exec:COMMAND``.
        nbd: where programs connect by NBD: ``unix:PATH``, or ``HOST:PORT``.
        fuse: where the drive appears as a file, by FUSE.
        loop: set up a loop device on that file, which needs root.
        ublk: make a block device with the kernel's ublk driver, which needs root.
        vhost_user: the socket at which virtual machines find it as a virtio disk.
        data: the file that holds the drive's data, sparse; in memory without it.
        sync_data: the host's disk keeps what a flush or FUA write makes durable before that is
            acknowledged, so that it survives a crash of the host.
        state: the file of the drive's state: taken over where it is there, saved at the end, and
            of a drive of ours also after flushes.
        save_every_s: the least time between two such saves.
        speed: how many times as fast as real time the drive's time passes.
        read_only: refuse writes.
        faults: a file of what goes wrong, and when.
        restart_after_s: power comes back so many seconds, of the drive's time, after a cut;
            without it a cut ends the session.
        trace: a new file for the trace of every I/O (docs/traces.md), in the drive's time.
        control: the socket for commands; beside the socket or file of the drive unless given,
            PATH.control.
        expose: the ``nbd`` address again, to permit one that other machines reach.
        settings: parameters of the drive to replace.
        io_limit_s: how long a program that is the drive may be silent.
        seed: root of the drive's own randomness, and of what decides about faults.
        out: the folder in which the session's run folder is made when it has ended.
        command: what the user typed, for the manifest.

    Raises:
        UserError: one sentence that says what is wrong and what to do.
    """
    if not (1 / SPEED_MAX <= speed <= SPEED_MAX):
        raise UserError(f"speed {speed:g}: use {1 / SPEED_MAX:g} to {SPEED_MAX:g}")
    if restart_after_s is not None and not 0 <= restart_after_s <= 1e9:
        raise UserError(f"restart after {restart_after_s:g} s: use 0 to 1e9")
    if not 0 <= save_every_s <= 1e9:
        raise UserError(f"save every {save_every_s:g} s: use 0 to 1e9")
    if save_every_s != SAVE_EVERY_S and state is None:
        raise UserError("there is a state to save every so often only with --state FILE: add it")
    if sync_data and data is None:
        raise UserError("there is data on the host's disk only with --data FILE: add it")
    check_seed(seed)
    for place in (nbd, data, trace, control, vhost_user):
        check_name(place or "")
    if nbd == "unix:":
        raise UserError("--nbd unix: names no socket: write a path behind it, as in unix:v.sock")
    if expose is not None and expose != nbd:
        raise UserError(f"--expose {expose} is not the address of --nbd: name the same twice")
    if nbd is None and fuse is None and not ublk and vhost_user is None:
        raise UserError(
            "say where programs reach the drive: --nbd unix:PATH, --fuse FILE, --ublk, or "
            "--vhost-user SOCKET"
        )
    if loop and ublk:
        raise UserError("--loop and --ublk both make a block device: leave one of them out")
    if loop and fuse is None:
        raise UserError("a loop device is set up on a file: add --fuse FILE to --loop")
    file = None if fuse is None else Path(fuse).absolute()
    machines = None if vhost_user is None else Path(vhost_user).absolute()
    given = [] if faults is None else read_faults(Path(faults))
    socket = Path(control) if control is not None else _control_beside(nbd, file or machines)
    _check_apart(
        ("--nbd", _socket_of(nbd)),
        ("--fuse", file),
        ("--vhost-user", machines),
        ("the socket for commands", socket),
        ("--data", data),
        ("--state", state),
        ("--trace", trace),
        ("--faults", faults),
    )
    _allow_connections()
    ensure_writable(out)
    state = None if state is None else Path(state)
    options: TargetOptions = {"settings": settings, "io_limit_s": io_limit_s}
    with ExitStack() as held:
        if state is not None:
            held.enter_context(only_server_of(state))
            if state.exists():
                options["state"] = state
        opened = open_target(target, seed=seed, **options)
        held.callback(opened.close)
        if not isinstance(opened, VirtualTarget):
            raise UserError(f"{target} is no simulated drive, and only those are served")
        if state is not None:
            if opened.no_state_reason is not None:
                raise UserError(f"{target}: {opened.no_state_reason}")
            opened.state_output(state, replace=False).check()
        notes = [] if file is None else [*clean_up(file)]
        if ublk:
            notes += left_on_ublk()
        try:
            server = _core.Server(
                nbd=nbd,
                expose=expose,
                control=socket,
                file=file,
                ublk=ublk,
                vhost_user=machines,
                capacity_bytes=opened.capacity_bytes,
                read_only=read_only,
            )
        except ValueError as error:
            raise UserError(str(error)) from error
        served = Served(
            opened,
            server,
            file=file,
            vhost_user=machines,
            control=socket,
            state=state,
            held=held,
            out=Path(out),
            seed=seed,
            speed=speed,
            command=command,
            data=None if data is None else Path(data),
            faults_json=json.dumps(given),
            read_only=read_only,
            sync=sync_data,
            saved_to=state if isinstance(opened, SimulatedTarget) else None,
            save_every_s=save_every_s,
            restart_after_ns=None if restart_after_s is None else round(restart_after_s * 1e9),
            trace=None if trace is None else Path(trace),
        )
    served.notes += notes
    if served.failed_to_begin:
        served.stop()
    elif loop or ublk:
        try:
            if loop:
                served.set_up_loop_device(read_only=read_only)
            else:
                served.await_block_device()
        except BaseException:
            served.stop()
            raise
        if served.wait(0):
            served.stop()
    return served


def _allow_connections() -> None:
    """Each connection is an open file, of which many systems allow 1,024 until asked for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX if hard == resource.RLIM_INFINITY else min(CONNECTIONS_MAX, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _check_apart(*named: tuple[str, str | Path | None]) -> None:
    """Refuses two names of the same file: the later one would be written over the other."""
    known: dict[Path, str] = {}
    for name, place in named:
        if place is None:
            continue
        # Links lead to where they do.
        other = known.setdefault(Path(os.path.realpath(place)), name)
        if other != name:
            raise UserError(f"{other} and {name} are the same file, {place}: name another one")


def _socket_of(nbd: str | None) -> Path | None:
    """Where an address for NBD has its socket, of one that does."""
    is_path = nbd is not None and nbd.startswith("unix:")
    return Path(nbd.removeprefix("unix:")) if nbd is not None and is_path else None


def _control_beside(nbd: str | None, other: Path | None) -> Path | None:
    beside = _socket_of(nbd) or other
    return None if beside is None else Path(f"{beside}.control")


def split_words(words: str) -> list[str]:
    """The words of a command, which are separated by spaces; a value may be quoted."""
    try:
        return shlex.split(words)
    except ValueError as error:
        raise UserError(f'"{words}" has an open quotation mark') from error


def answered(answer: str) -> dict[str, Any]:
    """An answer of a server; raises :class:`UserError` where it refuses."""
    document: dict[str, Any] = json.loads(answer)
    if "error" in document:
        raise UserError(str(document["error"]))
    return document
