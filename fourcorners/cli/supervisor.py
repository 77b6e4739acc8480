"""The command as two processes: one that works, and one that can always end.

A process does not go away, not even killed, while one of its threads hangs in the kernel: I/O on a
server that is away, on a frozen file system. The result may be written long since, and whoever
started the command would wait on. So it is a child that works. It says its exit code when all is
written; if it is still there some seconds later, the command ends without it. So it does when the
child hangs before that and the command is asked to end.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

# What a child gets to end in after it told its exit code: what is outstanding is waited for, for
# two seconds, and rings and large buffers take the kernel a moment.
_END_S = 3.0
# Between two looks at whether it told it.
_LOOK_S = 0.5
# How long a child that was asked to end is let hang in the kernel with its first thread, from where
# it hears nothing. What is outstanding elsewhere gets less.
_STUCK_S = 20.0
_FORWARDED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
# prctl(2)
_PR_SET_PDEATHSIG = 1


def supervised(work: Callable[[], int]) -> int:
    """Runs ``work`` in a child, and returns its exit code: 128 and the number of a signal that the
    child died of. Signals reach the child; if this process is killed, the child is as well."""
    if sys.platform != "linux":
        return work()
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_FORWARDED, signal.SIGCHLD})
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(told)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        code = work()
        _say(tell, code)
        return code
    os.close(tell)
    os.set_blocking(told, False)
    return _await(child, told)


def _say(tell: int, code: int) -> None:
    """Nothing is written from here on; whoever reads what was written need not wait."""
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os.write(tell, bytes([code]))
    os.close(tell)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)


def _is_kept(process: int) -> bool:
    """Whether its first thread hangs in the kernel, or has ended and others have not."""
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state in ("D", "Z")
    return False


def _await(child: int, told: int) -> int:
    code, told_at, asked, free_at = None, 0.0, None, time.monotonic()
    while True:
        came = signal.sigtimedwait({*_FORWARDED, signal.SIGCHLD}, _LOOK_S)
        if came is not None and came.si_signo in _FORWARDED:
            asked = signal.Signals(came.si_signo)
            # A terminal tells the child itself, and a code above 0 says that it was the kernel.
            if came.si_code <= 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, asked)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _as_shells_say(os.waitstatus_to_exitcode(status))
        now = time.monotonic()
        if not _is_kept(child):
            free_at = now
        if code is None:
            with contextlib.suppress(BlockingIOError):
                code, told_at = next(iter(os.read(told, 1)), None), now
        # On a busy machine it may be met in the kernel by chance, giving back its memory.
        if code is not None and now - told_at > _END_S and now - free_at > _END_S:
            _tell_that_it_stays(child)
            return code
        if code is None and asked is not None and now - free_at > _STUCK_S:
            _tell_that_it_stays(child)
            return 128 + asked


def _tell_that_it_stays(child: int) -> None:
    _tell(f"process {child} stays until the kernel lets go of its I/O")


def _as_shells_say(code: int) -> int:
    if code >= 0:
        return code
    number = -code
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    reason = ", as the system does when memory runs out" if number == signal.SIGKILL else ""
    _tell(
        f"the process that worked was ended by {name}{reason}: what it had saved is kept, and "
        "fourcorners resume continues a run"
    )
    return 128 + number


def _tell(sentence: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"fourcorners: {sentence}\n".encode())
