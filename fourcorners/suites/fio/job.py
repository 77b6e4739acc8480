"""One job of fio's: its options as the keys of a suite file's streams."""

import math
from functools import cached_property
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.fio import options
from fourcorners.suites.fio.distributions import pattern_of
from fourcorners.suites.fio.quantities import amount, by_direction, number, seconds, switch, whole
from fourcorners.suites.fio.sizes import Sizes, sizes_of
from fourcorners.suites.fio.told import Extent, ToldOptions
from fourcorners.suites.replay import replay_table
from fourcorners.units import shortened


class FioJob(ToldOptions):
    """What a job issues, as the keys of streams."""

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of its requests."""
        return sizes_of(self)

    @cached_property
    def depth(self) -> int:
        """Outstanding I/Os of each clone."""
        told = max(self.of("iodepth", whole, 1), 1)
        if self.engine not in options.SYNCHRONOUS_ENGINES or told == 1:
            return told
        self.read_as.append(f"iodepth={told} of the engine {self.engine} is 1, as it is in fio")
        return 1

    @property
    def clones(self) -> int:
        """fio's ``numjobs``."""
        return max(self.of("numjobs", whole, 1), 1)

    @property
    def file(self) -> str | None:
        """The file that it shares with other jobs; ``None`` where it has one of its own."""
        name = self.told.get("filename")
        if name and ":" in name.replace("\\:", ""):
            raise self.error(f"filename={name} is refused: a job has one area of the target")
        return name or None

    @cached_property
    def size(self) -> Extent | None:
        """The length of its area; ``None`` reaches to the end of the target."""
        files = max(self.of("nrfiles", whole, 1), 1)
        size, of_file = self.extent_of("size"), self._file_bytes
        if files > 1:
            in_turn = self.told.get("file_service_type", "roundrobin").partition(":")[0]
            if not (self.is_random or in_turn == "sequential") or of_file is not None:
                raise self.error(
                    f"nrfiles={files} is refused for requests that go through several files in "
                    "turn, and beside filesize: write a job for each file"
                )
            self.read_as.append(f"nrfiles={files}: the files are one area, one behind the other")
        if of_file is None:
            return size
        # As in fio, random requests go to all of the file, and what is in order to its beginning.
        rest = of_file - int(self.offset)
        if rest <= 0:
            raise self.error("offset lies behind the end of the file that filesize says")
        if self.increment and self.clones > 1:
            raise self.error("offset_increment beside filesize is refused: use size")
        if isinstance(size, float):
            return min(rest, int(size * of_file))
        return rest if size is None or self.is_random else min(rest, size)

    @cached_property
    def _file_bytes(self) -> int | None:
        """The length of its file, where ``filesize`` says it."""
        if "-" in self.told.get("filesize", ""):
            raise self.error(
                f"filesize={shortened(self.told['filesize'])} is refused: files of random sizes "
                "are not made here: give one size"
            )
        return self.bytes_of("filesize") or None

    @property
    def _volume(self) -> Extent | None:
        """What it transfers in one go; ``None`` is its area."""
        volume, size = self.extent_of("io_size"), self.extent_of("size")
        if volume is not None or not isinstance(self.size, int):
            return volume
        if isinstance(size, int) and size < self.size:
            return size
        return self._before_the_end(self.size)

    def _before_the_end(self, size: int) -> int | None:
        """What requests with gaps between them transfer where the area ends with a request, or
        within the next one: fio stops there, and begins again only where the gap passes the end."""
        block, (name, _, argument) = self.sizes.only, self.told.get("rw", "").partition(":")
        if block is None or name not in ("read", "write") or not argument or "-" in argument:
            return None
        steps, left = divmod(size, block + amount(argument))
        return (steps + (left == block)) * block or None if 0 < left <= block else None

    @cached_property
    def offset(self) -> Extent:
        """Where its area begins in its file."""
        told = self.extent_of("offset") or 0
        if isinstance(told, float) and self._file_bytes is not None:
            return int(told * self._file_bytes)
        return told

    @cached_property
    def increment(self) -> int:
        """How much later the area of each clone begins."""
        if self.told.get("offset_increment", "").endswith("%"):
            raise self.error("offset_increment: use bytes, as a share of a target cannot be added")
        return self.bytes_of("offset_increment") or 0

    @property
    def runtime_s(self) -> float | None:
        """How long it runs at most, after its start and its ramp."""
        return self.of("runtime", seconds, 0.0) or None

    @property
    def ends_all(self) -> bool:
        """Whether its end is that of the jobs that run with it: ``exitall``. Only a time is known
        before."""
        ends = self.of("exitall", switch, False)
        if ends and self.runtime_s is None:
            self.read_as.append("exitall of a job without a runtime does not end the others")
        return ends and self.runtime_s is not None

    @property
    def start_s(self) -> float:
        """How long it waits before it starts."""
        return self.of("startdelay", seconds, 0.0)

    @property
    def ramp_s(self) -> float:
        """How long it runs before it is measured."""
        return self.of("ramp_time", seconds, 0.0)

    def _limits(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        ios = self.of("number_ios", whole, 0)
        if ios:
            found["ios-per-worker"] = ios
        if self.of("time_based", switch, False):
            if self.runtime_s is not None:
                return found
            self.read_as.append("time_based without a runtime says nothing, as in fio")
        volume = self._volume
        found["amount-per-worker"] = "everything" if volume is None else text_of(volume)
        loops = self.of("loops", whole, 1)
        return found | ({"loops": loops} if loops > 1 else {})

    def _content(self) -> str | None:
        compressed = self.of("buffer_compress_percentage", lambda text: number(text, 100), 0.0)
        copied = self.of("dedupe_percentage", lambda text: number(text, 100), 0.0)
        if compressed and copied:
            raise self.error(
                "buffer_compress_percentage and dedupe_percentage together are refused: content "
                "either compresses or repeats here"
            )
        if self.of("zero_buffers", switch, False) or self.told.get("buffer_pattern"):
            self.read_as.append("a buffer pattern is zeros, which compress to nothing")
            return "compressible:1"
        if compressed:
            return f"compressible:{max(round(100 - compressed), 1)}"
        if copied:
            return "repeated" if copied == 100 else f"duplicated:{max(round(copied), 1)}"
        refilled = self.of("refill_buffers", switch, False)
        scrambled = self.of("scramble_buffers", switch, True)
        return None if refilled or scrambled else "repeated"

    def _rates(self) -> tuple[float | None, float | None]:
        """I/Os per second of reads and of writes, of each clone."""
        found: list[float | None] = []
        for index, mean_bytes in enumerate(self.sizes.mean_bytes):
            rate: float | None = None
            for key, unit in (("rate_iops", 1.0), ("rate", mean_bytes)):
                part = by_direction(self.told.get(key, ""))[index]
                if part:
                    try:
                        per_second = amount(part, self.power_base) / unit
                    except UserError as error:
                        raise self.error(f"{key}: {error}") from None
                    rate = per_second if rate is None else min(rate, per_second)
            found.append(rate or None)
        if "rate" in self.told and self.sizes.several:
            self.read_as.append("rate is kept in the mean, by the mean size of requests")
        return found[0], found[1]

    def _pace(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        low = self.of("iodepth_low", whole, self.depth)
        least = self.of("iodepth_batch_complete_min", whole, 1)
        batch = min(max(least, self.depth - low, 1), self.depth)
        if batch > 1:
            found["answer-batch"] = batch
        think_s = self.of("thinktime", lambda text: seconds(text, "us"), 0.0)
        if think_s:
            found["think"] = f"{think_s * 1e9:.0f} ns"
            found["think-every"] = max(self.of("thinktime_blocks", whole, 1), 1)
        return found

    def _flushes(self) -> dict[str, Any]:
        if self.read_share == 1:
            return {}
        every = [count for key in ("fsync", "fdatasync") if (count := self.of(key, whole, 0))]
        found: dict[str, Any] = {"flush-every": min(every)} if every else {}
        if len(every) > 1:
            self.read_as.append("fsync and fdatasync are one flush, after the fewer writes")
        if self.told.get("sync", "0") not in ("0", "none") or self.of("writefua", switch, False):
            found["fua"] = True
        return found

    @property
    def iolog(self) -> str | None:
        """The trace that it replays."""
        return self.told.get("read_iolog") or None

    def replay(self) -> dict[str, Any]:
        """The workload of its trace, as :func:`fourcorners.suites.replay.replay_table` has it: at
        recorded times, or with ``iodepth`` where it has none, or is not to wait for them."""
        if self.clones > 1:
            raise self.error("numjobs and read_iolog exclude each other: a trace is replayed once")
        scale = self.of("replay_time_scale", lambda text: number(text, 1e9), 100.0)
        if scale <= 0:
            raise self.error(f"replay_time_scale={scale:g}: use a percentage above 0")
        chosen: dict[str, Any] = {"speed": 100 / scale, "content": self._content()}
        table = replay_table([self.iolog or ""], **chosen)
        if self.of("replay_no_stall", switch, False) or table["trace"]["length_ns"] == 0:
            chosen |= {"pace": "depth", "queue_depth": self.depth}
            table = replay_table([self.iolog or ""], **chosen)
        self.read_as.append("read_iolog decides what is issued, and the other options do not")
        return table

    def streams(self) -> list[dict[str, Any]]:
        """What each clone issues, without where: one stream, or where reads and writes each have a
        rate one for each of them."""
        common = {
            **self.sizes.keys,
            **pattern_of(self, self.sizes, self.size),
            "queue-depth": self.depth,
            **self._zones(),
            **self._pace(),
            **self._limits(),
        }
        if "ba" in self.told and self.is_random:
            common["alignment"] = (
                f"{self.of('ba', lambda text: amount(text, self.power_base), 0)} B"
            )
        kind, _, stride = common["pattern"].partition(":")
        if kind == "strided" and (block := self.sizes.only):
            common["alignment"] = f"{math.gcd(block, amount(stride))} B"
        content = self._content()
        writes = self._flushes() | ({"content": content} if content else {})
        reads_rate, writes_rate = self._rates()
        share = self.read_share
        if share in (0, 1):
            rate = reads_rate if share else writes_rate
            one = {"reads": share, **common, **({} if share else writes)}
            return [one if rate is None else self._at_rate(one, rate)]
        if reads_rate is None and writes_rate is None:
            return [{"reads": share, **common, **writes}]
        if reads_rate is None or writes_rate is None:
            raise self.error(
                "a rate for reads alone, or for writes alone, is refused in a mixed job"
            )
        self.read_as.append("reads and writes keep a rate each, which decides the mix, as in fio")
        common.pop("separate-cursors", None)
        return [
            self._at_rate({"reads": 1.0, **common}, reads_rate),
            self._at_rate({"reads": 0.0, **common, **writes}, writes_rate),
        ]

    def _at_rate(self, stream: dict[str, Any], rate: float) -> dict[str, Any]:
        if "think" in stream or "answer-batch" in stream:
            raise self.error("a rate excludes thinktime and batches of completions here")
        poisson = self.told.get("rate_process", "linear") == "poisson"
        return {**stream, "arrival": f"{'poisson' if poisson else 'fixed'}:{rate:.9g}"}

    def _zones(self) -> dict[str, Any]:
        mode = self.told.get("zonemode", "strided" if "zonesize" in self.told else "none")
        if mode == "none":
            return {}
        if mode != "strided":
            raise self.error(f"zonemode={mode} is refused: use strided or none")
        volume = self.bytes_of("zonesize")
        if not volume:
            raise self.error("zonemode=strided needs a zonesize")
        length = self.bytes_of("zonerange") or volume
        gap = self.bytes_of("zoneskip") or 0
        return {"zones": f"{length} B:{volume} B:{f'{gap} B' if gap else 0}"}


def text_of(extent: Extent) -> str:
    """An extent as a suite file writes it."""
    return f"{100 * extent:g} %" if isinstance(extent, float) else f"{extent} B"
