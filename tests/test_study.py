"""What the studies share: worker processes."""

from functools import partial
from pathlib import Path

import pytest

from fourcorners_validation.arena.drawn import run_all


def _fails_at_first(folder: Path, seed: int, index: int) -> int:
    if index == 0:
        raise ValueError("the first one fails")
    (folder / str(index)).touch()
    return index


def test_after_an_error_workers_begin_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the first one fails"):
        run_all(partial(_fails_at_first, tmp_path), 2000, seed=1, jobs=1, tell=str)
    # Some may have begun before the error was known.
    assert len(list(tmp_path.iterdir())) < 1999
