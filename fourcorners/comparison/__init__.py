"""Runs against each other: how they differ, how sure that is, and whether a limit is kept.

It compares what was measured, recording by recording, of anything that has run folders: drives,
firmware, links, file systems, kernels, before and after. docs/compare.md says how.
"""

from fourcorners.comparison.check import Check, Gate
from fourcorners.comparison.comparing import compare
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.difference import Difference
from fourcorners.comparison.gate import check_gate, checks_of, parse_gate
from fourcorners.comparison.subject import ComparedRuns, parse_subject

__all__ = [
    "Check",
    "ComparedRuns",
    "Comparison",
    "Difference",
    "Gate",
    "check_gate",
    "checks_of",
    "compare",
    "parse_gate",
    "parse_subject",
]
