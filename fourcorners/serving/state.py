"""The file of a served drive's state, which one server at a time takes over and replaces."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fourcorners.errors import UserError


@contextmanager
def only_server_of(state: Path) -> Iterator[None]:
    """Keeps other servers from this state meanwhile.

    The lock is on a file beside it, ``STATE.lock``, because the state itself is replaced as a
    whole. The system releases the lock of a server that was killed.

    Raises:
        UserError: another server has it, or the lock's file cannot be made.
    """
    # Links lead to where they do.
    place = Path(f"{os.path.realpath(state)}.lock")
    lock = _locked(place, state)
    try:
        yield
    finally:
        place.unlink(missing_ok=True)
        os.close(lock)


def _locked(place: Path, state: Path) -> int:
    """The descriptor of the lock's file."""
    while True:
        try:
            lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UserError(f"{place}: {error.strerror}; the state of a drive needs it") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A server that ended between the two has removed what was opened.
            if os.path.samestat(os.fstat(lock), place.lstat()):
                return lock
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(lock)
            raise UserError(
                f"the state {state} is served already: end that server first, or name another file"
            ) from error
        os.close(lock)
