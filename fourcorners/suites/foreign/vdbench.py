"""vdbench's parameter files (``.parm``, ``.vdb``): their runs become workloads, as far as they say
what access specifications of Iometer's do (Vdbench Users Guide, raw I/O parameters)."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.suites.foreign.specification import MixPart, document, stream_keys
from fourcorners.suites.foreign.vdbench_words import whole_word
from fourcorners.units import parse_seconds, shortened

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SIZE = re.compile(r"(\d{1,15})([kmgt]?)", re.IGNORECASE)


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSED_OVER = _keys(
    """
    sd lun size openflags interval host hosts align offset hitarea data_errors messagescan report
    histogram debug monitor pause formatxfersize abort_failed_skew port dev lunsearch count
    concatenate dedupunit dataerrors report_run_totals auxreport kstat instance
    """
)
"""Where the I/Os go, which the target says here, and how results are printed."""
_MEANT = _keys(
    """
    wd rd hd include xfersize rdpct writepct seekpct range iorate elapsed maxdata maxdataread
    maxdatawritten warmup threads distribution forxfersize forrdpct forseekpct forthreads foriorate
    forcompratio skew compratio dedupratio
    """
)
_OF_STORAGE = ("threads", "range")
_OF_CONTENT = ("compratio", "dedupratio")
# Hits of a cache, of which none are asked for.
_HARMLESS = {"rhpct": "0", "whpct": "0"}
_OF_FILES = _keys("fsd fwd anchor create_anchors fwdrate operation operations")
_LISTS = ("forxfersize", "forrdpct", "forseekpct", "forthreads", "foriorate", "forcompratio")
_LISTED_ALSO = ("xfersize", "rdpct", "seekpct", "threads", "compratio", "iorate")
"""A run's own may be lists as well."""
# A list stands for as many runs, and lists are multiplied.
_RUNS_MAX = 200
# What vdbench takes where nothing is said.
_DEFAULTS = {"xfersize": "4k", "rdpct": "100", "seekpct": "100", "elapsed": "30", "threads": "8"}

_SEEKS = {"eof": "0", "-1": "0"}
_TO_THE_END = tuple(_SEEKS)
# What ends a run: bytes, or up to so many times the storage.
_AMOUNTS = ("maxdata", "maxdataread", "maxdatawritten")
_TIMES_MAX = 100
# As with fio's files: what goes deeper goes round.
_INCLUDES_MAX = 16

_Options = Mapping[str, str]


def suite_document(path: Path) -> dict[str, Any]:
    """The suite that a parameter file asks for; raises :class:`UserError`."""
    common: dict[str, str] = {}
    workloads: dict[str, _Options] = {}
    runs: list[tuple[int, _Options]] = []
    passed: dict[str, None] = {}
    for number, options in _entries(path):
        kind = next(iter(options))
        if kind == "hd":
            passed |= {"hd": None}
            continue
        _check(options, f"{path}, line {number}")
        options = _with_reads(options, f"{path}, line {number}")
        passed |= dict.fromkeys(key for key in options if key in _PASSED_OVER)
        if kind == "sd":
            if common.get("range", options.get("range")) != options.get(
                "range", common.get("range")
            ):
                raise UserError(
                    f"{path}, line {number}: ranges of several sd= are refused: give them to "
                    "workloads, wd="
                )
            common |= {key: text for key, text in options.items() if key in _OF_STORAGE}
        elif kind in _OF_CONTENT:
            common |= {key: text for key, text in options.items() if key in _OF_CONTENT}
        elif kind == "wd":
            default = workloads.get("default", {})
            workloads[options["wd"]] = {**default, **options}
        elif kind == "rd":
            default = next((own for _, own in runs if own["rd"] == "default"), {})
            runs.append((number, {**default, **options}))
        elif kind not in _PASSED_OVER:
            raise UserError(f"{path}, line {number}: use lines that begin with sd=, wd= or rd=")
    asked = [(number, run) for number, run in runs if run["rd"] != "default"]
    tables = [
        _run(one, workloads, common, where)
        for number, run in asked
        for where in [f"{path}, line {number}"]
        for one in _each_of(run, where)
    ]
    if not tables:
        raise UserError(f"{path} has no run (rd=): it is no parameter file of vdbench")
    shown = {"passed over": ", ".join(passed)} if passed else {}
    if any("warmup" in run and any(key in run for key in _AMOUNTS) for _, run in asked):
        shown["read as"] = "maxdata counts what is transferred during the warmup as well"
    return document(f"vdbench {path.name}", tables, shown, path.stem)


def _check(options: _Options, where: str) -> None:
    """Refuses what is not known; raises :class:`UserError`."""
    for key in options:
        if key in ("rg", "replay"):
            raise UserError(f"{where}: {key} is refused: for traces there is fourcorners replay")
        if key == "iorate" and "wd" in options and "rd" not in options:
            raise UserError(
                f"{where}: the rate of a workload (wd=) is refused: give one to its runs (rd=), "
                "and a skew to workloads"
            )
        if key in _OF_FILES:
            raise UserError(
                f"{where}: {key} is refused: it is about files in directories, and a target here "
                "is a drive: use sd=, wd= and rd="
            )
        if key == "curve" or options.get("iorate") == "curve":
            raise UserError(
                f"{where}: a curve is refused, because its rates depend on what is measured: see "
                "fourcorners run latency-under-load"
            )
        if key not in _MEANT | _PASSED_OVER and options[key] != _HARMLESS.get(key):
            raise UserError(
                f"{where}: {shortened(key)} is refused: it is not among what can be read, "
                f"{', '.join(sorted(_MEANT))}"
            )


def _with_reads(options: _Options, where: str) -> dict[str, str]:
    """A share of writes as what is left for reads."""
    found = dict(options)
    if "writepct" in found:
        found["rdpct"] = f"{100 - _percent(found.pop('writepct'), 'writepct', where):g}"
    return found


def _each_of(run: _Options, where: str) -> list[_Options]:
    """The runs that a run with lists (``forxfersize=(4k,8k)``, ``iorate=(100,200)``) stands for."""
    found: list[_Options] = [run]
    lists = [key for key in run if key in _LISTS]
    lists += [key for key in _LISTED_ALSO if re.search(r"\w[,-]", run.get(key, ""))]
    for key in lists:
        values = _values(run[key].strip("()"), where)
        if len(found) * len(values) > _RUNS_MAX:
            raise UserError(f"{where}: its lists make more than {_RUNS_MAX} runs: shorten them")
        found = [
            {**one, key.removeprefix("for"): value, "rd": f"{one['rd']}-{value}"}
            for one in found
            for value in values
        ]
    return found


def _values(text: str, where: str) -> list[str]:
    """``4k,8k``, or a range with a step or doubled: ``1-64,d``."""
    words = text.split(",")
    low, dash, high = words[0].partition("-")
    if not dash:
        return words
    value, last, step = _bytes(low, where), _bytes(high, where), words[-1].lower()
    by = 0 if len(words) == 1 or step == "d" else max(_bytes(step, where), 1)
    found: list[str] = []
    while value <= last and len(found) <= _RUNS_MAX:
        found.append(str(value))
        value = value + by if by else max(2 * value, 1)
    return found


def _entries(path: Path, depth: int = 0) -> list[tuple[int, dict[str, str]]]:
    """Lines with their numbers, continued ones together, as options; those of included files in
    their place."""
    if depth > _INCLUDES_MAX:
        raise UserError(f"{path}: files include one another more than {_INCLUDES_MAX} deep")
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text_of(path, "the parameter file").splitlines(), start=1):
        text = line.strip()
        if text.startswith("eof"):
            break
        if not text or text[0] in "*#/":
            continue
        # What stands behind a blank is a comment, unless the blank follows a comma or a bracket.
        text = re.split(r"(?<![,(=])\s+(?![,)=])", text, maxsplit=1)[0]
        if found and found[-1][1].endswith(","):
            found[-1] = (found[-1][0], found[-1][1] + text)
        else:
            found.append((number, text))
    entries: list[tuple[int, dict[str, str]]] = []
    for number, text in found:
        if text.lower().startswith("include="):
            entries += _entries(path.parent / text.partition("=")[2], depth + 1)
            continue
        # Commas within brackets divide values.
        parts = re.split(r",(?![^(]*\))", re.sub(r"\s", "", text).rstrip(","))
        pairs = [part.partition("=") for part in parts]
        if any(not equals for _, equals, _ in pairs):
            raise UserError(f"{path}, line {number}: write KEY=VALUE, separated by commas")
        kind = pairs[0][0].lower()
        entries.append((number, {whole_word(key.lower(), kind): text for key, _, text in pairs}))
    return entries


def _run(
    run: _Options, workloads: Mapping[str, _Options], common: _Options, where: str
) -> dict[str, Any]:
    wanted = run.get("wd", "*").strip("()").split(",")
    known = [name for name in workloads if name != "default"]
    names = [name for name in known if any(fnmatch.fnmatch(name, one) for one in wanted)]
    if not names:
        raise UserError(f"{where}: there is no workload {shortened(run.get('wd', '*'))} (wd=)")
    asked = [{**_DEFAULTS, **common, **workloads[name], **run} for name in names]
    shares = _shares(asked, where)
    streams = [_stream(own, share, where) for own, share in zip(asked, shares, strict=True)]
    if any(key in run for key in _AMOUNTS):
        bytes_each = [
            _mean_bytes(own, where) * share for own, share in zip(asked, shares, strict=True)
        ]
        _bound(streams, bytes_each, run, where)
    table = {"name": run["rd"], "duration": _time(run.get("elapsed", "30"), where)}
    if "warmup" in run:
        table["ramp"] = _time(run["warmup"], where)
    return {**table, "stream": streams}


def _bound(
    streams: Sequence[dict[str, Any]], weights: Sequence[float], run: _Options, where: str
) -> None:
    """Gives each stream its part of what is transferred until the run ends; ``weights`` are in
    proportion to the bytes per second of each."""
    key, *others = [key for key in _AMOUNTS if key in run]
    if others:
        raise UserError(f"{where}: {key} and {others[0]} together are refused: give one of them")
    if len(streams) > 1 and run.get("iorate", "max") == "max":
        raise UserError(
            f"{where}: {key} of several workloads without an iorate is refused: nobody knows how "
            "much of it each will transfer; give one"
        )
    counted = sum(
        weight * {"maxdata": 1, "maxdataread": one["reads"]}.get(key, 1 - one["reads"])
        for one, weight in zip(streams, weights, strict=True)
    )
    if not counted:
        return
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?)([kmgt]?)", run[key].strip("()").lower())
    if match is None or not float(match[1]):
        raise UserError(f'{where}: {key}: "{shortened(run[key])}" is no amount, such as 200g')
    limit = float(match[1]) * _UNITS[match[2]]
    for one, weight in zip(streams, weights, strict=True):
        amount = limit * weight / counted
        if limit > _TIMES_MAX:
            one["amount-per-worker"] = f"{math.ceil(amount)} B"
        else:
            # So many times the storage.
            one["loops"] = math.ceil(amount)
            one["amount-per-worker"] = f"{100 * amount / one['loops']:.9g} %"


def _shares(asked: Sequence[_Options], where: str) -> list[float]:
    """The part of a run's rate that each workload has: its ``skew``, and those without one share
    what is left."""
    told = [None if "skew" not in one else _percent(one["skew"], "skew", where) for one in asked]
    left = 100 - sum(skew or 0 for skew in told)
    without = told.count(None)
    if left < 0 or (left > 0 and not without):
        raise UserError(
            f"{where}: its workloads have {100 - left:g} % of skew: let them make 100 %"
        )
    shares = [left / without if skew is None else skew for skew in told]
    is_skewed = len(asked) > 1 and any(skew is not None for skew in told)
    if is_skewed and asked[0].get("iorate", "max") == "max":
        raise UserError(
            f"{where}: skew without an iorate is refused: there is no rate to share; give one"
        )
    if not all(shares):
        raise UserError(
            f"{where}: a workload is left no share of the rate: give it a skew, or none"
        )
    return shares


def _content(options: _Options, where: str) -> dict[str, str]:
    """How its writes compress or repeat: ratios of what is written to what is stored."""
    ratios = {key: options[key] for key in _OF_CONTENT if options.get(key, "1") != "1"}
    for key, text in ratios.items():
        if not re.fullmatch(r"\d{1,2}(\.\d{1,3})?", text) or float(text) < 1:
            raise UserError(f"{where}: {key}={shortened(text)}: give a ratio from 1 to 99")
    if len(ratios) > 1:
        raise UserError(
            f"{where}: compratio and dedupratio together are refused: content either compresses or "
            "repeats here"
        )
    if "compratio" in ratios:
        return {"content": f"compressible:{round(100 / float(ratios['compratio']))}"}
    if "dedupratio" in ratios:
        copied = round(100 - 100 / float(ratios["dedupratio"]))
        return {"content": f"duplicated:{copied}"} if copied else {}
    return {}


def _stream(options: _Options, share: float, where: str) -> dict[str, Any]:
    """One workload, which has ``share`` percent of the rate of its run."""
    random = _percent(_seek(options), "seekpct", where)
    reads = _percent(options["rdpct"], "rdpct", where)
    parts = [MixPart(size, percent, reads, random) for size, percent in _sizes(options, where)]
    found = stream_keys(parts, where)
    threads = options["threads"].strip("()")
    if not threads.isascii() or not threads.isdigit() or not 1 <= int(threads[:9]) <= 10**6:
        raise UserError(f"{where}: threads={shortened(threads)}: give one number from 1 on")
    found["queue-depth"] = int(threads)
    if "range" in options:
        first, _, last = options["range"].strip("()").partition(",")
        low, high = _percent(first, "range", where), _percent(last, "range", where)
        if low >= high:
            raise UserError(f"{where}: range=({low:g},{high:g}): give a later end")
        found |= {"offset": f"{low:g} %", "span": f"{high - low:g} %"}
    rate = options.get("iorate", "max").strip("()").lower()
    if rate != "max":
        if not re.fullmatch(r"\d{1,9}(\.\d{1,3})?", rate) or not float(rate):
            raise UserError(f"{where}: iorate={shortened(rate)} is refused: use max or one number")
        process = _process(options.get("distribution", "exponential"), where)
        found["arrival"] = f"{process}:{float(rate) * share / 100:.9g}"
    if options["seekpct"].lower() in _TO_THE_END:
        found["amount-per-worker"] = "everything"
    return found | (_content(options, where) if found["reads"] < 1 else {})


def _seek(options: _Options) -> str:
    text = options["seekpct"].strip("()").lower()
    for name, percent in (("sequential", "0"), ("random", "100")):
        if name.startswith(text or "-"):
            return percent
    return _SEEKS.get(text, text)


def _sizes(options: _Options, where: str) -> list[tuple[int, float]]:
    """Bytes, and the percentage of I/Os that have so many."""
    sizes = options["xfersize"].strip("()").split(",")
    if len(sizes) > 1 and len(sizes) % 2:
        raise UserError(f"{where}: write xfersize=(SIZE,PERCENT,SIZE,PERCENT), or one size")
    pairs = [(sizes[0], "100")] if len(sizes) == 1 else list(zip(*[iter(sizes)] * 2, strict=True))
    return [(_bytes(size, where), _percent(share, "xfersize", where)) for size, share in pairs]


def _mean_bytes(options: _Options, where: str) -> float:
    return sum(size * percent for size, percent in _sizes(options, where)) / 100


def _process(text: str, where: str) -> str:
    """How the arrivals of a rate are spread."""
    word = text.strip("()").lower()
    for name, process in (("exponential", "poisson"), ("deterministic", "fixed")):
        if word and name.startswith(word):
            return process
    raise UserError(
        f"{where}: distribution={shortened(text)} is refused: use exponential or deterministic"
    )


def _bytes(text: str, where: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UserError(f'{where}: "{shortened(text)}" is no size, such as 4k')
    return int(match[1]) * _UNITS[match[2].lower()]


def _percent(text: str, key: str, where: str) -> float:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,6})?", text) or float(text) > 100:
        raise UserError(f'{where}: {key}: "{shortened(text)}" is no percentage from 0 to 100')
    return float(text)


def _time(text: str, where: str) -> str:
    word = text if re.search(r"[smh]$", text) else f"{text}s"
    word = re.sub(r"m$", " min", word)
    try:
        return f"{parse_seconds(word):g} s"
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
