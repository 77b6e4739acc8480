"""Feeds the importers of fio's and Iometer's files with damaged ones.

    .venv/bin/python fuzz/python/imports.py --seconds 3600

Whatever the bytes are, an import ends with run folders or with one sentence for the user
(``UserError``) within 20 s and in 2 GB of memory. Files of the corpus and of the tests are cut,
joined and mixed; of tables (JSON) single values are replaced by such as nobody expects. A file
that fails is put into ``corpus/imports`` and printed; the tests replay that folder.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from fourcorners.errors import UserError
from fourcorners.importing import import_, read_files

CORPUS = Path(__file__).parent / "corpus" / "imports"
SEEDS = Path(__file__).parents[2] / "tests" / "data" / "fio"
HANG_S = 20
REPORTED_S = 60
MEMORY_BYTES = 2 * 2**30
_SEED_BYTES_MAX = 20_000

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53, 2**63, 10**30, -(10**400), 1e20, -1e308, 1e-320),
    *(0.5, "", "0", "-4", "1e400", "nan", "\0", "\ud800", "\u202e", "/", "../x", "x" * 5000),
    *("²", "4k", "99999999999999999999k", "a:b", "\x1b]52;c;\x07", [], {}, [0], {"": 0}),
)
ODD_LINES = (
    *("{", "}", "[" * 3000, '{"a":' * 3000, '{"jobs":[0]}', '{"jobs":[]}', '{"jobs":NaN}', "\0"),
    *("3;fio-3.33;a;0;0;" + "0;" * 200, "'Target Type,Access Specification Name", "ALL,All,x,1"),
    *("1000000000000000, 5, 0, 4096, 0", "-5, 1, 1, 4096, 0", "5, 99999999999999999999, 0, 1"),
)


INSIDES = ("\n", "Traceback", "object has no", "invalid literal", "not supported between")
"""What no sentence for a user has."""


class HangError(BaseException):
    """An import took too long; no ``Exception``, so that nothing catches it on the way."""


def seeds() -> list[str]:
    """What the mutations begin with: files of every form, small ones."""
    files = [*sorted(CORPUS.glob("*")), *sorted(SEEDS.rglob("*"))]
    texts = [file.read_text("utf-8", "replace") for file in files if file.is_file()]
    return [text for text in texts if len(text) <= _SEED_BYTES_MAX]


@st.composite
def mutated_tables(draw: st.DrawFn, texts: list[str]) -> str:
    """JSON of which some values are others."""
    document = json.loads(draw(st.sampled_from(texts)))
    for _ in range(draw(st.integers(1, 4))):
        place = document
        for _ in range(draw(st.integers(0, 5))):
            inner = [key for key in _keys(place) if isinstance(place[key], dict | list)]
            if not inner:
                break
            place = place[draw(st.sampled_from(inner))]
        keys = _keys(place)
        if not keys:
            continue
        key = draw(st.sampled_from(keys))
        act = draw(st.sampled_from(["replace", "drop", "again", "rename"]))
        if act == "replace" or (act == "rename" and isinstance(place, list)):
            odd = draw(st.one_of(st.sampled_from(ODD_VALUES), st.floats(), st.integers()))
            # A list that a later change went into would be another value for the next document.
            place[key] = copy.deepcopy(odd)
        elif act == "drop":
            del place[key]
        elif act == "again" and isinstance(place, list):
            place.append(place[key])
        else:
            place[str(draw(st.sampled_from(ODD_VALUES)))] = place[key]
    return json.dumps(document, ensure_ascii=draw(st.booleans()))


@st.composite
def mutated_lines(draw: st.DrawFn, texts: list[str]) -> str:
    """Text of which lines and cells are lost, repeated, replaced."""
    lines = draw(st.sampled_from(texts)).splitlines()
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(lines) - 1, 0)))
        act = draw(st.sampled_from(["cell", "cut", "lose", "odd", "again"]))
        if not lines:
            break
        if act == "cell":
            mark = ";" if lines[at].count(";") > lines[at].count(",") else ","
            cells = lines[at].split(mark)
            cell = draw(st.integers(0, len(cells) - 1))
            odd = draw(st.one_of(st.sampled_from(ODD_VALUES), st.integers(), st.floats()))
            cells[cell] = str(odd)
            lines[at] = mark.join(cells)
        elif act == "cut":
            lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
        elif act == "lose":
            del lines[at : at + draw(st.integers(1, 20))]
        elif act == "odd":
            lines.insert(at, draw(st.sampled_from(ODD_LINES)))
        else:
            lines[at:at] = lines[at : at + draw(st.integers(1, 50))]
    return "\n".join(lines)


def _keys(place: Any) -> list[Any]:
    return list(place) if isinstance(place, dict) else list(range(len(place)))


def _is_table(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@contextlib.contextmanager
def no_hang() -> Iterator[None]:
    """Raises :class:`HangError` in what takes more than 20 s of processor time, which other work
    on the machine does not change, or waits for ten times as long."""

    def hang(*_: object) -> None:
        raise HangError

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, 1), (signal.ITIMER_REAL, signal.SIGALRM, 10))
    before = [signal.signal(sent, hang) for _, sent, _ in timers]
    for timer, _, times in timers:
        signal.setitimer(timer, times * HANG_S)
    try:
        yield
    finally:
        for (timer, sent, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(sent, handler)


def attempt(content: str, log: str | None = None, *, whole: bool = True) -> str:
    """Imports a file of this content: "imported" or "refused"; raises what is a defect. Without
    ``whole`` it is only read, which takes a hundredth of the time of a report."""
    folder = Path(tempfile.mkdtemp(prefix="fourcorners-fuzz-"))
    try:
        path, log_path = folder / "result.json", folder / "job_lat.1.log"
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        logs = []
        if log is not None:
            log_path.write_bytes(log.encode("utf-8", "surrogatepass"))
            logs = [log_path]
        with no_hang():
            try:
                if whole:
                    import_(path, out=folder / "runs", log=logs)
                else:
                    read_files([path], logs)
            except UserError as error:
                message = str(error)
                assert message, "no sentence"
                assert not any(words in message for words in INSIDES), message
                return "refused"
        return "imported"
    finally:
        shutil.rmtree(folder)


def keep(content: str, log: str | None, error: BaseException) -> Path:
    """Puts a file that failed into the corpus; the log, if any, behind a line of its own."""
    text = content if log is None else f"{content}\n{LOG_MARK}\n{log}"
    data = text.encode("utf-8", "surrogatepass")
    path = CORPUS / f"{type(error).__name__.lower()}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


LOG_MARK = "=== log ==="


def parted(text: str) -> tuple[str, str | None]:
    """A file of the corpus as its content and log."""
    content, mark, log = text.partition(f"\n{LOG_MARK}\n")
    return content, log if mark else None


def inputs() -> st.SearchStrategy[tuple[str, str | None, bool]]:
    """Contents with or without a log, one in ten to be imported whole."""
    texts, logs = [], []
    for text in seeds():
        content, log = parted(text)
        texts.append(content)
        logs += [] if log is None else [log]
    tables = [text for text in texts if _is_table(text)]
    contents = st.one_of(
        mutated_tables(tables), mutated_lines(texts), mutated_tables(tables), st.sampled_from(texts)
    )
    rows = st.lists(
        st.tuples(*(st.sampled_from((0, 1, 2, 5, 900, 4096, 10**6, 10**15, -1, 2**70)),) * 4),
        max_size=20,
    ).map(lambda table: "\n".join(", ".join(map(str, row)) for row in table))
    log = st.one_of(st.none(), st.none(), rows, mutated_lines(logs) if logs else rows)
    return st.tuples(contents, log, st.sampled_from([True] + 9 * [False]))


def run(seconds: float, examples: int, start: int) -> dict[str, int]:
    """Counts of what became of the files, until time or examples are over. Raises the first
    defect, after its file has been kept."""
    ends = time.monotonic() + seconds
    counts = {"imported": 0, "refused": 0}
    batch = start
    while time.monotonic() < ends and sum(counts.values()) < examples:

        @seed(batch)
        @settings(
            max_examples=min(200, examples),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(inputs())
        def one(given_: tuple[str, str | None, bool]) -> None:
            content, log, whole = given_
            if time.monotonic() >= ends:
                return
            try:
                counts[attempt(content, log, whole=whole)] += 1
            except BaseException as error:
                if not isinstance(error, KeyboardInterrupt):
                    print(f"kept {keep(content, log, error)}", file=sys.stderr)
                raise

        one()
        batch += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    given_ = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    began = time.monotonic()
    failures = 0
    start = given_.seed
    while (left := given_.seconds - (time.monotonic() - began)) > 0:
        try:
            print(f"seed {start}: {run(min(left, REPORTED_S), 10**9, start)}", flush=True)
        except (Exception, HangError):
            failures += 1
            traceback.print_exc()
        start += 1000
    print(f"{failures} defects in {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
