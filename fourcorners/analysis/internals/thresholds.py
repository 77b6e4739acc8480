"""Thresholds that several estimators share, each with what chose it."""

UNSURE = 0.25
"""Half an interval over the value, above which nothing is said: a quantity that may as well be half
as large again says nothing that its reader could use."""

ALIKE = 1.1
"""Ratio up to which two rates are the same one: :data:`fourcorners.suites.probes.conflicts` reads
each place some thousand times, so that chance leaves less than a twentieth."""

APART = 1.2
"""Ratio from which two places are on different dies: even a queue of two commands gives 4/3, and
what lies between this and :data:`ALIKE` belongs to neither."""

TWICE = 1.93
"""Time over that of one page from which a read takes two: two, less :data:`ALIKE` of the part of a
command that is no reading."""
