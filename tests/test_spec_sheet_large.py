"""The spec sheet's rates of large requests, of which a recording has few."""

import numpy as np
from analysis_fixture import MIB, FakeRun

from fourcorners.analysis import find
from fourcorners.analysis.spec_sheet import rows_of


def test_a_second_between_two_standstills_is_not_the_rate_of_large_writes() -> None:
    """A shingled disk stops for 1.2 s when it cleans a band; one size of five met no such stop."""
    run = FakeRun(capacity_bytes=10**9)
    usual, stop = 45 * 10**6, 1_200 * 10**6
    for block, seconds, iops, stops in ((2 * MIB, 1, 22.0, 0), (8 * MIB, 6, 3.0, 2)):
        id = f"transfer-size/write/{block}"
        run.add(id, "write", iops=iops, elapsed_s=seconds, pattern="random", block_bytes=block,
                queue_depth=1)  # fmt: skip
        latency_ns = np.array([usual, stop])
        run.histograms[id, "write"] = (latency_ns, latency_ns, np.array([16, stops]))
        run.rows[-1]["latency_max_s"] = (stop if stops else usual) / 1e9
    [row] = [row for row in rows_of(find(run)) if row["quantity"] == "sequential_write"]
    assert row["evidence"] == (f"transfer-size/write/{8 * MIB}",)


def test_a_few_large_requests_that_agree_have_the_interval_that_others_show() -> None:
    """Six of six were quick, and of those of the next size a half."""
    run = FakeRun(capacity_bytes=10**9)
    for block, counts in ((8 * MIB, (3, 3)), (32 * MIB, (6, 0))):
        id = f"transfer-size/read/{block}"
        run.add(id, "read", iops=1.0, elapsed_s=6, pattern="random", block_bytes=block,
                queue_depth=1)  # fmt: skip
        latency_ns = np.array([4, 17]) * 10**8
        run.histograms[id, "read"] = (latency_ns, latency_ns, np.array(counts))
    [row] = [row for row in rows_of(find(run)) if row["quantity"] == "sequential_read"]
    assert row["evidence"] == (f"transfer-size/read/{32 * MIB}",)
    low, high = row["interval"]
    assert low < row["value"] / 1.5
    assert high > 1.5 * row["value"]
