"""Rules about the Rust crates."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from tools.tidy.cycles import cycles
from tools.tidy.tree import Offence, Tree

_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))? )?use ((?:crate|super|self)::[^;]+);", re.MULTILINE)

Module = tuple[str, ...]
"""The names on the way from the crate's root."""


def module_cycles(tree: Tree) -> Iterator[Offence]:
    """No two modules of a crate need each other.

    A module and one inside it may: what both need stands in the outer one.
    """
    crates: dict[str, dict[Module, str]] = {}
    for path in tree.texts:
        source, inside, rest = path.partition("/src/")
        if inside and rest.endswith(".rs"):
            crates.setdefault(source, {})[_module(rest)] = path
    for modules in crates.values():
        needs = {
            path: {modules[other] for other in _needed(tree.texts[path], module, modules)}
            for module, path in modules.items()
        }
        for cycle in cycles(needs):
            yield Offence(cycle[0], 1, "cycle of modules: " + " -> ".join(cycle))


def _module(rest: str) -> Module:
    parts = PurePosixPath(rest).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def _needed(text: str, module: Module, modules: dict[Module, str]) -> Iterator[Module]:
    """Modules that it uses, neither above nor inside it."""
    for use in _USE.findall(re.sub(r"//.*", "", text)):
        for name in _spelt_out("".join(use.split())):
            other = _resolved(name.split("::"), module)
            while other and other not in modules:
                other = other[:-1]
            length = min(len(other), len(module))
            if other[:length] != module[:length]:
                yield other


def _spelt_out(use: str) -> Iterator[str]:
    """``a::{b, c::D}`` name by name."""
    before, brace, group = use.partition("{")
    if not brace:
        yield before
        return
    depth, begins = 0, 0
    inside = group.removesuffix("}")
    for at, sign in enumerate(f"{inside},"):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth == 0:
            yield from _spelt_out(before + inside[begins:at])
            begins = at + 1


def _resolved(names: Sequence[str], module: Module) -> Module:
    first, *rest = names
    if first == "crate":
        return tuple(rest)
    base = module if first == "self" else module[:-1]
    while rest and rest[0] == "super":
        base, rest = base[:-1], rest[1:]
    return (*base, *rest)
