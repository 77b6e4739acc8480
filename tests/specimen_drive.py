"""A specimen as a child process, driven over the pipes of docs/foreign-drives.md."""

import functools
import json
import random
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

READ, WRITE, FLUSH, TRIM, ZEROES, ADVANCE, ADVANCED, COMPLETED = 1, 2, 3, 4, 5, 16, 32, 33
FUA = 1
FOR_EVER_NS = 2**63
RECORD = struct.Struct("<BBBBIQQQ")  # kind, flags, content, percent, slot, time, offset, length
SOURCES = Path(__file__).parent / "specimens"


@functools.cache
def _programs() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="specimens-")


@functools.cache
def program(name: str) -> str:
    """The path of a specimen, compiled once in a session."""
    path = Path(_programs().name) / name
    source = SOURCES / f"{name}.c"
    flags = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{SOURCES}"]
    subprocess.run(["cc", *flags, "-o", str(path), str(source), "-lm"], check=True)
    return str(path)


def truths(name: str, *arguments: str) -> dict[str, Any]:
    """What a specimen with these arguments says is true of it, by the names of findings."""
    return _told(name, *arguments, "--truths")


def design(name: str, *arguments: str) -> dict[str, Any]:
    """What else it says of its design."""
    return _told(name, *arguments, "--design")


def _told(name: str, *arguments: str) -> dict[str, Any]:
    command = [program(name), *arguments]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, Any] = json.loads(said)
    return result


class SpecimenDrive:
    """One running specimen; times are integers in nanoseconds."""

    def __init__(self, name: str, *arguments: str, seed: int = 7) -> None:
        command = [program(name), *arguments]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._to, self._from = self._child.stdin, self._child.stdout
        self.greeting = self._line({"fourcorners_drive": 1, "seed": seed, "rings": ""})
        self.capacity_bytes: int = self.greeting["capacity_bytes"]
        self.now_ns = 0
        self.programmed_bytes = 0
        self._began_ns: dict[int, int] = {}
        self._next_slot = 0
        self._batch = bytearray()

    def __enter__(self) -> "SpecimenDrive":
        return self

    def __exit__(self, *_: object) -> None:
        self._to.close()
        self._from.close()
        self._child.wait()

    def _line(self, wish: dict[str, Any]) -> Any:
        self._to.write(json.dumps(wish).encode() + b"\n")
        self._to.flush()
        return json.loads(self._from.readline())

    def wish(self, do: str) -> Any:
        """A purge, a power cut or the counters, with nothing outstanding."""
        return self._line({"do": do})

    def submit(self, kind: int, offset: int = 0, length: int = 0, flags: int = 0) -> None:
        slot = self._next_slot
        self._next_slot += 1
        self._began_ns[slot] = self.now_ns
        self._batch += RECORD.pack(kind, flags, 0, 0, slot, self.now_ns, offset, length)

    def advance(self, steps: int = 1, until_ns: int = FOR_EVER_NS) -> list[int]:
        """Goes on by so many steps; gives the latencies of what completed, in order."""
        self._batch += RECORD.pack(ADVANCE, 0, 0, 0, 0, until_ns, 0, 0) * steps
        self._to.write(self._batch)
        self._to.flush()
        self._batch.clear()
        latencies_ns = []
        while steps:
            kind, _, _, _, slot, time_ns, offset, _ = RECORD.unpack(self._from.read(RECORD.size))
            assert time_ns >= self.now_ns
            self.now_ns = time_ns
            if kind == COMPLETED:
                assert offset == 0
                latencies_ns.append(time_ns - self._began_ns.pop(slot))
            else:
                assert kind == ADVANCED
                self.programmed_bytes = offset
                steps -= 1
        self._next_slot = max(self._began_ns, default=-1) + 1
        return latencies_ns

    def drain(self) -> list[int]:
        """Goes on until nothing is outstanding, by steps sent in bulk, and so perhaps further."""
        latencies_ns: list[int] = []
        span_ns = 10**6
        while self._began_ns:
            latencies_ns += self.advance(min(len(self._began_ns), 500), self.now_ns + span_ns)
            span_ns *= 2
        return latencies_ns

    def run(self, requests: Iterator[tuple[int, int, int]], depth: int) -> list[int]:
        """Keeps `depth` requests outstanding until the requests (kind, offset, length) end."""
        latencies_ns: list[int] = []
        for request in requests:
            self.submit(*request)
            if len(self._began_ns) >= depth:
                latencies_ns += self.advance()
        while self._began_ns:
            latencies_ns += self.advance()
        return latencies_ns

    def write_all(self, requests: Iterator[tuple[int, int, int]]) -> None:
        """Hands over requests by hundreds and waits for each hundred: quicker than `run`."""
        for number, request in enumerate(requests):
            self.submit(*request)
            if number % 500 == 499:
                self.drain()
        self.drain()


def rate(drive: SpecimenDrive, requests: Iterator[tuple[int, int, int]], depth: int = 1) -> float:
    """Bytes a second of these requests."""
    total_bytes, begin_ns = 0, drive.now_ns

    def counted() -> Iterator[tuple[int, int, int]]:
        nonlocal total_bytes
        for request in requests:
            total_bytes += request[2]
            yield request

    drive.run(counted(), depth)
    return total_bytes * 1e9 / (drive.now_ns - begin_ns)


def at_random(
    kind: int, count: int, span_bytes: int, size_bytes: int, seed: int = 1
) -> Iterator[tuple[int, int, int]]:
    """Requests of one kind and size at random places of a span."""
    draw: Callable[[int], int] = random.Random(seed).randrange
    return ((kind, draw(span_bytes // size_bytes) * size_bytes, size_bytes) for _ in range(count))


def in_order(
    kind: int, span_bytes: int, size_bytes: int, begin_bytes: int = 0
) -> Iterator[tuple[int, int, int]]:
    """Requests of one kind and size that cover a span once."""
    places = range(begin_bytes, begin_bytes + span_bytes, size_bytes)
    return ((kind, place, size_bytes) for place in places)
