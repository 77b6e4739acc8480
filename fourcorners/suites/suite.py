"""Suites: an ordered list of tests with their parameters, from a file or by name."""

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from fourcorners import _core
from fourcorners.errors import UserError
from fourcorners.input_files import text_of
from fourcorners.suites import fio, foreign
from fourcorners.suites.catalog import TESTS
from fourcorners.suites.definition import Definition
from fourcorners.suites.parameters import LOG_IOS, SIZE, read_parameters, unknown
from fourcorners.suites.steps import Purge
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Test
from fourcorners.suites.test_file import own_test

SUFFIX = ".toml"
SCHEMA_VERSION = 1
# What is given up for a quick look: durations, and on real drives all but their first 8 GB.
QUICK_SCALE = 0.05
QUICK_AREA_BYTES = 8 * 10**9
_SUITE_KEYS = (
    "schema",
    "schema_version",
    "name",
    "title",
    "profile",
    "scale",
    "pauses",
    "area",
    "log-ios",
    "test",
)


@dataclass(frozen=True)
class Entry:
    """A test of a suite. ``parameters`` are as given, for the manifest; ``where`` is for errors."""

    definition: Definition
    name: str
    given: Mapping[str, Any]
    where: str

    def test(self, subject: Subject, scale: float, pauses: float, seed: int) -> Test:
        """The test on a target; ``scale`` is the factor on durations, ``pauses`` on pauses."""
        known = self.definition.name in TESTS
        parameters = self.given if known else {}
        read: Any = read_parameters(
            self.definition.parameters, parameters, self.where, scale, pauses
        )
        test = self.definition.test(subject, read, seed, self.name)
        return replace(test, definition=self.definition.name) if known else test


@dataclass(frozen=True)
class SuitePlan:
    """Tests in order, for one subject."""

    suite: "Suite"
    seed: int
    subject: Subject
    tests: tuple[Test, ...]

    @property
    def duration_s(self) -> float:
        """Estimated time of everything that will run, on the target's clock."""
        return sum(test.duration_s for test in self.tests)

    @property
    def written_bytes(self) -> float:
        """Estimate of everything that will be written."""
        return sum(test.written_bytes for test in self.tests)

    @property
    def purges(self) -> bool:
        """Whether any test begins with an erased drive."""
        phases = [phase for test in self.tests for phase in test.phases]
        return any(isinstance(step, Purge) for phase in phases for step in phase.preparation)


@dataclass(frozen=True)
class Suite:
    """What is run: see docs/suites.md.

    ``scale`` shortens all durations, ``pauses`` the pauses; ``area_bytes_max`` bounds what is used
    of real drives that have to be filled first. ``log_ios`` is how many single I/Os every
    measurement keeps, at most, where that is not left to the tests. ``profile`` says in a word what
    the durations are.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    document: Mapping[str, Any]
    scale: float = 1.0
    pauses: float = 1.0
    area_bytes_max: int | None = None
    log_ios: int | None = None
    profile: str = "standard"

    def plan(self, subject: Subject, seed: int = 1) -> SuitePlan:
        """What is done on a target; raises :class:`UserError` for parameters that do not fit."""
        subject = replace(subject, area_bytes_max=self.area_bytes_max)
        tests = tuple(entry.test(subject, self.scale, self.pauses, seed) for entry in self.entries)
        for entry, test in zip(self.entries, tests, strict=True):
            _check_workloads(test, entry.where, subject)
        return SuitePlan(self, seed, subject, tests)

    def only(self, names: tuple[str, ...]) -> "Suite":
        """The suite with some of its tests; raises :class:`UserError` for unknown names."""
        known = [entry.name for entry in self.entries]
        for name in names:
            if name not in known:
                raise UserError(unknown("test", name, known))
        entries = tuple(entry for entry in self.entries if entry.name in names)
        tests = [
            table
            for entry, table in zip(self.entries, self.document["test"], strict=True)
            if entry.name in names
        ]
        return replace(self, entries=entries, document={**self.document, "test": tests})

    def shortened(self, scale: float) -> "Suite":
        """All durations times ``scale``; raises :class:`UserError` unless above 0 and up to 1."""
        if not 0 < scale <= 1:
            raise UserError(f"--scale {scale:g}: use more than 0, and at most 1")
        return suite_of({**self.document, "scale": self.scale * scale}, self.name)

    def logging(self, log_ios: int) -> "Suite":
        """Every measurement keeps up to so many I/Os; raises :class:`UserError`."""
        try:
            kept = LOG_IOS.read(log_ios)
        except UserError as error:
            raise UserError(f"--log-ios {log_ios!r}: {error}") from error
        return replace(self, document={**self.document, "log-ios": log_ios}, log_ios=kept)

    def logged(self, measurement: Measurement) -> Measurement:
        """The measurement with the log of single I/Os that the suite asks for."""
        if self.log_ios is None:
            return measurement
        return replace(measurement, workload=replace(measurement.workload, log_ios=self.log_ios))

    def quick(self) -> "Suite":
        """Shortened to a twentieth, pauses too, and of real drives that have to be filled the first
        8 GB."""
        short = self.shortened(QUICK_SCALE)
        quick = {"pauses": self.pauses * QUICK_SCALE, "area": f"{QUICK_AREA_BYTES} B"}
        return suite_of({**short.document, **quick}, self.name)


def suite_names() -> tuple[str, ...]:
    """The suites of the program."""
    files = resources.files("fourcorners.suites").joinpath("files").iterdir()
    return tuple(sorted(f.name.removesuffix(SUFFIX) for f in files if f.name.endswith(SUFFIX)))


def find_suite(name: str, parameters: Mapping[str, Any] | None = None) -> Suite:
    """A suite file, or a file of fio, Iometer or vdbench, by its path, or a suite or a test of the
    program by its name.

    Args:
        name: ``./mine.toml``, ``./job.fio``, ``reviews-quick``, ``queue-depth``.
        parameters: of the single test, in place of its own.

    Raises:
        UserError: one sentence that names file, key and remedy.
    """
    if not name.endswith(SUFFIX) and name in TESTS:
        definition = TESTS[name]
        given = dict(parameters or {})
        document = {"name": name, "title": definition.title, "test": [{"use": name, **given}]}
        return suite_of(document, "--with")
    if parameters:
        raise UserError(f"--with is for a single test, and {name} is a suite: write it in there")
    if name.endswith(fio.SUFFIXES):
        return suite_of(fio.suite_document(Path(name)), name)
    if (reader := foreign.READERS.get(Path(name).suffix)) is not None:
        return suite_of(reader(Path(name)), name)
    if name.endswith(SUFFIX):
        return suite_of_text(text_of(Path(name), "the suite"), name)
    if name in suite_names():
        file = resources.files("fourcorners.suites").joinpath("files", name + SUFFIX)
        return suite_of_text(file.read_text("utf-8"), name)
    if name.startswith(("sim:", "exec:", "/dev/")):
        raise UserError(
            f"{name} is a target: name the test before it, as in "
            f"fourcorners run queue-depth {shlex.quote(name)}"
        )
    listed = (
        '"fourcorners tests" lists them; suite files end in .toml, job files of fio in .fio or '
        ".job, configurations of Iometer in .icf, parameter files of vdbench in .parm or .vdb"
    )
    raise UserError(unknown("test or suite", name, [*TESTS, *suite_names()], listed))


def suite_of_text(text: str, where: str) -> Suite:
    """A suite from the text of a file; raises :class:`UserError`."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Also of numbers with thousands of digits, and lists in lists without end.
        raise UserError(f"{where}: not a TOML file: {error}") from error
    if (found := document.get("schema_version")) != SCHEMA_VERSION:
        version = "no schema_version" if found is None else f"schema_version = {found}"
        raise UserError(
            f"{where}: {version}: this version reads suites of schema_version = {SCHEMA_VERSION}"
        )
    return suite_of(document, where)


def suite_of(document: Mapping[str, Any], where: str) -> Suite:
    """A suite from what its file says; raises :class:`UserError`."""
    for key in document:
        if key not in _SUITE_KEYS:
            raise UserError(f"{where}: {unknown('key', key, list(_SUITE_KEYS))}")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise UserError(f"{where}: name is missing: give the suite a name")
    factors = {key: document.get(key, 1.0) for key in ("scale", "pauses")}
    for key, factor in factors.items():
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= 1:
            raise UserError(f"{where}: {key} = {factor!r}: use more than 0, and at most 1")
    scale, pauses = factors["scale"], factors["pauses"]
    area = document.get("area")
    try:
        area_bytes = None if area is None else SIZE.read(area)
    except UserError as error:
        raise UserError(f"{where}: area = {area!r}: {error}") from error
    log_ios = document.get("log-ios")
    try:
        log_ios = None if log_ios is None else LOG_IOS.read(log_ios)
    except UserError as error:
        raise UserError(f"{where}: log-ios = {log_ios!r}: {error}") from error
    tables = document.get("test")
    if not isinstance(tables, list) or not tables:
        raise UserError(f"{where}: test is missing: write at least one [[test]]")
    entries = tuple(
        _entry(table, f"{where}, test {number}" if len(tables) > 1 else where, scale, where)
        for number, table in enumerate(tables, start=1)
    )
    names = [entry.name for entry in entries]
    for entry in entries:
        if names.count(entry.name) > 1:
            raise UserError(
                f'{entry.where}: two tests are named "{entry.name}": give one of them another name'
            )
    return Suite(
        name=name,
        title=str(document.get("title", name)),
        entries=entries,
        document=dict(document),
        scale=float(scale),
        pauses=float(pauses),
        area_bytes_max=area_bytes,
        log_ios=log_ios,
        profile=str(document.get("profile", "standard")) if scale == pauses == 1.0 else "shortened",
    )


def _check_workloads(test: Test, where: str, subject: Subject) -> None:
    """Refuses what the core would refuse when it is run, which may be hours later."""
    for measurement in (m for phase in test.phases for m in phase.measurements):
        try:
            _core.check_workload(measurement.workload.to_json(), subject.capacity_bytes)
        except ValueError as error:
            # The label of a replay is the name of its trace, by which it was asked for.
            label = "" if where.endswith(measurement.label) else f"{measurement.label}: "
            raise UserError(f"{where}: {label}{error}") from error


def _entry(table: Any, where: str, scale: float, file: str) -> Entry:
    if not isinstance(table, Mapping):
        raise UserError(f"{where}: write it as a table, [[test]]")
    if "use" not in table:
        definition = own_test(table, where, scale, file)
        if definition.name in TESTS:
            raise UserError(
                f'{where}: name = "{definition.name}" is a test of the program: use another name, '
                f'or write use = "{definition.name}"'
            )
        return Entry(definition, definition.name, table, where)
    use = table["use"]
    if not isinstance(use, str) or use not in TESTS:
        raise UserError(f"{where}: use: {unknown('test', str(use), list(TESTS))}")
    name = table.get("name", use)
    if not isinstance(name, str) or not name or "/" in name:
        raise UserError(f"{where}: name = {name!r}: use text without /")
    given = {key: value for key, value in table.items() if key not in ("use", "name")}
    definition = TESTS[use]
    # What is wrong shows when the file is read, not when a target is planned for.
    read_parameters(definition.parameters, given, where)
    return Entry(definition, name, given, where)


def choose_suite(
    suite: Suite | str,
    *,
    parameters: Mapping[str, Any] | None = None,
    scale: float = 1.0,
    quick: bool = False,
    tests: Sequence[str] | None = None,
    log_ios: int | None = None,
) -> Suite:
    """A suite, or the one of that name, as the options of :func:`fourcorners.run` change it; raises
    :class:`UserError` for bad input."""
    chosen = find_suite(suite, parameters) if isinstance(suite, str) else suite
    if tests is not None:
        chosen = chosen.only(tuple(tests))
    if quick:
        chosen = chosen.quick()
    if log_ios is not None:
        chosen = chosen.logging(log_ios)
    return chosen if scale == 1.0 else chosen.shortened(scale)


PROFILES = {"quick": "reviews-quick", "standard": "reviews", "full": "reviews-full"}


def reviews(profile: str) -> Suite:
    """The suite of the reviews with the durations of a profile; raises :class:`UserError`."""
    if profile not in PROFILES:
        raise UserError(unknown("profile", profile, list(PROFILES)))
    return find_suite(PROFILES[profile])
