"""Sentences of one page that cannot both be true."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fourcorners import wording
from fourcorners_validation.arena.sentences.page import Page, PageSentence

_EXCLUSIVE = (
    ("feels_the_same", "cliff"),
    ("feels_the_same", "kind_page-mapped"),
    ("feels_the_same", "sustained_writes_fall"),
    ("feels_the_same", "uneven_at_the_end"),
    ("feels_the_same", "feels_even_at_the_end"),
    ("even_at_the_end", "uneven_at_the_end"),
    ("no_slowing_down", "cliff"),
    ("no_slowing_down", "sustained_writes_fall"),
    ("cheap_writes", "sustained_writes_fall"),
    ("cheap_writes", "avoid_small_writes"),
    ("cheap_reads", "avoid_small_reads"),
    ("pauses_help", "pauses_do_not_help"),
    ("sheet_random_write_steady", "not_steady"),
)

_COSTS = {
    "read": ("cheap_reads", "dear_reads", "avoid_small_reads"),
    "write": ("cheap_writes", "dear_writes", "small_writes_cost", "avoid_small_writes"),
}

_ROUNDED = 0.01
"""Whether two figures of three digits are the same figure."""


def contradictions(page: Page) -> Iterator[tuple[PageSentence, str]]:
    """Each with one of its sentences, and what the other one says."""
    for one, other in _EXCLUSIVE:
        first, second = page.named(one), page.named(other)
        if first is not None and second is not None:
            yield first, f"the same page says: {second.text}"
    kept = page.findings.get("steadiness_consistency")
    cliff = page.named("cliff")
    if cliff is not None and kept is not None and kept.verdict == "holds":
        yield cliff, f"the same page says: {kept.text}"
    yield from _costs(page)
    yield from _pauses(page)


def _costs(page: Page) -> Iterator[tuple[PageSentence, str]]:
    """The page must have one number for the time of a small request."""
    kind = next((claim for claim in page.claims if claim.name.startswith("kind_")), None)
    for operation, names in _COSTS.items():
        said = [
            (claim, float(claim.numbers["value"]))
            for claim in page.claims
            if claim.name in (*names, f"sheet_{operation}_access")
        ]
        for claim, value in said[1:]:
            if abs(value / said[0][1] - 1) > _ROUNDED:
                yield claim, f"another sentence has {wording.duration(said[0][1])}"
        pattern = rf"a random {operation} (?:costs )?(?:only )?(\d\S* [a-zµ]+)(?! at queue)"
        told = None if kind is None else re.search(pattern, kind.text)
        if kind is not None and told is not None and said:
            own = wording.duration(said[0][1])
            if own != told[1]:
                yield kind, f"another sentence has {own} for a random {operation}"


def _pauses(page: Page) -> Iterator[tuple[PageSentence, str]]:
    """Advice to pause needs a finding that pauses help."""
    for claim in page.claims:
        if claim.name != "pauses_do_not_help" and claim.place == "summary":
            advised = re.search(r"\bpauses?\b", claim.text)
            if advised and not (page.value("idle_recovery") or page.value("recovery_time")):
                yield claim, "no finding says that pauses help"
