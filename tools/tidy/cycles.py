"""Ways around among things that need each other."""

import graphlib
from collections.abc import Iterator, Mapping


def cycles(needs: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Ways around, until one link of each is taken out."""
    left = {name: sorted(others) for name, others in sorted(needs.items())}
    while True:
        try:
            graphlib.TopologicalSorter(left).prepare()
        except graphlib.CycleError as error:
            cycle = error.args[1]
            yield list(reversed(cycle))
            # The sorter names a node before the one that needs it.
            left[cycle[1]].remove(cycle[0])
        else:
            return
