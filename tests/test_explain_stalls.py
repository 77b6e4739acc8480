"""Stalls that do not explain the whole slowdown are told where no other count of them is possible."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.collection import stalls

EVERY = 3
"""Parts from one stall to the next."""


def _stalling(waiting: Sequence[int], before: int = 0) -> FakeRun:
    """A drive that is overwritten in parts of 4 MiB. From the cliff on all writes take twice as
    long, and in one part of :data:`EVERY` so many of 32 requests wait for 0.3 s.

    Args:
        waiting: the requests that wait in the stalls, in turn.
        before: those that do in as many parts before the cliff.
    """
    run = FakeRun()
    for part in range(100):
        late = part >= 40
        stalled = part % EVERY == 1
        held = (waiting[part // EVERY % len(waiting)] if late else before) if stalled else 0
        seconds = (0.08 if late else 0.04) + 0.3 * (late and stalled)
        name = f"probe-overwrite/{part}"
        about: dict[str, Any] = {"block_bytes": 2**14, "queue_depth": 32, "stage": "overwrite"}
        run.add(name, "write", iops=256 / seconds, elapsed_s=seconds, **about)
        at_ns = np.array([10e6 if late else 5e6, 305e6])
        run.histograms[name, "write"] = (at_ns, at_ns, np.array([256 - held, held]))
    return run


@pytest.mark.parametrize(
    ("waiting", "before", "told"),
    [
        ([32], 0, True),
        ([33, 31, 32], 0, True),
        # Requests for some of the dies wait for these.
        ([20, 27, 24], 0, False),
        # The drive stalls for something else, whether it collects or not.
        ([32], 32, False),
    ],
)
def test_stalls_that_hold_up_all_requests_are_counted_whatever_else_is_slow(
    waiting: list[int], before: int, told: bool
) -> None:
    view = view_of(_stalling(waiting, before))
    found = view.once(stalls.find_stalls)
    assert found is not None
    assert found.explained < 0.8
    answer = stalls.spacing(view)
    assert (answer.value is not None) == told
    if told:
        assert answer.value == pytest.approx(EVERY * 4 * MIB, rel=0.01)
    else:
        assert answer.said.code == "collection_stalls.too_often"
