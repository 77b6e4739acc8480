"""A drive of your own behind fourcorners, in Python: the reference child over pipes.

    fourcorners characterize "exec:python3 drive.py"

docs/foreign-drives.md describes the protocol. Replace ``Drive`` by your simulator. As it is, the
drive has eight dies that serve one command each, 60 us for a read and 250 us for a write.
"""

import heapq
import json
import struct
import sys
from pathlib import Path

READ, WRITE, FLUSH, TRIM, WRITE_ZEROES, ADVANCE, ADVANCED, COMPLETED = 1, 2, 3, 4, 5, 16, 32, 33
RECORD = struct.Struct("<BBBBIQQQ")  # kind, flags, content, percent, slot, time, offset, length
PAGE_BYTES = 4096


class Drive:
    """The model: when a request that is handed over now completes. What is written is durable when
    it completes, and the drive's state is how much it has programmed."""

    name = "Eight dies in Python"
    capacity_bytes = 64_000_000_000
    can = ("purge", "trim", "write-zeroes", "power-cut", "save", "counters")
    dies = 8
    programmed_bytes = 0

    def __init__(self) -> None:
        self.purge()

    def completion_ns(self, now_ns: int, kind: int, offset: int, length: int) -> int:
        if kind in (TRIM, WRITE_ZEROES):
            return now_ns
        if kind == FLUSH:
            return max(now_ns, self.last_write_ns)
        latest_ns = now_ns
        for page in range(offset // PAGE_BYTES, -(-(offset + length) // PAGE_BYTES)):
            die = ((page * 0x9E3779B97F4A7C15) % 2**64) >> 61
            service_ns = 60_000 if kind == READ else 250_000
            self.free_ns[die] = max(self.free_ns[die], now_ns) + service_ns
            latest_ns = max(latest_ns, self.free_ns[die])
            self.programmed_bytes += PAGE_BYTES if kind == WRITE else 0
        if kind == WRITE:
            self.last_write_ns = max(self.last_write_ns, latest_ns)
        return latest_ns

    def purge(self) -> None:
        self.free_ns = [0] * self.dies
        self.last_write_ns = 0

    def save(self, path: str) -> None:
        with Path(path).open("x") as file:
            json.dump({"programmed_bytes": self.programmed_bytes}, file)

    def load(self, path: str) -> None:
        self.programmed_bytes = json.loads(Path(path).read_text())["programmed_bytes"]


def granted(drive: Drive, wish: dict) -> dict:
    """The answer to what the host asks for rarely."""
    match wish["do"]:
        case "purge":
            drive.purge()
        case "power-cut":
            return {"done": True, "lost": []}
        case "counters":
            pages = drive.programmed_bytes // PAGE_BYTES
            return {"done": True, "counters": {"programmed_pages": pages}}
        case "save":
            drive.save(wish["path"])
        case "load":
            drive.load(wish["path"])
        case _:
            return {"error": "this drive cannot do that"}
    return {"done": True}


def serve(drive: Drive) -> None:
    """The conversation with the host, until it ends it."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def say(answer: dict) -> None:
        sink.write(json.dumps(answer).encode() + b"\n")
        sink.flush()

    json.loads(source.readline())  # its version, a seed, and rings that this child does not use
    say(
        {
            "fourcorners_drive": 1,
            "name": drive.name,
            "capacity_bytes": drive.capacity_bytes,
            "keeps_state": False,
            "can": drive.can,
            "truths": {"parallel_units": drive.dies},
        }
    )
    now_ns, pending, order = 0, [], 0
    while first := source.read(1):
        if first == b"\n":
            continue
        if first == b"{":
            wish = json.loads(first + source.readline())
            if wish["do"] == "end":
                return
            try:
                say(granted(drive, wish))
            except (OSError, ValueError, KeyError) as error:
                say({"error": str(error)})
            continue
        kind, _, _, _, slot, time_ns, offset, length = RECORD.unpack(first + source.read(31))
        if kind != ADVANCE:
            order += 1
            due_ns = drive.completion_ns(now_ns, kind, offset, length)
            heapq.heappush(pending, (due_ns, order, slot))
            continue
        now_ns = min(time_ns, pending[0][0]) if pending else time_ns
        while pending and pending[0][0] <= now_ns:
            done = heapq.heappop(pending)[2]
            sink.write(RECORD.pack(COMPLETED, 0, 0, 0, done, now_ns, 0, 0))
        sink.write(RECORD.pack(ADVANCED, 0, 0, 0, 0, now_ns, drive.programmed_bytes, 0))
        sink.flush()


serve(Drive())
