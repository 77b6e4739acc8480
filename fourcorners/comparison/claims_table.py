"""What is claimed of the drives of many runs, beside what each run measured: a table for SQL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fourcorners.analysis.spec_sheet import claims_beside
from fourcorners.store.kept_runs import KeptRun

_COLUMNS = pa.schema(
    [
        ("run", pa.string()),
        ("quantity", pa.string()),
        ("claimed", pa.float64()),
        ("claimed_high", pa.float64()),
        ("relation", pa.string()),
        ("measured", pa.float64()),
        ("unit", pa.string()),
        ("share", pa.float64()),
        ("share_low", pa.float64()),
        ("share_high", pa.float64()),
        ("outcome", pa.string()),
        ("source", pa.string()),
        ("url", pa.string()),
    ]
)


def claims_table(runs: Sequence[KeptRun]) -> pa.Table:
    """A row for each claim about each run; docs/query.md describes the columns."""
    rows = []
    for kept in runs:
        for beside in claims_beside(kept.run.manifest, kept.run.findings):
            assert beside.claim is not None
            measured = beside.row or {}
            low, high = beside.share_interval or (None, None)
            rows.append(
                {
                    "run": kept.row.run,
                    "quantity": beside.quantity,
                    "claimed": beside.claim.value,
                    "claimed_high": beside.claim.high,
                    "relation": beside.claim.relation,
                    "measured": measured.get("value"),
                    "unit": beside.claim.unit,
                    "share": beside.share,
                    "share_low": low,
                    "share_high": high,
                    "outcome": beside.outcome,
                    "source": beside.claim.source,
                    "url": beside.claim.url,
                }
            )
    return pa.Table.from_pylist(rows, schema=_COLUMNS)
