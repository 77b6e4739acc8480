"""What the machine is, and what it did while something was measured.

:class:`~fourcorners.machine.observer.Observer` collects from ``/proc``, ``/sys`` and the path under
test; :class:`~fourcorners.machine.conditions.Conditions` is what it brings back.
``fourcorners.analysis.artefacts`` says what they do to a result.
"""
