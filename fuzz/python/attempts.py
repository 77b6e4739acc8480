"""Commands on foreign data: what is tried, what counts as a defect, and how values are spoilt."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fourcorners.cli import main
from fourcorners.errors import EXIT_INTERNAL
from fourcorners.target.real import RealTarget
from fourcorners.target.simulated import SimulatedTarget

CORPUS = Path(__file__).parent / "corpus"
HANG_S = 20
"""Of processor time, which other work on the machine does not lengthen."""
STILL_S = 15 * HANG_S
"""Of time by the clock, for what waits and does nothing."""
MEMORY_BYTES = 2 * 2**30
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 2**64, 10**30, 10**400, -(10**400)),
    *(1e20, -1e308, 1e-320, 0.5, float("nan"), float("inf"), "", "0", "-4", "1e400", "nan", "\0"),
    *("\ud800", "\u202e", "/", "../x", "x" * 5000, "²", "4k", "9" * 40 + " GiB", "a:b", "1e300 s"),
    *("\x1b]52;c;\x07", "complete", "2026-11-22T12:00:00Z", "9999-99-99T99:99:99Z"),
    *([], {}, [0], {"": 0}, [[]], [None], {"title": None}),
)
"""What nobody expects in the place of another value."""


class BegunError(SystemExit):
    """The command went on to its work, which is not what is tried here."""


class HangError(BaseException):
    """It took too long; no ``Exception``, so that nothing catches it on the way."""


class DefectError(AssertionError):
    """A command ended as it must not."""


def _begun(*_: object, **__: object) -> None:
    raise BegunError


@contextlib.contextmanager
def held() -> Iterator[None]:
    """No target does any I/O."""
    with contextlib.ExitStack() as stack:
        for kind in (RealTarget, SimulatedTarget):
            for method in ("run", "purge", "trim", "idle"):
                stack.enter_context(mock.patch.object(kind, method, _begun))
        yield


def attempt(command: Sequence[str]) -> str:
    """Carries out a command line; returns "done", "begun" or "refused".

    Raises :class:`DefectError` for an unexpected error, more than one sentence, a hang or more than
    2 GB of memory.
    """
    out, err = io.StringIO(), io.StringIO()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()

    def hang(*_: object) -> None:
        raise HangError

    before = {which: signal.signal(which, hang) for which in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    signal.alarm(STILL_S)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: int | None = main(command)
    except BegunError:
        code = None
    except HangError as error:
        raise DefectError(f"{command}: hangs") from error
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for which, handler in before.items():
            signal.signal(which, handler)
    said = err.getvalue()
    if code == EXIT_INTERNAL or "Traceback" in said or "unexpected" in said:
        raise DefectError(f"{command}: {said}")
    if code == 2 and not said.splitlines()[-1].startswith("fourcorners: "):
        raise DefectError(f"{command}: {said}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used) * 1024
    if grown > MEMORY_BYTES:
        raise DefectError(f"{command}: {grown} bytes after {time.monotonic() - started:.1f} s")
    return "begun" if code is None else "done" if code == 0 else "refused"


Mutation = dict[str, Any]
"""``place`` (keys from the top), ``act`` (replace, drop, again) and ``value``."""


@st.composite
def mutations(draw: st.DrawFn, document: Any) -> list[Mutation]:
    """A few changes of a document of dictionaries and lists."""
    return [draw(_mutation(document)) for _ in range(draw(st.integers(1, 3)))]


@st.composite
def _mutation(draw: st.DrawFn, document: Any) -> Mutation:
    place: list[Any] = []
    inner = document
    for _ in range(draw(st.integers(0, 7)) + 1):
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        if not keys:
            break
        place.append(draw(st.sampled_from(keys)))
        inner = inner[place[-1]]
        if not isinstance(inner, dict | list):
            break
    act = draw(st.sampled_from(["replace", "replace", "replace", "drop", "again"]))
    # What a later change goes into must not be another value for the next document.
    value = copy.deepcopy(draw(st.sampled_from(ODD_VALUES))) if act == "replace" else None
    return {"place": place, "act": act, "value": value}


def mutated(document: Any, changes: Sequence[Mutation]) -> Any:
    """The document with the changes; one whose place is gone is left out."""
    changed = json.loads(json.dumps(document))
    for change in changes:
        *way, last = change["place"] or [None]
        inner = changed
        with contextlib.suppress(KeyError, IndexError, TypeError):
            for key in way:
                inner = inner[key]
            if change["act"] == "replace":
                _ = inner[last]
                inner[last] = change["value"]
            elif change["act"] == "drop":
                del inner[last]
            elif isinstance(inner, list):
                inner.append(inner[last])
    return changed


def keep(kind: str, case: Any) -> Path:
    """Puts what failed into the corpus."""
    text = json.dumps(case, indent=1)
    path = CORPUS / kind / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text + "\n", "utf-8")
    return path


def corpus(kind: str) -> list[Path]:
    """Cases that failed once."""
    return sorted((CORPUS / kind).glob("*.json"))


def fuzz(kind: str, cases: st.SearchStrategy[Any], check: Any, seconds: float, first: int) -> int:
    """Tries cases until the time is over; returns how many failed, which are kept and printed."""
    end, tried, failed = time.monotonic() + seconds, 0, set()
    shown = time.monotonic()
    number = first
    while time.monotonic() < end:

        @seed(number)
        @settings(
            max_examples=200,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases)
        def one(case: Any) -> None:
            nonlocal tried
            if time.monotonic() >= end:
                return
            tried += 1
            try:
                check(case)
            except DefectError as error:
                # One case of each kind is enough.
                text = str(error).rpartition("unexpected ")[2][:60]
                if text not in failed:
                    failed.add(text)
                    print(f"{keep(kind, case)}: {error}", flush=True)

        one()
        number += 1
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"{kind}: {tried} tried, {len(failed)} defects", file=sys.stderr, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{kind}: {tried} tried, {len(failed)} defects, {peak:.1f} GB at most")
    return len(failed)
