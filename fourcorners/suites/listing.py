"""The tests and suites that can be run, described."""

from dataclasses import dataclass
from typing import TypedDict, overload

from fourcorners.errors import UserError
from fourcorners.suites.catalog import TESTS
from fourcorners.suites.definition import Definition
from fourcorners.suites.parameters import declared, shown_default, unknown
from fourcorners.suites.suite import find_suite, suite_names


class DescribedParameter(TypedDict):
    """What a parameter is by default, as text, and what it means."""

    default: str
    help: str


@dataclass(frozen=True)
class DescribedTest:
    """A test, and its parameters by name."""

    name: str
    title: str
    source: str
    purpose: str
    parameters: dict[str, DescribedParameter]

    @classmethod
    def of(cls, definition: Definition) -> "DescribedTest":
        """The description of a test of the program."""
        return cls(
            definition.name,
            definition.title,
            definition.source,
            definition.purpose,
            {
                name: {"default": shown_default(field), "help": field.metadata["help"]}
                for name, field in declared(definition.parameters).items()
            },
        )

    @property
    def does(self) -> str:
        """A sentence on what the test does."""
        return " ".join((TESTS[self.name].plan.__doc__ or "").split())


@dataclass(frozen=True)
class DescribedSuite:
    """A suite and the names of its tests."""

    name: str
    title: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class TestsAndSuites:
    """Everything that can be run by name."""

    tests: tuple[DescribedTest, ...]
    suites: tuple[DescribedSuite, ...]


@overload
def list_tests() -> TestsAndSuites: ...


@overload
def list_tests(name: str, /) -> DescribedTest: ...


def list_tests(name: str | None = None, /) -> TestsAndSuites | DescribedTest:
    """All tests and suites, or one test by its name; raises :class:`UserError` for another name."""
    if name is None:
        suites = [find_suite(known) for known in suite_names()]
        return TestsAndSuites(
            tuple(map(DescribedTest.of, TESTS.values())),
            tuple(
                DescribedSuite(one.name, one.title, tuple(entry.name for entry in one.entries))
                for one in suites
            ),
        )
    if name not in TESTS:
        raise UserError(unknown("test", name, list(TESTS), '"fourcorners tests" lists them'))
    return DescribedTest.of(TESTS[name])
