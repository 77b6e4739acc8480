"""Files that a person names to be read: regular ones, of a size that such a file may have.

Opening a pipe waits for a writer, and a device may have no end. Every file that a person names goes
through here before it is read.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from fourcorners.errors import UserError, os_reason

KINDS: dict[Callable[[int], bool], str] = {
    stat.S_ISLNK: "a link",
    stat.S_ISDIR: "a folder",
    stat.S_ISBLK: "a device",
    stat.S_ISCHR: "a device",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
}
"""What is no regular file, by what tells it from a mode."""

TEXT_BYTES_MAX = 2**18
"""Of a text that people write: drive files, suites, claims."""


def kind_of(mode: int) -> str | None:
    """What a mode says that is no regular file; ``None`` of one."""
    return next((name for is_kind, name in KINDS.items() if is_kind(mode)), None)


def check_name(path: str | Path) -> None:
    """Raises :class:`UserError` for a name that is no text: of a target or of what is kept with it,
    which run folders and the core hold as text."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise UserError(
            f"{path}: its name is not text in UTF-8: rename it, or name a link to it"
        ) from None


def check_regular(path: Path, what: str) -> None:
    """Raises :class:`UserError` unless it is a regular file, or a link to one.

    Args:
        path: what was named.
        what: how a sentence calls it, such as "the drive file".
    """
    try:
        kind = kind_of(path.stat().st_mode)
    except OSError as error:
        raise UserError(f"cannot read {what} {path}: {os_reason(error)}") from error
    if kind is not None:
        raise UserError(f"cannot read {what} {path}: it is {kind}; name a regular file")
    try:
        # What only the core will read is refused here as well. A pipe by now is not waited for.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        raise UserError(f"cannot read {what} {path}: {os_reason(error)}") from error


def is_file(path: Path) -> bool:
    """Whether there is such a file; raises :class:`UserError` where nobody may look."""
    try:
        return path.is_file()
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error


def text_of(path: Path, what: str) -> str:
    """The text in a file; raises :class:`UserError` for what is none, or far too long.

    ``what`` is as for :func:`check_regular`.
    """
    check_regular(path, what)
    try:
        # Should it have become a pipe since: opened so, it does not wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(TEXT_BYTES_MAX + 1)
    except OSError as error:
        raise UserError(f"cannot read {what} {path}: {os_reason(error)}") from error
    return decoded(content, f"{what} {path}")


def decoded(content: bytes, what: str) -> str:
    """The text of up to a byte more than :data:`TEXT_BYTES_MAX`; raises as :func:`text_of`."""
    if len(content) > TEXT_BYTES_MAX:
        limit = f"{TEXT_BYTES_MAX >> 10} KiB"
        raise UserError(f"cannot read {what}: it is longer than {limit}, which none is")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise UserError(f"cannot read {what}: it is not text in UTF-8") from None
