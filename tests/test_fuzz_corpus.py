"""What the fuzzers of fuzz/python once found in run folders and suite files stays mended."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz" / "python"


def cases(kind: str) -> list[Path]:
    found = sorted((FUZZ / "corpus" / kind).glob("*.json"))
    assert found, kind
    return found


@pytest.fixture(scope="module")
def fuzzers() -> Iterator[tuple[Any, Any]]:
    sys.path.insert(0, str(FUZZ))
    import run_folders  # type: ignore[import-not-found]
    import suites  # type: ignore[import-not-found]

    yield run_folders, suites
    sys.path.remove(str(FUZZ))


@pytest.fixture(scope="module")
def sound(fuzzers: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    return fuzzers[0].make_seed(tmp_path_factory.mktemp("seed"))


@pytest.mark.parametrize("path", cases("run_folders"), ids=lambda path: path.stem)
def test_run_folders(path: Path, fuzzers: tuple[Any, Any], sound: Path) -> None:
    fuzzers[0].check(sound, json.loads(path.read_text("utf-8")))


@pytest.mark.parametrize("path", cases("suites"), ids=lambda path: path.stem)
def test_suites(path: Path, fuzzers: tuple[Any, Any]) -> None:
    fuzzers[1].check(json.loads(path.read_text("utf-8")))
