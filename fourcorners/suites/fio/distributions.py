"""Where a fio job's requests go: ``rw``, ``random_distribution`` and ``percentage_random`` as the
pattern of a suite file's stream."""

from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.fio.quantities import amount, number, switch
from fourcorners.suites.fio.sizes import Sizes
from fourcorners.suites.fio.told import Extent, ToldOptions
from fourcorners.units import shortened


def pattern_of(job: ToldOptions, sizes: Sizes, size: Extent | None) -> dict[str, Any]:
    """The keys ``pattern`` and ``separate-cursors``; raises :class:`UserError`."""
    mixed = 0 < job.read_share < 1
    apart = {"separate-cursors": True} if mixed else {}
    argument = job.told.get("rw", "").partition(":")[2]
    if not job.is_random:
        if argument:
            return {"pattern": _with_gaps(job, sizes, size, argument)}
        return {"pattern": "sequential", **apart}
    run = job.of("rw", lambda _: amount(argument), 1) if argument else 1
    percents = job.one_of("percentage_random", "100")
    share = job.of("percentage_random", lambda _: number(percents, 100), 100.0) / 100
    distribution = job.one_of("random_distribution", "random")
    if share < 1 or run > 1:
        if distribution != "random" or (share < 1 and run > 1):
            raise job.error(
                "a distribution, percentage_random below 100 and runs (rw=randread:8) exclude one "
                "another here"
            )
        return {"pattern": f"runs:{run}" if run > 1 else f"partly-random:{share:g}", **apart}
    if distribution != "random":
        return {"pattern": job.of("random_distribution", lambda _: _uneven(size, distribution), "")}
    if job.of("norandommap", switch, False):
        return {"pattern": "random"}
    if sizes.several:
        job.read_as.append(
            "with several sizes a place may come again before all have come, and requests keep "
            "their sizes: fio shortens those that reach a place that has come, more of them as the "
            "area fills"
        )
        return {"pattern": "random"}
    if "ba" in job.told:
        job.read_as.append("with blockalign a place may come again before all have come")
        return {"pattern": "random"}
    return {"pattern": "permuted"}


def _with_gaps(job: ToldOptions, sizes: Sizes, size: Extent | None, argument: str) -> str:
    """Sequential with a gap after each request, ``rw=write:4k``, or backwards, ``rw=read:-8k``."""
    block = sizes.only
    if block is None or 0 < job.read_share < 1:
        raise job.error(
            f"rw={job.told['rw']}: gaps are for one size, and for reads or writes alone"
        )
    step = block + job.of("rw", lambda _: amount(argument.removeprefix("-")), 0)
    if not argument.startswith("-"):
        return f"strided:{step} B"
    back = step - 2 * block
    if not isinstance(size, int) or back <= 0 or back % block or size % block:
        raise job.error(f"rw={job.told['rw']}: going back needs a size, and steps, of whole blocks")
    return f"strided:{size - back} B"


def _uneven(size: Extent | None, text: str) -> str:
    """A distribution that is not uniform; raises :class:`UserError`."""
    kind, _, values = text.partition(":")
    if kind in ("zoned", "zoned_abs"):
        return _zones(size, values, absolute=kind == "zoned_abs")
    value, _, center = values.partition(":")
    if center:
        raise UserError("a center of the distribution is refused: popular places are scattered")
    match kind:
        case "zipf":
            return f"zipf:{number(value, 10):g}"
        case "pareto":
            return f"pareto:{number(value, 1):g}"
        case "normal":
            # fio bounds the width at half of the places.
            return f"normal:{min(number(value, 100) / 100, 0.5):g}"
    raise UserError(
        f'"{shortened(text)}" is refused: use random, zipf:, pareto:, normal:, zoned: or zoned_abs:'
    )


def _zones(size: Extent | None, text: str, absolute: bool) -> str:
    given = [zone.partition("/") for zone in text.split(":") if zone]
    accesses = [number(share, 100) if share else None for share, _, _ in given]
    if absolute:
        if not isinstance(size, int):
            raise UserError("zoned_abs needs a size in bytes")
        unit = 100 / size
        data: list[float | None] = [amount(size) * unit if size else None for _, _, size in given]
    else:
        data = [number(size, 100) if size else None for _, _, size in given]
    shares, sizes = _filled_up(accesses), _filled_up(data)
    rest = 100 - sum(sizes)
    if rest > 1e-9:
        # What no zone covers is not accessed.
        shares, sizes = [*shares, 0.0], [*sizes, rest]
    if abs(sum(shares) - 100) > 1e-6 or rest < -1e-6:
        raise UserError(
            f'"{shortened(text)}": shares of accesses must make 100 %, and sizes no more'
        )
    zones = zip(shares, sizes, strict=True)
    return ":".join(["zoned", *(f"{share:.9g}/{size:.9g}" for share, size in zones)])


def _filled_up(shares: list[float | None]) -> list[float]:
    """Shares that are left out get what is left, evenly."""
    left = 100 - sum(share for share in shares if share is not None)
    missing = max(shares.count(None), 1)
    return [left / missing if share is None else share for share in shares]
