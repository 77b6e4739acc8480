"""The spec sheet as people read it: measured figures beside what the vendor claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.analysis.spec_sheet import TITLES, Beside, claims_about, lay_beside, rows_of
from fourcorners.catalog.claims import Claim, claims_of

from .run import ReportedRun

KNOWN_BETTER = 0.002
"""Width of an interval, relative, below which its bounds are figures of no use."""


def spec_sheet(
    run: ReportedRun, published: Sequence[str] = (), claims: Sequence[Claim] = ()
) -> list[Beside]:
    """A run's rows beside what is claimed of its drive, of the drives of the catalog in
    ``published``, and by ``claims``.

    Empty where a run measured no figure of the sheet, such as a replay, and nobody asked for the
    claims: a table of what was not measured says nothing.
    """
    rows = rows_of(run.findings)
    asked = [*(claim for drive in published for claim in claims_of(drive)), *claims]
    if not rows and not asked and not run.manifest.claims:
        return []
    return lay_beside(rows, list(dict.fromkeys([*claims_about(run.manifest), *asked])))


def spec_view(rows: Sequence[Beside]) -> list[dict[str, str]]:
    """The sheet's rows as texts, with their units; empty texts where there is nothing to say."""
    return [_texts(row) for row in rows]


def side_by_side(sheets: Sequence[Sequence[Mapping[str, str]]]) -> list[dict[str, Any]]:
    """Sheets of several drives, as :func:`spec_view` has them, as one table: a row for each figure
    that any of them has, and in it what each drive has of it, which may be nothing or, of several
    claims, several texts."""
    rows: dict[str, dict[str, Any]] = {}
    for index, sheet in enumerate(sheets):
        for text in sheet:
            row = rows.setdefault(
                text["quantity"], {"title": text["title"], "cells": [[] for _ in sheets]}
            )
            row["cells"][index].append(text)
    return [rows[quantity] for quantity in TITLES if quantity in rows]


def spec_json(rows: Sequence[Beside]) -> list[dict[str, Any]]:
    """The sheet's rows as JSON holds them."""
    return [
        {
            "quantity": row.quantity,
            "title": row.title,
            "measured": row.row,
            "claimed": None
            if row.claim is None
            else {
                "value": row.claim.value,
                "high": row.claim.high,
                "relation": row.claim.relation,
                "source": row.claim.source,
                "url": row.claim.url,
            },
            "share": row.share,
            "share_interval": row.share_interval,
            "outcome": row.outcome,
        }
        for row in rows
    ]


def _texts(row: Beside) -> dict[str, str]:
    measured: Mapping[str, Any] = row.row or {}
    unit = measured.get("unit")
    shown = _measured(measured.get("value"), unit) if measured else "not measured"
    tests = dict.fromkeys(str(id).partition("/")[0] for id in measured.get("evidence") or ())
    return {
        "quantity": row.quantity,
        "title": row.title,
        "measured": shown,
        "interval": interval_beside(measured.get("interval"), unit, shown),
        "conditions": str(measured.get("conditions") or ""),
        "tests": ", ".join(tests),
        "claimed": "" if row.claim is None else row.claim.words,
        "share": row.ratio_words,
        "outcome": row.outcome,
        "claim": row.words,
        "source": "" if row.claim is None else row.claim.source,
        "url": row.claim.url
        if row.claim is not None and row.claim.url.startswith("https://")
        else "",
    }


def interval_beside(bounds: object, unit: object, shown: str) -> str:
    """The interval beside its value, without a unit that is the value's; of what is known better
    than anybody asks only that it is; empty where it is one point, as a simulated drive may have
    it."""
    text = wording.interval(bounds, unit)
    if " to " not in text:
        return ""
    low, high = (float(bound) for bound in bounds)  # type: ignore[attr-defined]
    if low > 0 and high / low - 1 < KNOWN_BETTER:
        return f"within {wording.percent(KNOWN_BETTER, 1)}"
    if " " in text.partition(" to ")[0]:
        return text  # each end has a unit of its own
    return text.removesuffix(f" {shown.partition(' ')[2]}")


def _measured(value: object, unit: object) -> str:
    return "none" if value == 0 and unit == "s" else wording.quantity(value, unit)
