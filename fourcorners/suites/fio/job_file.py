"""fio's job files as text: sections and their options, as fio's parser reads them ("fio HOWTO",
section Job file format)."""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.suites.fio.options import PASSED_OVER
from fourcorners.units import shortened

INCLUDES_MAX = 16
"""How deep a file may include others: fio's own limit."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_CALCULATION = re.compile(r"[\d\s()*/+-]{1,100}")
_WORDS = re.compile(r"\$(pagesize|mb_memory|ncpus)\b")


@dataclass(frozen=True)
class FioSection:
    """A job: its options by name, its global ones among them, each as the file has it."""

    name: str
    options: Mapping[str, str]
    where: str


def sections_of(path: Path) -> tuple[str, list[FioSection]]:
    """The text of a job file with what it includes, and its jobs; raises :class:`UserError`."""
    lines = list(_lines(path, 0))
    return "\n".join(text for _, _, text in lines), _sections(path, lines)


_Line = tuple[str, int, str]
"""The file, the number of the line in it, and its text."""


def _lines(path: Path, depth: int) -> Iterator[_Line]:
    if depth > INCLUDES_MAX:
        raise UserError(f"{path}: files include one another more than {INCLUDES_MAX} deep")
    for number, text in enumerate(text_of(path, "the job file").splitlines(), start=1):
        # Both signs end a line, wherever they stand.
        bare = re.split("[;#]", text, maxsplit=1)[0].strip()
        word, _, included = bare.partition(" ")
        if word == "include" and included.strip() and "=" not in bare:
            yield from _lines(path.parent / included.strip(), depth + 1)
        elif bare:
            yield str(path), number, bare


def _sections(job_file: Path, lines: list[_Line]) -> list[FioSection]:
    common: dict[str, str] = {}
    found: list[FioSection] = []
    own: dict[str, str] | None = None
    for path, number, text in lines:
        where = f"{path}, line {number}"
        if placeholder := _PLACEHOLDER.search(text):
            raise UserError(
                f"{where}: {shortened(placeholder[0])} is to be filled in: it is a template, of "
                "which another program makes job files"
            )
        if text.startswith("["):
            name = text[1:].partition("]")[0].strip()
            if "]" not in text or not name:
                raise UserError(f'{where}: "{shortened(text)}": write a section as [name]')
            own = common if name.lower() == "global" else dict(common)
            if own is not common:
                found.append(FioSection(name, own, where))
            continue
        if own is None:
            raise UserError(f"{where}: options stand before the first [section]")
        key, sign, value = text.partition("=")
        name = _name(key)
        own[name] = _expanded(value.strip(), where, name) if sign else "1"
    if not found:
        raise UserError(f"{job_file}: there is no job: write one as [name]")
    return found


def _name(key: str) -> str:
    name = key.strip().lower()
    return ALIASES.get(name, name)


def _expanded(value: str, where: str, name: str) -> str:
    """The value with variables of the environment, and fio's words for the machine, with which it
    may calculate. What only names files needs no variable."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            if name == "filename" or name in PASSED_OVER:
                return match[0]
            raise UserError(f"{where}: ${{{match[1]}}} is not set: set it in the environment")
        return os.environ[match[1]]

    def word(match: re.Match[str]) -> str:
        page = os.sysconf("SC_PAGE_SIZE")
        memory = page * os.sysconf("SC_PHYS_PAGES") // 2**20
        values = {"pagesize": page, "mb_memory": memory, "ncpus": os.cpu_count() or 1}
        return str(values[match[1]])

    told = _VARIABLE.sub(variable, value)
    if not _WORDS.search(told):
        return told
    numbers = _WORDS.sub(word, told)
    return _calculated(numbers, where) if _CALCULATION.fullmatch(numbers) else numbers


def _calculated(text: str, where: str) -> str:
    """What ``bc``, which fio asks, makes of whole numbers."""
    try:
        tree = ast.parse(text.replace("/", "//"), mode="eval")
        return str(int(_value(tree.body)))
    except (SyntaxError, ArithmeticError, ValueError, RecursionError):
        raise UserError(f'{where}: "{shortened(text)}" cannot be calculated') from None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left) + _value(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _value(left) - _value(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _value(left) * _value(right)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _value(left) // _value(right)
    raise ValueError


ALIASES = {
    "blocksize": "bs",
    "blockalign": "ba",
    "blocksize_range": "bsrange",
    "readwrite": "rw",
    "timeout": "runtime",
    "ratemin": "rate_min",
    "io_limit": "io_size",
    "iodepth_batch": "iodepth_batch_submit",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "wait_for_previous": "stonewall",
    "blocksize_unaligned": "bs_unaligned",
    "zone_size": "zonesize",
    "zone_range": "zonerange",
    "zone_skip": "zoneskip",
    "nr_files": "nrfiles",
    "iomem": "mem",
    "ss": "steadystate",
    "ss_dur": "steadystate_duration",
    "ss_ramp": "steadystate_ramp_time",
    "threads": "thread",
    "fill_fs": "fill_device",
    "invalidate_cache": "invalidate",
    "fileoffset": "offset",
    "ratecycle": "rate_cycle",
    "disable_bw": "disable_bw_measurement",
    "log_max_value": "log_window_value",
    "log_unix_epoch": "log_alternate_epoch",
    "mem_align": "iomem_align",
    "ss_interval": "steadystate_check_interval",
    "data_placement": "dataplacement",
    "fdp_pli_select": "plid_select",
    "fdp_pli": "plids",
}
"""Other names that fio knows options by."""
