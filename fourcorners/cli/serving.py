"""``serve``, ``control``, ``top``, ``crash-test``: simulated drives as devices of programs."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from fourcorners.cli.options import (
    Flag,
    IoLimit,
    Json,
    Quiet,
    Seed,
    Settings,
    Silent,
    command_line,
    examples,
    settings_of,
)
from fourcorners.cli.root import app


@app.command(
    help_epilogue=examples(
        "serve sim:ocz-vector-256gb --nbd unix:/run/v.sock",
        "serve sim:ocz-core-64gb --nbd 127.0.0.1:10809 --data core.img --state core.state",
        "serve ./mine.toml --nbd unix:v.sock --faults faults.toml --restart-after 2",
        "serve sim:ocz-vector-256gb --fuse v.img --loop",
        "serve sim:ocz-vector-256gb --ublk --control v.control",
        "serve sim:ocz-vector-256gb --vhost-user v.sock",
    ),
)
def serve(
    target: str,
    /,
    *,
    nbd: str | None = None,
    fuse: Path | None = None,
    loop: Flag = False,
    ublk: Flag = False,
    vhost_user: Path | None = None,
    data: Path | None = None,
    sync_data: Flag = False,
    state: Path | None = None,
    save_every_s: Annotated[float, Parameter(name="--save-every")] = 60.0,
    speed: float = 1.0,
    read_only: Flag = False,
    faults: Path | None = None,
    restart_after_s: Annotated[float | None, Parameter(name="--restart-after")] = None,
    trace: Path | None = None,
    control: Path | None = None,
    expose: str | None = None,
    settings: Settings = (),
    io_limit_s: IoLimit = None,
    seed: Seed = 1,
    out: Path = Path("runs"),
    quiet: Quiet = False,
) -> int:
    """Serve a simulated drive as a block device to other programs, in real time.

    Ctrl-C and SIGTERM end it: the drive flushes, and a run folder keeps what programs asked for.

    Parameters
    ----------
    target
        A simulated drive, as in "characterize".
    nbd
        Where programs connect by NBD: unix:PATH, which only you can use, or HOST:PORT.
    fuse
        The path at which the drive appears as a file: a new or an empty one.
    loop
        Set up a loop device on that file, and take it down at the end. It needs root.
    ublk
        Make a block device, /dev/ublkbN, with the kernel's ublk driver. It needs root.
    vhost_user
        A socket at which virtual machines find the drive as a virtio disk.
    data
        The file that holds the drive's data, sparse; a new one is made. In memory unless given.
    sync_data
        Have the host's disk keep the data before a flush or FUA write is acknowledged, so that it
        survives a crash of the host, too.
    state
        The file of the drive's state, as "prepare" writes it. The drive starts from it if it
        exists; it is saved after flushes and when the session ends.
    save_every_s
        The shortest time between two saves of the state after flushes, in seconds.
    speed
        How many times as fast as real time the drive's time passes, such as 10 or 0.1.
    read_only
        Refuse writes.
    faults
        A file (TOML) of what goes wrong, and when.
    restart_after_s
        Seconds, of the drive's time, until power comes back after a cut. Without it, a cut ends
        the session.
    trace
        A new file for the trace of every I/O, as "trace" and "replay" read it.
    control
        The socket for "control"; by default PATH.control, with the PATH of the drive's socket or
        file.
    expose
        The address of --nbd once more, to permit one that other machines can reach. Everybody who
        reaches it can read and write all of the drive, without a password or encryption.
    out
        Folder for the session's run folder.
    """
    from fourcorners.cli.output import say, tell
    from fourcorners.cli.show.served import show_session, watch
    from fourcorners.errors import EXIT_FAILED
    from fourcorners.running.interrupt import InterruptRequest
    from fourcorners.serving import served as serving

    with InterruptRequest() as asked:
        served = serving.serve(
            target,
            nbd=nbd,
            fuse=fuse,
            loop=loop,
            ublk=ublk,
            vhost_user=vhost_user,
            data=data,
            sync_data=sync_data,
            state=state,
            save_every_s=save_every_s,
            speed=speed,
            read_only=read_only,
            faults=faults,
            restart_after_s=restart_after_s,
            trace=trace,
            control=control,
            expose=expose,
            settings=settings_of(settings),
            io_limit_s=io_limit_s,
            seed=seed,
            out=out,
            command=command_line(),
        )
        with served:
            for note in served.notes:
                tell(note)
            shown = len(served.notes)
            if not quiet:
                for place in (served.nbd, served.file, served.device, served.vhost_user):
                    if place is not None:
                        say(place)
                if served.control is not None:
                    tell(f"Commands: fourcorners control {served.control}")
                tell("Ctrl-C ends it.")
            session = watch(served, asked, quiet=quiet)
        for note in served.notes[shown:]:
            tell(note)
    show_session(session, quiet=quiet)
    return EXIT_FAILED if session.failure is not None else 0


@app.command(
    help_epilogue=examples(
        "control /run/v.sock.control",
        "control /run/v.sock.control io-error on=read offset=1GiB length=64KiB times=1",
        "control /run/v.sock.control power-cut for=2s",
    ),
)
def control(
    server: Path,
    /,
    *words: str,
) -> int:
    """Show the state of a served drive, and inject faults into it while it is served.

    Parameters
    ----------
    server
        The control socket of "serve", or the socket or file of the drive.
    words
        status (the default), clear [ID], end, or a fault with its keys, such as "slow delay=5ms"
        (docs/serve.md). The answer is JSON.
    """
    from fourcorners.cli.output import print_json
    from fourcorners.serving import control as controlling

    print_json(controlling.control(server, words))
    return 0


@app.command(
    help_epilogue=examples("top /run/v.sock", "top v.img --once"),
)
def top(
    server: Path,
    /,
    *,
    once: Flag = False,
) -> int:
    """Show what a served drive does: rate, latency, queue, write amplification, cache, faults.

    Type a command of "control" and Enter, such as: power-cut for=2s. "q" and Ctrl-C leave, and the
    drive goes on.

    Parameters
    ----------
    server
        The control socket of "serve", or the socket or file of the drive.
    once
        Print half a second of it, and end.
    """
    from fourcorners.cli import top as showing
    from fourcorners.cli.output import say
    from fourcorners.serving import reading

    if once:
        for line in reading.sentences(reading.top(server)):
            say(line)
    else:
        showing.show_top(server)
    return 0


@app.command(
    help_epilogue=examples(
        "crash-test --serve sim:ocz-vector-256gb --workload './load {uri}' --check './check {uri}'",
        "crash-test --serve sim:wd6400aaks --workload './load {device}' --check './check {device}'",
    ),
)
def crash_test(
    *,
    serve: str,
    workload: str,
    check: str,
    cuts: int = 20,
    at_write: int | None = None,
    time_limit_s: Annotated[float, Parameter(name="--time-limit")] = 60.0,
    settings: Settings = (),
    seed: Seed = 1,
    json: Json = False,
    quiet: Silent = False,
) -> int:
    """Cut power while a program writes to a served drive, and check what is left, again and again.

    Parameters
    ----------
    serve
        The drive, as in "serve"; each cut begins with a new one.
    workload
        The command that writes. In it {uri} is the drive's NBD address, {file} its path as a file
        (FUSE), and {device} its block device (loop, as root). Power fails with one of its writes,
        and the command is killed.
    check
        The command that exits with 0 if everything is there that should be.
    cuts
        Number of cuts, each at a write that is drawn from the seed.
    at_write
        Cut power with this write only, to repeat a cut that failed.
    time_limit_s
        Seconds that either command may take.
    """
    from fourcorners import wording
    from fourcorners.cli.output import print_document, say, tell
    from fourcorners.errors import EXIT_DAMAGED
    from fourcorners.serving import crash_test as crashing

    tested = crashing.crash_test(
        serve,
        workload=workload,
        check=check,
        cuts=cuts,
        at_write=at_write,
        time_limit_s=time_limit_s,
        settings=settings_of(settings),
        seed=seed,
        tell=None if quiet or json else tell,
    )
    if json:
        print_document("crash-test", tested)
    elif not quiet:
        for cut in tested.failed:
            said = f": {cut.output}" if cut.output else ""
            say(f"After the cut at write {cut.write} the check failed ({cut.exit_code}){said}")
            say(f"To repeat it: --seed {seed} --at-write {cut.write}")
        say(f"{wording.count(len(tested.cuts), 'cut')}, {len(tested.failed)} failed")
    return EXIT_DAMAGED if tested.failed else 0
