"""Files that a person names for results: there whole or not at all, and never in the place of
something that is not ours.

Every output of the product goes through :class:`Output`. A device, a pipe, a link or a folder is
refused. A file is replaced if it is empty, if it is still as we wrote it, or if the person says so
(``--replace``).
"""

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.input_files import kind_of
from fourcorners.wording import visible

# A comment in HTML, XML and Markdown alike.
_SEAL = "<!-- written by fourcorners: {} -->\n"
_SEALED = re.compile(rb"<!-- written by fourcorners: ([0-9a-f]{64}) -->\n\Z")
_SEAL_BEGIN = b"written by fourcorners"
# Also of a seal that somebody added a remark to.
_TAIL_BYTES = 4096
_SEAL_BYTES = len(_SEAL.format("0" * 64))


class OutputError(UserError):
    """A file for a result that cannot be written, or is not to be replaced."""


def _bytes_of(text: str) -> bytes:
    """As UTF-8; a name of a file that is none, which may be quoted in it, loses what is not."""
    return text.encode("utf-8", "replace")


def sealed(text: str) -> str:
    """A document (HTML, XML, Markdown) with a last line by which we know it again, unless somebody
    changed it. What shows it obeys nothing in it: names come from drives, files and traces."""
    text = visible(text)
    if not text.endswith("\n"):
        text += "\n"
    return text + _SEAL.format(hashlib.sha256(_bytes_of(text)).hexdigest())


def is_sealed(path: Path) -> bool:
    """Whether a file is a document that we wrote, and nobody changed since."""
    content = path.read_bytes()
    seal = _SEALED.search(content[-_SEAL_BYTES:])
    return seal is not None and (
        hashlib.sha256(content[:-_SEAL_BYTES]).hexdigest() == seal[1].decode()
    )


def is_damaged(path: Path) -> bool:
    """Whether a file is a document that we wrote and that is no longer what it was."""
    return _SEAL_BEGIN in path.read_bytes()[-_TAIL_BYTES:] and not is_sealed(path)


@dataclass(frozen=True)
class Output:
    """A file that a person named for a result.

    ``replace`` permits to replace a file of any content; without it ``is_ours`` says of a file that
    is there whether we wrote it. ``None`` is for files that have no place for a mark of ours.
    """

    path: Path
    replace: bool = False
    is_ours: Callable[[Path], bool] | None = is_sealed

    def check(self) -> None:
        """Raises :class:`OutputError` if the file must not be written; called before hours of work
        as well as before writing."""
        if self.path.name in ("", "-"):
            raise OutputError(f'"{self.path}" is no file name: name a file to write')
        try:
            mode = os.lstat(self.path).st_mode  # of a link, not of what it names
        except FileNotFoundError:
            if not self.path.parent.is_dir():
                raise OutputError(
                    f"cannot write {self.path}: there is no folder {self.path.parent}"
                ) from None
            if not os.access(self.path.parent, os.W_OK | os.X_OK):
                raise OutputError(
                    f"cannot write {self.path}: the folder {self.path.parent} is read-only"
                ) from None
            return
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {os_reason(error)}") from error
        kind = kind_of(mode)
        if kind is not None:
            raise OutputError(f"{self.path} is {kind} and is left alone: name a file to write")
        if not self.replace and not self._is_replaceable():
            changed = "" if self.is_ours is None else ", and not as fourcorners wrote it"
            raise OutputError(
                f"{self.path} is there already{changed}: name another file, or add --replace to "
                "replace this one"
            )

    def _is_replaceable(self) -> bool:
        try:
            if self.path.stat().st_size == 0:
                return True
            return self.is_ours is not None and self.is_ours(self.path)
        except OSError as error:
            raise OutputError(f"cannot read {self.path}: {os_reason(error)}") from error

    def write(self, content: str | bytes) -> None:
        """Writes the file; raises :class:`OutputError`."""
        data = _bytes_of(content) if isinstance(content, str) else content
        self.fill(lambda file: file.write(data))

    def fill(self, write: Callable[[BinaryIO], object]) -> None:
        """Lets ``write`` write the file; raises :class:`OutputError`."""
        with self.replacing() as temporary, temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())

    @contextlib.contextmanager
    def replacing(self) -> Iterator[Path]:
        """A name beside the file, not taken yet, for what takes the file's place at the end.

        Raises :class:`OutputError` for what the file is, and for any ``OSError`` within.
        """
        self.check()
        path = self.path
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
        try:
            try:
                yield temporary
                # It may have become something else meanwhile.
                self.check()
                with contextlib.suppress(FileNotFoundError):
                    temporary.chmod(stat.S_IMODE(path.stat().st_mode))
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            flush_directory(path.parent)
        except OSError as error:
            raise OutputError(f"cannot write {path}: {os_reason(error)}", EXIT_FAILED) from error


def json_value(value: Any) -> Any:
    """In JSON's types: NaN and infinity are null, sums of integers are numbers, times are text, and
    what has a document of its own is that document."""
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if hasattr(value, "__struct_fields__"):
        # Loaded for it: help texts have no documents.
        from fourcorners.documents import plain

        return json_value(plain(value))
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value):
        return {one.name: json_value(getattr(value, one.name)) for one in fields(value)}
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def flush_directory(path: Path) -> None:
    """Makes the names in it safe."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
