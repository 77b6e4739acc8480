"""What the rules read: the files that git knows, and what is wrong in them."""

import ast
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "fourcorners"
VALIDATION = "fourcorners_validation"
"""The second package, which knows all of the first; of the first only ``cli`` and the table of
public names know it."""

_READ = (".py", ".rs", ".js", ".c", ".h", ".md")


@dataclass(frozen=True)
class Offence:
    """One place that breaks a rule. ``path`` is relative to the project."""

    path: str
    line: int
    text: str


@dataclass(frozen=True)
class Tree:
    """The files of the project. Paths are relative to it."""

    texts: Mapping[str, str]
    """Source and documents, by path."""
    paths: frozenset[str] = frozenset()
    """Of all files and folders."""
    modules: Mapping[str, ast.Module] = field(init=False)
    """By path; those of both packages only."""

    def __post_init__(self) -> None:
        """Parses once for all rules."""
        parsed = {
            path: ast.parse(text)
            for path, text in self.texts.items()
            if path.startswith((f"{PACKAGE}/", f"{VALIDATION}/")) and path.endswith(".py")
        }
        object.__setattr__(self, "modules", parsed)

    @classmethod
    def of_project(cls) -> "Tree":
        """What git tracks, and what it would."""
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        texts = {}
        for path in listed:
            is_read = path.endswith(_READ) or path.startswith("benches/") or path == "Makefile"
            if is_read and (ROOT / path).is_file():
                texts[path] = (ROOT / path).read_text("utf-8")
        folders = {str(folder) for path in listed for folder in Path(path).parents}
        return cls(texts, frozenset({*listed, *folders}))
