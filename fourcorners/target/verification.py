"""Whether a target keeps what is written to it: ``fourcorners verify``.

Every 4 KiB block that is written carries a stamp (drive, run, address, number of the write,
checksum); a ledger knows which write each block should hold. Reads under a mixed load and a pass
over everything afterwards are compared with it.
"""

import os
import secrets
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack

import msgspec

from fourcorners import _core
from fourcorners.documents import Count, plain
from fourcorners.errors import EXIT_FAILED, UserError, os_reason
from fourcorners.manifest import TargetEntry
from fourcorners.recording import Recording
from fourcorners.target.open import open_target
from fourcorners.target.options import RealTargetOptions
from fourcorners.target.target import Target, Watch, check_seed
from fourcorners.wording import chosen_size
from fourcorners.workload import SECONDS_MAX, Stream, Workload

# What a stamp is for: the page of a file system, and of most drives.
BLOCK_BYTES = 4096

# Large enough that filling runs at the medium's pace; a load of one and of four blocks, as deep as
# completions have to overtake each other.
_FILL_BLOCK_BYTES = 128 * 1024
_FILL_QUEUE_DEPTH = 8
_LOAD_BLOCK_BYTES = (4096, 16 * 1024)
_LOAD_QUEUE_DEPTH = 16


@dataclass(frozen=True)
class Damage:
    """A block that does not hold what it should: its kind, its first byte on the target, and for
    a block of another place the first byte that it was written for."""

    kind: str
    address: int
    written_for: int | None


class VerificationDocument(
    msgspec.Struct, kw_only=True, tag_field="schema", tag="fourcorners/verification"
):
    """What ``fourcorners verify --json`` prints; blocks are of 4 KiB."""

    schema_version: Literal[1]
    target: TargetEntry
    status: Literal["complete", "interrupted", "failed"]
    reason: str | None
    blocks_checked: Count
    blocks_unchecked: Count
    blocks_damaged: Count
    blocks_forgotten: Count
    counts: dict[str, Count]
    """Damaged blocks by kind."""
    damages: list[Damage]


@dataclass(frozen=True)
class Verification:
    """What a verification found.

    ``checked`` and ``unchecked`` count blocks of 4 KiB that were read: what the second should hold
    was uncertain, because they were never written or were being written. ``damaged`` counts reads
    of bad blocks; ``damages`` has every block once, the first 100,000 of them. ``failure`` is why
    it ended early, ``interrupted`` whether it did. ``forgotten`` counts blocks of which the state
    was damaged: they are unchecked.
    """

    checked: int
    unchecked: int
    damaged: int
    damages: list[Damage]
    interrupted: bool
    failure: str | None
    target: TargetEntry
    forgotten: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Damaged blocks by kind."""
        return dict(Counter(damage.kind for damage in self.damages))

    def to_dict(self) -> dict[str, Any]:
        """The document that ``fourcorners verify --json`` prints."""
        found = VerificationDocument(
            schema_version=1,
            target=self.target,
            status=_status(self),
            reason=self.failure,
            blocks_checked=self.checked,
            blocks_unchecked=self.unchecked,
            blocks_damaged=len(self.damages),
            blocks_forgotten=self.forgotten,
            counts=self.counts,
            damages=self.damages,
        )
        document: dict[str, Any] = plain(found)
        return document


def _status(verification: Verification) -> Literal["complete", "interrupted", "failed"]:
    if verification.failure is not None:
        return "failed"
    return "interrupted" if verification.interrupted else "complete"


def verify(
    target: Target | str,
    *,
    seconds: float = 10.0,
    span_bytes: int | None = None,
    state: str | Path | None = None,
    again: bool = False,
    seed: int = 1,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **options: Unpack[RealTargetOptions],
) -> Verification:
    """Writes stamped blocks, reads them under a mixed load, and reads everything at the end.

    A device that was opened with a ``purge_method`` is erased first.

    Args:
        target: what to verify, or its locator; it must permit writing unless ``again`` is given.
        seconds: duration of the mixed load of random reads and writes.
        span_bytes: bytes from the start that are used; everything by default.
        state: file that keeps what every block should hold, 0.2 % of the target's size, so that a
            later run can verify ``again``; in memory by default.
        again: writes nothing; reads what the run that made ``state`` wrote, also one that was
            killed, and compares.
        seed: root of the load's randomness.
        watch: called some ten times a second; see :class:`fourcorners.target.target.Target`.
        tell: told what begins.
        options: see :class:`RealTargetOptions`; for a target that is named by its locator.

    Raises:
        UserError: what is asked for cannot be done; or, with the exit code 1, the target is no
            longer what it was when it was opened.
    """
    # Opening may make a file.
    check(
        seconds=seconds,
        span_bytes=span_bytes,
        state=state,
        again=again,
        seed=seed,
        size=options.get("size"),
    )
    if isinstance(target, Target):
        return _verify(target, seconds, span_bytes, state, again, seed, watch, tell)
    with open_target(target, seed=seed, **options) as opened:
        return _verify(opened, seconds, span_bytes, state, again, seed, watch, tell)


def _verify(
    target: Target,
    seconds: float,
    span_bytes: int | None,
    state: str | Path | None,
    again: bool,
    seed: int,
    watch: Watch | None,
    tell: Callable[[str], None],
) -> Verification:
    if again and target.purge_plan is not None:
        raise UserError("--again reads what is there: leave --purge out")
    if target.request_alignment_bytes > BLOCK_BYTES:
        raise UserError(f"{target.locator} cannot be verified: it has no requests of 4096 bytes")
    if not again and target.read_only_reason is not None:
        raise UserError(target.read_only_reason)
    whole = target.capacity_bytes
    if span_bytes is not None and span_bytes > whole:
        tell(
            f"{target.name}: --span {chosen_size(span_bytes)} is more than the "
            f"{chosen_size(whole)} that it has: all of it is verified"
        )
    count = min(span_bytes or whole, whole)
    count -= count % BLOCK_BYTES
    _check_size(count)
    # The last thing that can be refused, and it makes a file.
    core = _core_state(target, state, again, count)
    if core.state_damaged:
        tell(
            f"{target.name}: {state} is damaged: what {core.state_damaged} of its blocks should "
            "hold is not known, and they count as unchecked"
        )

    def run(activity: str, workloads: list[Workload]) -> Recording:
        tell(f"{target.name}: {activity}")
        for workload in workloads:
            try:
                recording = target.run(workload, watch, verification=core)
            except UserError as error:
                # Found at the look before the first write, or after others wrote in between.
                error.exit_code = EXIT_FAILED
                raise
            if recording.interrupted:
                break
        return recording

    steps = [("reading everything", _sequential(Stream.read, count, seed))]
    if not again:
        if target.purge_plan is not None:
            tell(f"{target.name}: {target.purge_plan}")
            target.purge()
        load = [
            Stream(
                read_share=0.5,
                block_bytes=block_bytes,
                alignment_bytes=BLOCK_BYTES,
                pattern="random",
                span_bytes=count,
                queue_depth_per_worker=_LOAD_QUEUE_DEPTH,
            )
            for block_bytes in _LOAD_BLOCK_BYTES
        ]
        steps = [
            ("writing everything", _sequential(Stream.write, count, seed)),
            ("mixed load", [Workload(load, duration_s=seconds, seed=seed)]),
            *steps,
        ]
    for activity, workloads in steps:
        if workloads is steps[-1][1]:
            core.end_load()
        recording = run(activity, workloads)
        if recording.interrupted:
            break
    return Verification(
        checked=core.checked,
        unchecked=core.unchecked,
        damaged=core.damaged,
        damages=[Damage(*damage) for damage in core.take()],
        interrupted=recording.interrupted,
        failure=recording.failure,
        target=target.describe(),
        forgotten=core.state_damaged,
    )


def check(
    *,
    seconds: float,
    span_bytes: int | None,
    state: str | Path | None,
    again: bool,
    seed: int,
    size: int | None = None,
) -> None:
    """Finds what is wrong with the arguments of :func:`verify`, and with the ``size`` of a file to
    be created, before the target is opened. Raises :class:`UserError`."""
    if not 0 < seconds <= SECONDS_MAX:
        raise UserError(f"--seconds {seconds:g}: use more than 0, and at most {SECONDS_MAX:g}")
    check_seed(seed)
    for count in (span_bytes, size):
        if count is not None:
            _check_size(count)
    if again and state is None:
        raise UserError("to verify again, name the state that the first run made: --state")
    if again and not Path(str(state)).is_file():
        raise UserError(f"cannot open the state {state}: there is no such file")
    if not again and state is not None and os.path.lexists(state):
        raise UserError(
            f"{state} is there already: name a new file with --state, or add --again to compare "
            "with what the run wrote that made this one"
        )


def _check_size(count: int) -> None:
    if count < _FILL_BLOCK_BYTES:
        raise UserError(f"verification needs at least {chosen_size(_FILL_BLOCK_BYTES)}")


def _core_state(
    target: Target, state: str | Path | None, again: bool, span_bytes: int
) -> "_core.Verification":
    try:
        if again:
            return _core.Verification.open(str(state), target.capacity_bytes)
        path = None if state is None else str(state)
        drive = zlib.crc32(_drive_name(target).encode())
        run = secrets.randbits(63)
        return _core.Verification(target.capacity_bytes, span_bytes, drive, run, path)
    except OSError as error:
        raise UserError(os_reason(error)) from error
    except ValueError as error:
        raise UserError(str(error)) from error


def _drive_name(target: Target) -> str:
    """What tells this drive from others, also after a restart."""
    serial = target.environment().get("device_serial")
    if target.kind == "device" and serial:
        return str(serial)
    if target.kind == "simulated":
        return target.locator
    return str(Path(target.locator).resolve())


def _sequential(make: Callable[..., Stream], count: int, seed: int) -> list[Workload]:
    """Everything once: large blocks, then what they leave over."""
    whole = count - count % _FILL_BLOCK_BYTES
    parts = [(0, whole, _FILL_BLOCK_BYTES), (whole, count - whole, BLOCK_BYTES)]
    return [
        Workload(
            [
                make(
                    "sequential",
                    block_bytes,
                    offset_bytes=offset,
                    span_bytes=length,
                    queue_depth_per_worker=_FILL_QUEUE_DEPTH,
                )
            ],
            ios=length // block_bytes,
            seed=seed,
        )
        for offset, length, block_bytes in parts
        if length
    ]
