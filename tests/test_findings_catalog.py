"""The catalog of findings, its resolver, and the sentences that word what estimators say."""

import ast
import graphlib
import string
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

from fourcorners import analysis, sentences
from fourcorners.analysis.internals import resolver
from fourcorners.analysis.internals.catalog import CATALOG, ValueKind
from fourcorners.analysis.internals.link import command_queue
from fourcorners.sentences import say, sentence

FILES: dict[str, dict[str, dict[str, str]]] = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in Path(str(files(sentences))).glob("*.toml")
}
TABLE = {name: section for table in FILES.values() for name, section in table.items()}
OWN_SECTIONS = {"any", "futile", "drift", "not_probed", "explanation", "durability"}
OWN_SECTIONS |= {"assumption", "contradiction", "collection_stalls"}
"""Sections of sentences that are no single finding's."""


def _estimators() -> Iterator[ast.AST]:
    """Every node of their source."""
    for path in Path(str(files(analysis))).rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text("utf-8")))


def _strings(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def test_each_finding_needs_others_of_the_catalog_and_never_itself() -> None:
    names = [row.name for row in CATALOG]
    assert len(names) == len(set(names))
    needs = {row.name: set(row.needs) for row in CATALOG}
    assert set().union(*needs.values()) <= set(names)
    list(graphlib.TopologicalSorter(needs).static_order())


def test_each_finding_names_what_it_assumes() -> None:
    """But for those about what does not fit, which claim nothing about the drive."""
    silent = [row.name for row in CATALOG if not row.assumes and row.kind is not ValueKind.ODD]
    assert silent == []


def test_an_estimator_sees_only_what_its_row_says_that_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = FakeRun()
    for size in (131_072, 1_048_576):
        iops = 1 / (1e-6 + size / 5e8)
        run.add(f"probe-depth/x/{size}", "read", iops=iops, of="written", block_bytes=size)
    [row] = [row for row in CATALOG if row.name == "link"]
    nosy = replace(row, estimator=lambda view: view.answer("dies"))
    monkeypatch.setitem(resolver._ROWS, "link", nosy)
    with pytest.raises(AssertionError, match="does not say that it needs dies"):
        resolver.Resolver(run).finding("link")


def test_every_section_of_sentences_is_a_findings() -> None:
    assert set(FILES["internals"]) - OWN_SECTIONS == {row.section for row in CATALOG} - {
        "volatile_write_cache",
        "power_loss_protection",
        "collection_stall_length",
        "collection_stall_spacing",
    }


def test_no_section_is_in_two_files() -> None:
    assert len(TABLE) == sum(map(len, FILES.values()))


def test_every_code_has_a_sentence() -> None:
    names = {name for section in TABLE.values() for name in section}
    whole = {f"{section}.{name}" for section, names in TABLE.items() for name in names}
    calls = [n for n in _estimators() if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    codes = {code for n in calls if ast.unparse(n.func) == "say" for code in _strings(n.args[0])}
    told = {code for n in calls if ast.unparse(n.func) in ("_told", "_plainly")
            for code in _strings(n.args[0])}  # fmt: skip
    assert len(codes) > 100
    # Those that end with a dot are put together from parts.
    assert {code for code in codes if code not in names | whole and code[-1] != "."} == set()
    assert told <= TABLE["explanation"].keys()


def test_every_sentence_is_said_by_an_estimator() -> None:
    strings = {text for node in _estimators() for text in _strings(node)}
    said = {text.partition(".")[2] or text for text in strings} | strings
    unused = {
        f"{section}.{name}"
        for section, names in TABLE.items()
        for name in names
        if name not in said and not name.endswith("_by")
    }
    assert unused == set()


def test_sentences_are_well_formed() -> None:
    for section, names in TABLE.items():
        for name, template in names.items():
            parts = list(string.Formatter().parse(template))
            assert all(field for _, field, _, _ in parts if field is not None), (section, name)
            clause = section == "assumption"
            if (
                not clause
                and section in FILES["internals"]
                and not any(spec and spec.startswith("said") for _, _, spec, _ in parts)
            ):
                assert template[0].isupper() or template[0] == "{", (section, name)


def test_a_sentence_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        sentence(say("mapping_unit.never_said"))
    with pytest.raises(KeyError):
        sentence(say("mapping_unit.smallest"))


def test_points_are_picked_by_what_they_are_not_by_their_names() -> None:
    run = FakeRun()
    run.add("probe-depth/random/1", "read", iops=1.0, pattern="random", of="written")
    run.add("probe-depth/random/2", "read", iops=1.0, pattern="random", sentinel=1)
    run.add("probe-depth/odd", "read", iops=1.0, pattern="random")
    assert [m.recording for m in command_queue.RANDOM(view_of(run))] == ["probe-depth/odd"]
