"""Every dangerous situation is refused with exit code 2 before a byte is written."""

import os
from pathlib import Path

import dangers_in_use  # noqa: F401 - each stages some of them
import dangers_open  # noqa: F401
import dangers_paths  # noqa: F401
import dangers_shared  # noqa: F401
import dangers_signatures  # noqa: F401
import dangers_words  # noqa: F401
import pytest
from dangers import DANGERS, digest

from fourcorners.cli import main
from fourcorners.errors import EXIT_USAGE


def test_there_are_enough_of_them() -> None:
    assert len(DANGERS) >= 130


@pytest.mark.parametrize("name", DANGERS)
def test_danger(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DANGERS[name](tmp_path) as danger:
        # What was made through a loop device reaches its file only when the kernel writes it back.
        os.sync()
        before = {path: digest(path) for path in danger.guarded}
        files = _files_in_dev()
        out = ["--out", str(tmp_path / "runs"), "--profile", "quick"]
        options = out if danger.command == "characterize" else []
        code = main([danger.command, *danger.arguments, *options])
        printed = capsys.readouterr()
        assert code == EXIT_USAGE, printed.err
        assert printed.out == ""
        [complaint] = printed.err.splitlines()
        assert complaint.startswith("fourcorners: ")
        assert danger.named in complaint
        assert _files_in_dev() == files
        assert {path: digest(path) for path in danger.guarded} == before
        assert not list((tmp_path / "runs").glob("*"))


def _files_in_dev() -> set[Path]:
    return {path for path in Path("/dev").iterdir() if path.is_file()}
