"""Probes: tests that are made to show what is inside a drive.

Each is a test like any other, so that its run can be kept and analysed again; the estimators are
in :mod:`fourcorners.analysis.internals`, and docs/explain.md says what each probe does, which
signature it leaves and what confounds it.
"""

from fourcorners.suites.probes import (
    alignment,
    burst,
    caches,
    conflicts,
    content,
    depth,
    flush,
    overwrite,
    positions,
    seeks,
    sizes,
    trim,
)

PROBES = (
    alignment.DEFINITION,
    conflicts.DEFINITION,
    depth.DEFINITION,
    burst.DEFINITION,
    caches.DEFINITION,
    content.DEFINITION,
    flush.DEFINITION,
    overwrite.DEFINITION,
    positions.DEFINITION,
    seeks.DEFINITION,
    sizes.DEFINITION,
    trim.DEFINITION,
)
