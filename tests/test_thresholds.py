"""docs/thresholds.md is of the constants that the code has now."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
_ROW = re.compile(r"^\| `([\w.]+)` \| ([^|]+) \|", re.MULTILINE)
_QUIET = re.compile(r"^No finding of these drives changes with: (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("thresholds", ROOT / "benches" / "thresholds.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_names_the_constants_of_the_code_with_their_values(bench: ModuleType) -> None:
    page = (ROOT / "docs" / "thresholds.md").read_text("utf-8")
    [quiet] = _QUIET.findall(page)
    told = dict(_ROW.findall(page))
    now = {one.title: bench.shown(one.value) for one in bench.constants(bench.modules())}
    again = "write the page anew by the command that its first line names"
    assert told, again
    assert not {*told, *re.findall(r"`([\w.]+)`", quiet)} - now.keys(), again
    assert told == {name: now[name] for name in told}, again
