"""Files of ``/proc`` and ``/sys``: absent or unreadable ones say nothing."""

from pathlib import Path


def text(path: Path) -> str | None:
    """The content without surrounding space; ``None`` when there is none."""
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The whole number in a file."""
    try:
        return int(text(path) or "")
    except ValueError:
        return None


def difference(before: float | None, after: float | None) -> float | None:
    """Growth of a counter; ``None`` where either reading is missing."""
    return None if before is None or after is None else after - before
