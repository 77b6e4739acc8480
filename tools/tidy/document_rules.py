"""The rules that documents name only what exists (commands, options, files, modules), and that the
map of the house has all rooms."""

import ast
import re
from collections.abc import Iterator

from cyclopts import App

from fourcorners.cli.app import app
from tools.tidy.python_rules import ROOMS
from tools.tidy.tree import PACKAGE, VALIDATION, Offence, Tree

_MAP = "ARCHITECTURE.md"
_HISTORY = "CHANGELOG.md"
"""It tells of what is gone."""

_CODE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_MADE = "docs/_build"
"""What `make` makes is not among the files."""

_COMMAND = re.compile(r"(?<![\w./:-])fourcorners (?!as )(?P<rest>[a-z][^\n`|]*)")
_MAKE = re.compile(r"(?<![\w-])make ([a-z][a-z-]*)")
_FILE = re.compile(
    r"(?<![\w./*-])((?:fourcorners|fourcorners_validation|benches|binding|docs|drive|execution|fuzz"
    r"|recording|serve|tests|tools|workload)/[\w./-]*\w)"
)
_ON_THE_MAP = re.compile(r"^ +(\w+/?(?:, \w+/?)*)(?:  |$)", re.MULTILINE)
_MODULE = re.compile(r"(?<![\w./])fourcorners(?:\.\w+)+")


def stale_names(tree: Tree) -> Iterator[Offence]:
    """What documents, and docstrings where they name modules, say by name is there."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", tree.texts["Makefile"], re.MULTILINE))
    for path, text in tree.texts.items():
        if path.endswith(".md") and path != _HISTORY:
            for found in _CODE.finditer(text):
                line = text.count("\n", 0, found.start()) + 1
                code = found.group().replace("\\\n", " ")
                yield from (Offence(path, line, said) for said in _stale(code, targets, tree))
        if path in tree.modules or (path.endswith(".md") and path != _HISTORY):
            for found in _MODULE.finditer(text):
                if not _is_there(found.group(), tree):
                    line = text.count("\n", 0, found.start()) + 1
                    yield Offence(path, line, f"there is no {found.group()}")


def rooms_on_the_map(tree: Tree) -> Iterator[Offence]:
    """ARCHITECTURE.md shows the rooms of the package in their order, and all folders beside it."""
    text = tree.texts[_MAP]
    drawn = text[text.index("```") : text.rindex("```")]
    shown = [name.strip("/ ") for row in _ON_THE_MAP.findall(drawn) for name in row.split(",")]
    folders = {path.partition("/")[0] for path in tree.texts if path.count("/") > 1}
    for name in sorted(folders - set(re.findall(r"[.\w]+", drawn))):
        yield Offence(_MAP, 1, f"the map does not have {name}/")
    inside = shown[shown.index(ROOMS[0]) :] if ROOMS[0] in shown else []
    rooms = [name for name in ROOMS if name not in (VALIDATION, "__main__")]
    if inside[: len(rooms)] != rooms:
        yield Offence(_MAP, 1, f"the rooms of {PACKAGE}, in their order, are {', '.join(rooms)}")


def _stale(code: str, targets: set[str], tree: Tree) -> Iterator[str]:
    for command in _COMMAND.finditer(code):
        yield from _stale_command(command["rest"])
    for target in _MAKE.findall(code):
        if target not in targets:
            yield f"there is no target {target} in the Makefile"
    for name in _FILE.findall(code):
        is_schema = f"{PACKAGE}/schemas/{name.partition('/')[2]}.schema.json" in tree.paths
        is_pattern = re.search(r"\b[A-Z]{3,}\.", name) is not None
        if not (name in tree.paths or is_schema or is_pattern or name.startswith(_MADE)):
            yield f"there is no {name}"


def _stale_command(rest: str) -> Iterator[str]:
    """``rest`` is what follows the program's name, up to the end of the line."""
    words = rest.split("#")[0].split()
    command: App = app
    path = []
    while words and words[0] in set(command):
        path.append(words[0])
        command = command[words.pop(0)]
    if not path:
        yield f"there is no command {rest.split()[0]}"
        return
    known = {name for one in command.assemble_argument_collection() for name in one.names}
    known |= {"--help", "--version"}
    for word in words:
        option = re.match(r"--[a-z][a-z-]*", word)
        if option and option.group() not in known:
            yield f"{PACKAGE} {' '.join(path)} has no option {option.group()}"


def _is_there(name: str, tree: Tree) -> bool:
    """Whether a dotted name is a module of the package, or something that one binds; what is below
    that, such as a method, is not looked at."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        path = "/".join(parts[:length])
        module = tree.modules.get(f"{path}.py") or tree.modules.get(f"{path}/__init__.py")
        if module is not None:
            return length == len(parts) or parts[length] in set(_bound(module))
    # Of the package itself: its table of public names is in strings.
    return len(parts) == 2


def _bound(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name for alias in node.names)
