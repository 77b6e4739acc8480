"""The machine that measures: processors, kernel threads, clock, power saving."""

from __future__ import annotations

from collections.abc import Iterator

from fourcorners import wording
from fourcorners.analysis.artefacts.artefact import Artefact
from fourcorners.analysis.artefacts.case import Case
from fourcorners.machine.conditions import Conditions

BUSY_SHARE_MIN = 0.9
"""A worker that computes or waits for a processor for more of its time than this has none left to
wait for the drive."""

WAIT_SHARE_MIN = 0.05
"""Time that an issuing thread was ready and had no processor, of all its time: that much of the
latency at queue depth 1 is not the drive's."""

STEAL_SHARE_MIN = 0.05

KERNEL_WORKERS_SHARE_MIN = 0.05
"""Of the CPU time."""

KERNEL_WORKERS_CPU_S_MIN = 0.01

POLLERS_WAIT_SHARE_MIN = 0.1

UNSTABLE_CLOCK_SOURCES = frozenset(["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"])
"""What Linux falls back to where the processor's counter is not to be trusted: a microsecond or
more per reading, jiffies a few milliseconds coarse."""

CLOCK_DRIFT_MIN = 1e-3
"""Time services adjust the clock by 500 ppm at most (``adjtimex``)."""

FREQUENCY_SHARE_MIN = 0.7
IDLE_EXIT_SHARE_MIN = 0.1
"""Of the mean latency, with less than two I/Os outstanding: deeper queues keep processors awake."""

IDLE_EXIT_S_MIN = 5e-6
"""The lightest idle states take a microsecond or two to leave, and no drive answers as fast."""

SHALLOW_QUEUE = 2.0

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
        name="host_saturated",
        title="The host was the limit",
        severity="severe",
        seen=(
            f"The workers computed, or waited for a processor, {wording.percent(min(busy, 1.0))} "
            f"of the time, {wording.percent(making)} of it to make data."
        ),
        effect="The host, not the drive, was the limit: the drive may be faster.",
        mend=(
            "Use more workers, larger requests, or content that is made faster (repeated), and a "
            "faster processor."
        ),
        evidence={"busy_share": busy, "generating_share": making, "workers": case.workers},
    )


def _contention(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    waited = _wait_share(case)
    steal = at.steal_share or 0.0
    if not _kept_waiting(at, waited) and steal < STEAL_SHARE_MIN:
        return
    parts = []
    if waited is not None:
        parts.append(
            f"an issuing thread waited for a processor {wording.percent(waited)} of the time"
        )
    if at.other_cpu_share is not None:
        parts.append(f"other programs used {wording.percent(at.other_cpu_share)} of all processors")
    if steal:
        parts.append(f"the hypervisor took {wording.percent(steal)} of them away")
    sentence = wording.sentence_list(parts)
    yield Artefact(
        name="cpu_contention",
        title="Processors shared with others",
        severity="moderate",
        seen=f"{sentence[0].upper()}{sentence[1:]}.",
        effect="Completions were noticed late: latencies are too long, rates too low.",
        mend="Stop other programs, use fewer workers, or bind workers with cpus=LIST.",
        evidence={
            "wait_share": waited,
            "other_cpu_share": at.other_cpu_share,
            "steal_share": at.steal_share,
            "cores": at.cores,
        },
    )


def _kept_waiting(at: Conditions, waited: float | None) -> bool:
    """Whether others did: they ran for as long as an issuing thread waited. Else it waited for
    threads of its own process, or for the kernel's, which served it."""
    if waited is None or waited < WAIT_SHARE_MIN:
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
    if share < KERNEL_WORKERS_SHARE_MIN:
        return
    count = case.conditions.kernel_workers or 0
    yield Artefact(
        name="kernel_workers",
        title="Requests handed to kernel workers",
        severity="moderate",
        seen=(
            f"io_uring handed requests to {wording.count(count, 'kernel worker')}, which used "
            f"{wording.percent(share)} of the CPU time."
        ),
        effect="Latencies include the hand-over to another thread and its waking.",
        mend='Use the engine "sync", which is faster here at queue depth 1.',
        evidence={"kernel_workers": count, "cpu_s": cpu_s, "cpu_share": share},
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
        name="sqpoll_starvation",
        title="SQPOLL without processors to spare",
        severity="moderate",
        seen=(
            f"{wording.count(at.pollers, 'polling kernel thread')} on "
            f"{wording.count(at.cores, 'processor')} waited for one "
            f"{wording.percent(share)} of the time."
        ),
        effect="Requests lay until the polling thread ran: latencies include that.",
        mend="Leave sqpoll out, or use fewer workers: each takes two processors.",
        evidence={"pollers": at.pollers, "cores": at.cores, "wait_share": share},
    )


def _clock(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    changed = at.clock_source_after is not None and at.clock_source_after != at.clock_source
    drifted = abs(at.clock_drift or 0.0) >= CLOCK_DRIFT_MIN
    if changed:
        seen = f"The clock source changed from {at.clock_source} to {at.clock_source_after}."
    elif at.clock_source in UNSTABLE_CLOCK_SOURCES:
        seen = f"The clock source is {at.clock_source}: the processor's counter is not trusted."
    elif drifted:
        seen = f"The clock ran {wording.percent(at.clock_drift or 0.0)} off the raw one."
    else:
        return
    yield Artefact(
        name="unstable_clock",
        title="Unstable clock",
        severity="moderate",
        seen=seen,
        effect="Short latencies are coarse or carry the clock's own cost; rates are off with it.",
        mend="Use a machine with a stable processor counter (tsc, arch_sys_counter), and let time "
        "services settle.",
        evidence={
            "clock_source": at.clock_source,
            "clock_source_after": at.clock_source_after,
            "clock_drift": at.clock_drift,
        },
    )


def _power_saving(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    parts = []
    if at.cpu_governor in _SLOW_GOVERNORS:
        parts.append(f"the frequency governor is {at.cpu_governor}")
    if at.cpu_frequency_share is not None and at.cpu_frequency_share < FREQUENCY_SHARE_MIN:
        parts.append(
            f"processors ran at {wording.percent(at.cpu_frequency_share)} of their highest "
            "frequency"
        )
    waking = None
    if at.idle_exit_s and case.latency_mean_s and case.mean_queue_depth < SHALLOW_QUEUE:
        waking = at.idle_exit_s / case.latency_mean_s
        if waking >= IDLE_EXIT_SHARE_MIN and at.idle_exit_s >= IDLE_EXIT_S_MIN:
            parts.append(
                f"leaving an idle state took {wording.duration(at.idle_exit_s)}, "
                f"{wording.percent(waking)} of the mean latency"
            )
    if at.link_power in _SLEEPING_LINKS:
        parts.append(f"the link's power policy is {at.link_power}")
    if at.suspended_s:
        parts.append(f"the disk was suspended for {wording.duration(at.suspended_s)}")
    if not parts:
        return
    sentence = wording.sentence_list(parts)
    yield Artefact(
        name="power_saving",
        title="Power saving",
        severity="moderate",
        seen=f"{sentence[0].upper()}{sentence[1:]}.",
        effect="Waking up is part of the latencies, mostly at shallow queues.",
        mend=(
            "Set the governor to performance, limit idle states (/dev/cpu_dma_latency), and the "
            "link's policy to max_performance."
        ),
        evidence={
            "cpu_governor": at.cpu_governor,
            "cpu_frequency_share": at.cpu_frequency_share,
            "idle_exit_s": at.idle_exit_s,
            "idle_exit_share": waking,
            "link_power": at.link_power,
            "suspended_s": at.suspended_s,
        },
    )
