"""Rules about source files, most of them about the Python package."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.tidy.cycles import cycles
from tools.tidy.tree import PACKAGE, VALIDATION, Offence, Tree

LINES_MAX = 500
"""A file that is longer holds two ideas; issues and reviews of this project used the same limit."""

BANNED_WORDS = frozenset(
    [
        # They say nothing about what is inside.
        *("util", "utils", "helper", "helpers", "misc", "stuff", "manager", "foo"),
        # Abbreviations of words that the interface writes out.
        *("qd", "qdepth", "tmp", "lat", "bw", "cfg", "ctx", "idx", "num", "cnt", "pct", "perc"),
        # Python's times are float seconds and its sizes bytes: "_s" and "_bytes".
        *("msec", "usec", "sec", "secs", "millis", "micros", "kb", "mb", "gb", "tb"),
    ]
)
"""Parts of an identifier, as underscores and capitals divide it."""

BANNED_NAMES = {
    "read_fraction": "read_share",
    "transfer_bytes": "volume_bytes",
}
"""Whole identifiers, and the one that stands for it (docs/glossary.md)."""

BANNED_FILES = frozenset(
    [
        *("arm", "bend", "curve", "first_turn", "in_vain", "layout", "past", "shelf", "story"),
        *("sure", "unreached", "waypoint"),
    ]
)
"""Pictures that a newcomer cannot decode; the field has a word for each."""

ROOMS = (
    # What people write and read, and files.
    *("errors", "wording", "units", "input_files", "documents", "arrow", "writing"),
    *("sentences", "finding"),
    # What is issued, to what, on which machine, and what happened.
    *(
        "replayed",
        "jobs",
        "patterns",
        "workload",
        "machine",
        "recording",
        "catalog",
        "manifest",
        "target",
    ),
    # What recordings show, what tests are, what is kept and shown of them.
    *("analysis", "suites", "store", "reporting", "comparison", "importing", "keeping", "trace"),
    # Who carries it out, and who holds all of it against the truth.
    *("running", "serving", "jupyter", VALIDATION, "cli", "__main__"),
)
"""Folders and single modules of the package, and the package of validation: each knows only those
that stand before it (ARCHITECTURE.md)."""

UNITS = frozenset(["KIB", "MIB", "GIB", "NS", "US", "MS", "MINUTE_S", "HOUR_S", "SECTOR_BYTES"])
"""Constants that are definitions: nobody chose them."""


def file_length(tree: Tree) -> Iterator[Offence]:
    """Source files of at most :data:`LINES_MAX` lines."""
    for path, text in tree.texts.items():
        is_source = path.endswith((".py", ".rs", ".js", ".c", ".h")) or path.startswith("benches/")
        length = text.count("\n")
        if is_source and "/vendor/" not in path and length > LINES_MAX:
            yield Offence(path, length, f"{length} lines: split it by idea ({LINES_MAX} at most)")


def import_cycles(tree: Tree) -> Iterator[Offence]:
    """No module needs itself, however late it imports: lazy imports and those for types count.

    The package's own ``__init__`` is the table of public names, which nothing inside may import.
    """
    names = {_module(path): path for path in tree.modules}
    needs: dict[str, set[str]] = {}
    for path, module in tree.modules.items():
        name = _module(path)
        needs[name] = set()
        for needed, line in _imports(module, path, names):
            if needed == PACKAGE:
                yield Offence(path, line, "imports the table of public names: name the module")
            elif needed != name:
                needs[name].add(needed)
    needs.pop(PACKAGE, None)
    for cycle in cycles(needs):
        yield Offence(names[cycle[0]], 1, "cycle of imports: " + " -> ".join(cycle))
    rooms: dict[str, set[str]] = {}
    for name, needed_names in needs.items():
        rooms.setdefault(_room(name), set()).update(
            _room(other) for other in needed_names if _room(other) != _room(name)
        )
    for cycle in cycles(rooms):
        yield Offence(f"{PACKAGE}/{cycle[0]}", 1, "cycle of rooms: " + " -> ".join(cycle))


def order_of_rooms(tree: Tree) -> Iterator[Offence]:
    """Each room knows only those that stand before it in :data:`ROOMS`."""
    names = {_module(path): path for path in tree.modules}
    for path, module in tree.modules.items():
        if _module(path) == PACKAGE:
            continue
        room = _room(_module(path))
        if room not in ROOMS:
            yield Offence(path, 1, f"{room} has no place in the order of rooms (tools/tidy)")
            continue
        for needed, line in _imports(module, path, names):
            other = PACKAGE if needed == PACKAGE else _room(needed)
            if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                yield Offence(path, line, f"{room} does not know {other}")


def banned_identifiers(tree: Tree) -> Iterator[Offence]:
    """No name of the package has a part that is among :data:`BANNED_WORDS`, or is among
    :data:`BANNED_NAMES`."""
    for path, module in tree.modules.items():
        if Path(path).stem in BANNED_FILES:
            yield Offence(path, 1, "the file's name is a picture: use the field's word")
        for word in _words(Path(path).stem):
            if word in BANNED_WORDS:
                yield Offence(path, 1, f"the file's name has the word {word}")
        for name, line in _bound_names(module):
            if name in BANNED_NAMES:
                yield Offence(path, line, f"{name}: the word is {BANNED_NAMES[name]}")
            for word in _words(name):
                if word in BANNED_WORDS:
                    yield Offence(path, line, f"{name} has the word {word}")


def one_class_one_name(tree: Tree) -> Iterator[Offence]:
    """A public class has its name alone in the package; nested ones, and the ``Parameters`` of each
    test, which are never imported, count not."""
    places: dict[str, list[tuple[str, int]]] = {}
    for path, module in tree.modules.items():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append((path, node.lineno))
    for name, found in sorted(places.items()):
        if len(found) > 1 and name != "Parameters":
            for path, line in found[1:]:
                yield Offence(path, line, f"class {name} is a class of {found[0][0]} as well")


def unexplained_constants(tree: Tree) -> Iterator[Offence]:
    """A numeric constant of a module has a comment or docstring that says what chose it, its own or
    that of the lines that it stands among."""
    for path, module in tree.modules.items():
        lines = tree.texts[path].splitlines()
        for index, node in enumerate(module.body):
            names = _constant_names(node)
            if not names or not _is_number(node) or set(names) <= UNITS:
                continue
            after = module.body[index + 1] if index + 1 < len(module.body) else None
            if not _is_explained(node, after, lines):
                yield Offence(path, node.lineno, f"nothing says what chose {', '.join(names)}")


def undocumented_methods(tree: Tree) -> Iterator[Offence]:
    """Public methods have a docstring, their own or that of the class they are inherited from (of
    everything else ruff sees it)."""
    classes = {
        node.name: node
        for module in tree.modules.values()
        for node in module.body
        if isinstance(node, ast.ClassDef)
    }
    for path, module in tree.modules.items():
        for node in module.body:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            for method in _methods(node):
                if not method.name.startswith("_") and not _is_documented(
                    node, method.name, classes
                ):
                    name = f"{node.name}.{method.name}"
                    yield Offence(path, method.lineno, f"{name} has no docstring")


def _module(path: str) -> str:
    parts = Path(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(module: str) -> str:
    package, _, inside = module.partition(".")
    return inside.split(".")[0] if package == PACKAGE else package


def _imports(module: ast.Module, path: str, names: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Modules of both packages that a module imports anywhere in it, with their lines."""
    own = _module(path).split(".")
    folder = own if path.endswith("__init__.py") else own[:-1]
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) + 1 - node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            wanted = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in wanted:
            package = name.split(".")[0]
            if package not in (PACKAGE, VALIDATION) or name.startswith(f"{PACKAGE}._core"):
                continue
            while name not in names and "." in name:
                name = name.rpartition(".")[0]
            yield name, node.lineno


def _words(name: str) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")


def _bound_names(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno


def _constant_names(node: ast.stmt) -> list[str]:
    """Names in capitals that a statement binds; none for other statements."""
    if isinstance(node, ast.Assign):
        [target, *_] = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target = node.target
    else:
        return []
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [part.id.strip("_") for part in parts if isinstance(part, ast.Name)]
    return names if all(name.isupper() for name in names) else []


def _is_number(node: ast.stmt) -> bool:
    """Whether it binds numbers and nothing else; 0 and 1 need no reason."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if value is None:
        return False
    numbers = []
    for part in ast.walk(value):
        if isinstance(part, ast.Constant):
            if isinstance(part.value, bool) or not isinstance(part.value, int | float):
                return False
            numbers.append(part.value)
        elif not isinstance(
            part,
            ast.BinOp | ast.UnaryOp | ast.Tuple | ast.List | ast.operator | ast.unaryop
            | ast.expr_context,
        ):  # fmt: skip
            return False
    return not set(numbers) <= {0, 1}


def _is_explained(node: ast.stmt, after: ast.stmt | None, lines: Sequence[str]) -> bool:
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        return True
    if "#" in lines[(node.end_lineno or node.lineno) - 1]:
        return True
    # Up through the lines that it stands among, without a gap, to the comment on top of them.
    above = node.lineno - 2
    while above >= 0 and re.match(r"_?[A-Z][A-Z0-9_, ]*(:.*)? = ", lines[above]):
        above -= 1
    return above >= 0 and lines[above].startswith("#")


def _methods(owner: ast.ClassDef) -> list[ast.FunctionDef]:
    return [member for member in owner.body if isinstance(member, ast.FunctionDef)]


def _is_documented(owner: ast.ClassDef, method: str, classes: Mapping[str, ast.ClassDef]) -> bool:
    named = [member for member in _methods(owner) if member.name == method]
    if any(ast.get_docstring(member) is not None for member in named):
        return True
    bases = [base.id for base in owner.bases if isinstance(base, ast.Name)]
    return any(base in classes and _is_documented(classes[base], method, classes) for base in bases)
