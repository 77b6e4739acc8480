"""docs/steady-foreign.md: the judges of steady state on drives that others designed."""

from collections.abc import Sequence

from fourcorners import wording
from fourcorners_validation.arena.steady.contest import (
    StoppedTrace,
    by_kind,
    is_falsely_steady,
    score,
)
from fourcorners_validation.arena.steady.contestants import CONTESTANTS, JUDGE
from fourcorners_validation.arena.steady.document import (
    DEPARTURES,
    SCORES,
    departure_rows,
    percent,
    score_row,
)
from fourcorners_validation.arena.tables import markdown_table

NAME = "steady-foreign.md"

FALSE_MAX = 0.02
"""Share of its stops that may be falsely steady."""


def falsely_steady(outcomes: Sequence[StoppedTrace]) -> list[str]:
    """The traces that the judge called steady wrongly, each in a sentence."""
    said = []
    for one in outcomes:
        stop = one.stops[JUDGE]
        if stop is None or not is_falsely_steady(stop, one.truth):
            continue
        said.append(
            f"{one.kind} {one.index}: steady after {wording.duration(stop.seconds)} at "
            f"{wording.rate(stop.value)}, but it is steady from "
            f"{wording.duration(one.truth.steady_from_s)} on at {wording.rate(one.truth.value)}."
        )
    return said


def result(outcomes: Sequence[StoppedTrace]) -> str:
    """How the judge meets its goal, in a sentence."""
    total = score(JUDGE, outcomes)
    false = len(falsely_steady(outcomes))
    return (
        f"The judge stopped {total.stopped} of {total.traces} traces, {false} of them falsely "
        f"({percent(total.falsely_steady)}; the goal is at most {percent(FALSE_MAX)})."
    )


def render_foreign_traces(outcomes: Sequence[StoppedTrace], *, seed: int) -> str:
    """The document for a corpus of that seed."""
    kinds = [(kind, *score_row(row)[1:]) for kind, row in by_kind(JUDGE, outcomes)]
    lines = [
        "# The judge of steady state on drives of other people's design",
        "",
        f"Written by `fourcorners arena steady --foreign --traces {len(outcomes)} --seed {seed} "
        "--write docs`. The drives are the programs of tests/specimens, small and with slow flash "
        "(fourcorners_validation/arena/steady/foreign.py), and half of them have variation of "
        "service times. Workloads, noise of the host, truths and contestants are those of "
        "[steady-state.md](steady-state.md).",
        "",
        "## Falsely steady",
        "",
        result(outcomes),
        "",
        *(f"- {sentence}" for sentence in falsely_steady(outcomes) or ("None.",)),
        "",
        "## Contestants",
        "",
        markdown_table(SCORES, [score_row(score(name, outcomes)) for name in CONTESTANTS]),
        "",
        "The judge, by specimen:",
        "",
        markdown_table(("specimen", *SCORES[1:]), kinds),
        "",
        "## Departures",
        "",
        markdown_table(DEPARTURES, departure_rows(outcomes)),
    ]
    return "\n".join(lines).rstrip() + "\n"
