"""How often ``fourcorners gate`` fails builds whose figures scatter as a baseline's do.

``tests/test_gate.py`` tries a few spreads, and ``benches/gate_alarms.py`` more of them, simulated
drives and a real file.
"""

import math

import numpy as np

from fourcorners.running import gating


def share_failed(
    deviation: float,
    *,
    builds: int,
    seed: int,
    slower: float = 1.0,
    figures: int = 14,
    baseline_runs: int = gating.RUNS,
    tolerance: float = gating.TOLERANCE,
    tails: float = math.inf,
) -> float:
    """The share of builds that fail, each against a baseline of its own.

    Args:
        deviation: of the logarithm of a figure from run to run.
        builds: how many are tried.
        seed: of the draws.
        slower: the builds' true rates over the baseline's.
        figures: of a gate, independent of each other.
        baseline_runs: of each baseline.
        tolerance: of the gate.
        tails: degrees of freedom of the Student's t that is drawn from; normal by default.
    """
    random = np.random.default_rng(seed)

    def draw(runs: int, middle: float) -> np.ndarray:
        size = (figures, runs)
        if math.isinf(tails):
            return random.normal(middle, deviation, size)
        scale = deviation / math.sqrt(tails / (tails - 2))
        return middle + scale * random.standard_t(tails, size)

    limit, level, failed = math.log(1 - tolerance), gating.FALSE_ALARMS_MAX / figures, 0
    for _ in range(builds):
        baseline, own = draw(baseline_runs, 0.0), draw(gating.RUNS, math.log(slower))
        if (own[:, 0] - baseline.mean(axis=1) >= limit).all():
            continue
        bounds = [
            gating.ratio_bounds(list(base), list(mine), 0.0, level)
            for base, mine in zip(baseline, own, strict=True)
        ]
        failed += any(bound is not None and math.log(bound[1]) < limit for bound in bounds)
    return failed / builds
