"""Each rule of `python -m tools.tidy` sees what breaks it, and nothing else."""

from collections.abc import Callable, Iterable

import pytest

from tools.tidy import python_rules as rules
from tools.tidy.__main__ import beyond, loose
from tools.tidy.document_rules import rooms_on_the_map, stale_names
from tools.tidy.rust_rules import module_cycles
from tools.tidy.tree import Offence, Tree

Rule = Callable[[Tree], Iterable[Offence]]


def places(rule: Rule, **texts: str) -> list[tuple[str, int]]:
    """Path, without the package's name, and line of each offence in modules with these texts."""
    tree = Tree({f"fourcorners/{name.replace('__', '/')}.py": text for name, text in texts.items()})
    return [(offence.path.removeprefix("fourcorners/"), offence.line) for offence in rule(tree)]


def test_long_files() -> None:
    assert places(rules.file_length, long="x = 1\n" * 501, short="x = 1\n" * 500) == [
        ("long.py", 501)
    ]


def test_cycles_of_imports_are_seen_however_late_the_import_is() -> None:
    late = "def f():\n    import fourcorners.a\n"
    assert places(rules.import_cycles, a="import fourcorners.b\n", b=late) != []
    typed = "if TYPE_CHECKING:\n    from fourcorners import a\n"
    assert places(rules.import_cycles, a="from fourcorners import b\n", b=typed) != []
    assert places(rules.import_cycles, a="from fourcorners.b import X\n", b="import json\n") == []


@pytest.mark.parametrize(
    ("a", "b", "is_cycle"),
    [
        ("use crate::b::X;", "use crate::a::{Y, Z};", True),
        ("use super::b;", "pub(crate) use crate::{c::{D, E}, a::inner::F};", True),
        ("// use crate::b::X;", "use crate::a::Y;", False),
        ("use crate::b::X;", "use std::a::Y;", False),
    ],
)
def test_cycles_of_modules_in_rust(a: str, b: str, is_cycle: bool) -> None:
    found = list(module_cycles(Tree({"serve/src/a.rs": a, "serve/src/b/mod.rs": b})))
    assert bool(found) == is_cycle, found


def test_a_rust_module_and_one_inside_it_may_need_each_other() -> None:
    texts = {"serve/src/a.rs": "use self::b::X;\n", "serve/src/a/b.rs": "use super::Y;\n"}
    assert list(module_cycles(Tree(texts))) == []


def test_cycles_of_rooms_are_seen_where_no_module_is_in_one() -> None:
    [(room, _)] = places(
        rules.import_cycles,
        store__reader="from fourcorners.reporting import words\n",
        reporting__page="from fourcorners.store import reader\n",
        reporting__words="",
    )
    assert room in ("reporting", "store")


def test_the_table_of_public_names_is_not_imported() -> None:
    text = "from fourcorners import __version__, wording\n"
    assert places(rules.import_cycles, __init__="", a=text, wording="") == [("a.py", 1)]


def test_a_room_knows_those_before_it_only() -> None:
    assert places(
        rules.order_of_rooms,
        suites__tests="import fourcorners.reporting.html\n",
        reporting__html="from fourcorners.suites.tests import x\n",
        attic="",
    ) == [("suites/tests.py", 1), ("attic.py", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "def f(tmp): ...",
        "latSum = 2",
        "class QueueHelper: ...",
        "read_fraction = 0.5",
        "def f(transfer_bytes): ...",
    ],
)
def test_banned_words(text: str) -> None:
    assert places(rules.banned_identifiers, a=text) == [("a.py", 1)]


def test_words_that_hold_a_banned_one_are_not_banned() -> None:
    assert places(rules.banned_identifiers, a="latency_s = number = second = tmpfs = 1") == []
    assert places(rules.banned_identifiers, past="") == [("past.py", 1)]


def test_one_class_has_a_name() -> None:
    one, other = "class Outcome: ...", "x = 1\nclass Outcome: ...\nclass _Own: ..."
    assert places(rules.one_class_one_name, a=one, b=other, c="class _Own: ...") == [("b.py", 2)]
    assert (
        places(rules.one_class_one_name, a="class Parameters: ...", b="class Parameters: ...") == []
    )


def test_constants_that_nothing_explains() -> None:
    text = "# why\nA = 2\nB = 3\n\nC = 4\nD = 5  # why\nE = (6, 7)\n'''why'''\nF = 0\nMIB = 2**20\n"
    assert places(rules.unexplained_constants, a=text) == [("a.py", 5)]
    assert places(rules.unexplained_constants, a="A = -0.5 * 2\n\nB = {'x': 3}\nc = 4\n") == [
        ("a.py", 1)
    ]


def test_methods_without_docstring_of_their_own_or_inherited() -> None:
    base = 'class Base:\n    def f(self):\n        """Why."""\n'
    heir = "class Heir(Base):\n    def f(self): ...\n    def g(self): ...\n    def _h(self): ...\n"
    assert places(rules.undocumented_methods, a=base, b=heir) == [("b.py", 3)]


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("`fourcorners frobnicate`", "there is no command frobnicate"),
        ("`fourcorners arena explain --frobs 3`", "no option --frobs"),
        ("```sh\nfourcorners characterize x \\\n    --tset y\n```", "no option --tset"),
        ("`make coffee`", "no target coffee"),
        ("`fourcorners/suites/runner.py`", "there is no fourcorners/suites/runner.py"),
        ("see fourcorners.suites.runner.Runner", "there is no fourcorners.suites.runner.Runner"),
    ],
)
def test_documents_that_name_what_is_not_there(said: str, complaint: str) -> None:
    tree = Tree({"Makefile": "test:\n", "docs/a.md": said}, frozenset(["fourcorners/suites"]))
    assert [complaint in offence.text for offence in stale_names(tree)] == [True]


def test_documents_that_name_what_is_there() -> None:
    said = (
        "`fourcorners arena explain --drives 3 # --frobs`, `import fourcorners as fc`, "
        "`make test`, `fourcorners/suites`, fourcorners.suites.suite.Suite, fourcorners.open_target"
    )
    texts = {"docs/a.md": said, "fourcorners/suites/suite.py": "class Suite: ...\n"}
    tree = Tree({"Makefile": "test:\n", **texts}, frozenset(["fourcorners/suites"]))
    assert list(stale_names(tree)) == []


def test_the_map_has_all_rooms_in_their_order() -> None:
    names = [name for name in rules.ROOMS if name not in ("fourcorners_validation", "__main__")]
    rows = [f"   {name}/   what it does" for name in names]

    def complaints(*rows: str) -> list[str]:
        drawn = "\n".join(["```", "   serve/   devices", " Python: fourcorners/", *rows, "```"])
        texts = {"ARCHITECTURE.md": drawn, "serve/src/lib.rs": "", "fourcorners/cli/app.py": ""}
        return [offence.text for offence in rooms_on_the_map(Tree(texts))]

    assert complaints(*rows) == []
    assert len(complaints(*rows[1:])) == len(complaints(*reversed(rows))) == 1
    assert len(complaints(*rows[:3], f"   {', '.join(names[3:])}   both")) == 0
    texts = {"ARCHITECTURE.md": "\n".join(["```", *rows, "```"]), "serve/src/lib.rs": ""}
    assert [one.text for one in rooms_on_the_map(Tree(texts))] == ["the map does not have serve/"]


def test_exceptions_cover_so_many_and_say_when_fewer_are_enough() -> None:
    found = [Offence("a/b.py", line, "") for line in (1, 2)]
    assert beyond(found, {}) == found
    assert beyond(found, {"a/": 1}) == found[1:]
    assert loose(found, {"a/": 2, "c/": 1}) == {"c/": 0}
