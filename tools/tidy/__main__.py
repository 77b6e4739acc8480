"""Checks what ruff, mypy and clippy do not: the rules of this house (CONTRIBUTING.md, "Style").

`make lint` runs it. Each rule reads the files that git knows and says what breaks it. What a rule
does not hold for yet stands in `exceptions.toml`, as a number of offences for each folder or file:
it may only become smaller.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tools.tidy.document_rules import rooms_on_the_map, stale_names
from tools.tidy.python_rules import (
    banned_identifiers,
    file_length,
    import_cycles,
    one_class_one_name,
    order_of_rooms,
    undocumented_methods,
    unexplained_constants,
)
from tools.tidy.rust_rules import module_cycles
from tools.tidy.tree import Offence, Tree

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")

Rule = Callable[[Tree], Iterable[Offence]]

RULES: tuple[Rule, ...] = (
    file_length,
    import_cycles,
    module_cycles,
    order_of_rooms,
    banned_identifiers,
    one_class_one_name,
    unexplained_constants,
    undocumented_methods,
    stale_names,
    rooms_on_the_map,
)


def beyond(offences: Sequence[Offence], allowed: Mapping[str, int]) -> list[Offence]:
    """The offences that no exception covers. An exception, a folder or file with how many offences
    it may have, covers them in the order in which they were found."""
    left = Counter(allowed)
    rest = []
    for offence in offences:
        room = next((room for room in allowed if offence.path.startswith(room)), None)
        if room is None or left[room] == 0:
            rest.append(offence)
        else:
            left[room] -= 1
    return rest


def loose(offences: Sequence[Offence], allowed: Mapping[str, int]) -> dict[str, int]:
    """Exceptions that allow more than there is, and what there is."""
    found = Counter(
        next((room for room in allowed if offence.path.startswith(room)), "")
        for offence in offences
    )
    return {room: found[room] for room, count in allowed.items() if found[room] < count}


def main() -> int:
    """Prints what breaks a rule; returns 1 if anything does."""
    tree = Tree.of_project()
    exceptions = tomllib.loads((EXCEPTIONS).read_text("utf-8"))
    failed = False
    for rule in RULES:
        allowed = exceptions.get(rule.__name__, {})
        offences = sorted(rule(tree), key=lambda offence: (offence.path, offence.line))
        for offence in beyond(offences, allowed):
            failed = True
            print(f"{offence.path}:{offence.line}: {offence.text} [{rule.__name__}]")
        for room, count in loose(offences, allowed).items():
            print(f"{EXCEPTIONS.name}: {rule.__name__}: {room} = {count} is enough now")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
