"""The machine that measures: processors, kernel threads, clock, power saving."""

from __future__ import annotations

from collections.abc import Iterator

from fourcorners.analysis.artefacts.artefact import SHARE_NOTED, Artefact
from fourcorners.analysis.artefacts.case import Case
from fourcorners.machine.conditions import Conditions
from fourcorners.sentences import say

BUSY_SHARE_MIN = 0.9
"""A worker that computes or waits for a processor for more of its time than this has none left to
wait for the drive."""

KERNEL_WORKERS_CPU_S_MIN = 0.01
"""One tick of the clock that the kernel counts processor time by."""

POLLERS_WAIT_SHARE_MIN = 0.1
"""Twice :data:`~.artefact.SHARE_NOTED`: a thread that polls now and then waits for the very threads
that serve it."""

UNSTABLE_CLOCK_SOURCES = frozenset(["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"])
"""What Linux falls back to where the processor's counter is not to be trusted: a microsecond or
more per reading, jiffies a few milliseconds coarse."""

CLOCK_DRIFT_MIN = 1e-3
"""Time services adjust the clock by 500 ppm at most (``adjtimex``)."""

FREQUENCY_SHARE_MIN = 0.7
"""Of the highest: below it what a host does for an I/O takes half as long again. A choice."""

SHALLOW_QUEUE, IDLE_EXIT_SHARE_MIN = 2.0, 0.1
"""Outstanding I/Os, below which a processor may fall asleep between two of them, and the share of
their mean latency that waking up has to be."""

IDLE_EXIT_S_MIN = 5e-6
"""The lightest idle states take a microsecond or two to leave, and no drive answers as fast."""

_SLOW_GOVERNORS = frozenset(["conservative", "powersave"])
_SLEEPING_LINKS = frozenset(["med_power_with_dipm", "min_power", "min_power_with_partial"])


def detect(case: Case) -> Iterator[Artefact]:
    """What the machine did to the figures."""
    yield from _saturated(case)
    yield from _contention(case)
    yield from _kernel_workers(case)
    yield from _polling(case)
    yield from _clock(case)
    yield from _power_saving(case)


def _saturated(case: Case) -> Iterator[Artefact]:
    if case.cpu_s is None or case.workers is None or case.elapsed_s <= 0:
        return
    # The CPU time is the process's own, ramp included. A worker that is ready and has no processor
    # does not wait for the drive either.
    available_s = (case.elapsed_s + case.ramp_s) * case.workers
    busy = case.cpu_s / available_s + (_wait_share(case) or 0.0)
    if busy < BUSY_SHARE_MIN:
        return
    making = (case.generating_s or 0.0) / available_s
    yield Artefact(
        "host_saturated",
        "severe",
        say("artefact_host_saturated.seen", busy=min(busy, 1.0)),
        {"busy_share": busy, "generating_share": making, "workers": case.workers},
    )


def _contention(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    waited = _wait_share(case)
    steal = at.steal_share or 0.0
    if not _kept_waiting(at, waited) and steal < SHARE_NOTED:
        return
    shares = {"waited": waited, "others": at.other_cpu_share, "stolen": steal or None}
    parts = [
        say(f"artefact_cpu_contention.{name}", share=share)
        for name, share in shares.items()
        if share is not None
    ]
    yield Artefact(
        "cpu_contention",
        "moderate",
        say("artefact_cpu_contention.seen", parts=parts),
        {
            "wait_share": waited,
            "other_cpu_share": at.other_cpu_share,
            "steal_share": at.steal_share,
            "cores": at.cores,
        },
    )


def _kept_waiting(at: Conditions, waited: float | None) -> bool:
    """Whether others did: they ran for as long as an issuing thread waited. Else it waited for
    threads of its own process, or for the kernel's, which served it."""
    if waited is None or waited < SHARE_NOTED:
        return False
    if at.other_cpu_share is None or at.cores is None:
        return True
    return at.other_cpu_share * at.cores >= waited


def _wait_share(case: Case) -> float | None:
    """Part of its time that an issuing thread was ready and had no processor."""
    at = case.conditions
    if at.issuers_wait_s is None or not at.observed_s:
        return None
    return min(at.issuers_wait_s / at.observed_s, 1.0)


def _kernel_workers(case: Case) -> Iterator[Artefact]:
    cpu_s = case.conditions.kernel_workers_cpu_s
    if not cpu_s or cpu_s < KERNEL_WORKERS_CPU_S_MIN or not case.cpu_s:
        return
    share = min(cpu_s / case.cpu_s, 1.0)
    if share < SHARE_NOTED:
        return
    count = case.conditions.kernel_workers or 0
    yield Artefact(
        "kernel_workers",
        "moderate",
        say("artefact_kernel_workers.seen"),
        {"kernel_workers": count, "cpu_s": cpu_s, "cpu_share": share},
    )


def _polling(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if not at.pollers or at.cores is None:
        return
    used, waited = (at.pollers_cpu_s or 0.0) / at.pollers, at.pollers_wait_s or 0.0
    share = waited / (used + waited) if used + waited > 0 else 0.0
    # Each worker and each kernel thread that polls keep a core, and the device's interrupts want
    # one as well.
    crowded = 2 * at.pollers >= at.cores
    if not crowded and share < POLLERS_WAIT_SHARE_MIN:
        return
    yield Artefact(
        "sqpoll_starvation",
        "moderate",
        say("artefact_sqpoll_starvation.seen"),
        {"pollers": at.pollers, "cores": at.cores, "wait_share": share},
    )


def _clock(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    changed = at.clock_source_after is not None and at.clock_source_after != at.clock_source
    drifted = abs(at.clock_drift or 0.0) >= CLOCK_DRIFT_MIN
    if changed:
        said = say("artefact_unstable_clock.changed")
    elif at.clock_source in UNSTABLE_CLOCK_SOURCES:
        said = say("artefact_unstable_clock.untrusted")
    elif drifted:
        said = say("artefact_unstable_clock.drifted", drift=at.clock_drift or 0.0)
    else:
        return
    yield Artefact(
        "unstable_clock",
        "moderate",
        said,
        {
            "clock_source": at.clock_source,
            "clock_source_after": at.clock_source_after,
            "clock_drift": at.clock_drift,
        },
    )


def _power_saving(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    parts = []
    if at.cpu_governor in _SLOW_GOVERNORS:
        parts.append(say("artefact_power_saving.governor", name=at.cpu_governor))
    if at.cpu_frequency_share is not None and at.cpu_frequency_share < FREQUENCY_SHARE_MIN:
        parts.append(say("artefact_power_saving.frequency", share=at.cpu_frequency_share))
    waking = None
    if at.idle_exit_s and case.latency_mean_s and case.mean_queue_depth < SHALLOW_QUEUE:
        waking = at.idle_exit_s / case.latency_mean_s
        if waking >= IDLE_EXIT_SHARE_MIN and at.idle_exit_s >= IDLE_EXIT_S_MIN:
            parts.append(say("artefact_power_saving.idle", seconds=at.idle_exit_s, share=waking))
    if at.link_power in _SLEEPING_LINKS:
        parts.append(say("artefact_power_saving.link", name=at.link_power))
    if at.suspended_s:
        parts.append(say("artefact_power_saving.suspended", seconds=at.suspended_s))
    if not parts:
        return
    yield Artefact(
        "power_saving",
        "moderate",
        say("artefact_power_saving.seen", parts=parts),
        {
            "cpu_governor": at.cpu_governor,
            "cpu_frequency_share": at.cpu_frequency_share,
            "idle_exit_s": at.idle_exit_s,
            "idle_exit_share": waking,
            "link_power": at.link_power,
            "suspended_s": at.suspended_s,
        },
    )
