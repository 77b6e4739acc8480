"""Thresholds that several estimators share, each with what chose it."""

UNSURE = 0.25
"""Half an interval over the value, above which nothing is said; and the difference of two ways to
one number, over it, from which they disagree. A choice: a quantity that may as well be a quarter
more or less does not tell one drive from the next."""

ALIKE = 1.1
"""Ratio up to which two rates, or times, are the same. What scatters is where the reads lie, whose
number makes chance smaller; see :data:`APART`."""

APART = 1.2
"""Ratio from which two places are on different dies. Even a queue of two commands gives 4/3, in the
mean of what a second die adds: ``drive/sim`` and theory alike. What lies between this and
:data:`ALIKE` is neither, so that a result never rests on which side of one number a rate fell."""

TWICE = 1.93
"""Time over that of one page from which a read takes two of them: twice the array's time, but once
what a command takes beside it, which makes it less than two."""
