"""A user's suite file says a test's phases, what they are repeated for, its labels and charts."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from fourcorners.documents import changed
from fourcorners.errors import UserError
from fourcorners.manifest import Chart
from fourcorners.suites import Subject
from fourcorners.suites import Test as PlannedTest
from fourcorners.suites.steps import Fill, Purge
from fourcorners.suites.suite import find_suite, suite_of_text
from fourcorners.suites.test import Phase

DRIVE = Subject("simulated", 256_060_514_304)
HEAD = 'schema_version = 1\nname = "mine"\n'
DOCS = Path(__file__).parents[1] / "docs" / "suites.md"
WORKLOAD = 'duration = "2 s"\nreads = 0\nblock = "4 KiB"\npattern = "random"\n'


def _planned(text: str, subject: Subject = DRIVE) -> PlannedTest:
    [test] = suite_of_text(HEAD + text, "mine.toml").plan(subject).tests
    return test


def _refused(text: str) -> str:
    with pytest.raises(UserError) as refused:
        _planned(text)
    return str(refused.value)


def test_the_example_of_the_documents_does_what_they_say() -> None:
    section = DOCS.read_text("utf-8").partition("### Phases, labels and charts")[2]
    test = _planned(section.partition("```toml\n")[2].partition("```")[0])
    half, most = test.phases
    assert isinstance(half, Phase)
    assert half.preparation == (Purge(), Fill(DRIVE.share_bytes(0.5)))
    [write] = half.measurements
    assert (write.id, write.label) == ("cliff/filled-50", "4 KiB random write, 50 % filled")
    assert write.axes["variant"] == "50 % filled"
    assert write.stream.span_bytes == DRIVE.share_bytes(0.5)
    assert most.measurements[0].id == "cliff/filled-90"
    chart = Chart("seconds", "IOPS by the second", "iops", series=("variant",), log="y")
    assert test.charts == (changed(chart, ids="cliff/"),)


def test_a_phase_that_continues_keeps_what_was_left() -> None:
    begin = f'[[test]]\nname = "a"\n[[test.phase]]\n[[test.phase.workload]]\n{WORKLOAD}'
    test = _planned(f"{begin}[[test.phase]]\ncontinues = true\n[[test.phase.workload]]\n{WORKLOAD}")
    _, second = test.phases
    assert second.continues
    assert second.preparation == ()
    assert [m.id for phase in test.phases for m in phase.measurements] == [
        "a/workload-1",
        "a/workload-2",
    ]


def test_sizes_of_a_sweep_that_a_target_cannot_address_are_left_out() -> None:
    sweep = WORKLOAD.replace('"4 KiB"', '["512 B", "4 KiB", "1 GB"]')
    test = _planned(
        f'[[test]]\nname = "a"\n[[test.workload]]\n{sweep}span = "8 MiB"\n',
        dataclasses.replace(DRIVE, request_alignment_bytes=4096),
    )
    assert [m.stream.block_bytes for phase in test.phases for m in phase.measurements] == [4096]
    assert test.parameters["left out"] == "512 B, 1 GB: the target cannot address them"


def test_sizes_that_a_phase_is_repeated_for_are_left_out_too() -> None:
    begin = '[[test]]\nname = "a"\n[[test.phase]]\neach = { block = ["512 B", "4 KiB"] }\n'
    workload = WORKLOAD.replace('"4 KiB"', '"{block}"')
    test = _planned(
        f"{begin}[[test.phase.workload]]\n{workload}",
        dataclasses.replace(DRIVE, request_alignment_bytes=4096),
    )
    assert [m.stream.block_bytes for phase in test.phases for m in phase.measurements] == [4096]
    assert test.parameters["left out"] == "512 B: the target cannot address them"


def test_each_names_the_measurements_of_its_phases() -> None:
    begin = '[[test]]\nname = "a"\n[[test.phase]]\neach = { filled = ["50 %", "90 %"] }\n'
    test = _planned(f"{begin}[[test.phase.workload]]\n{WORKLOAD}")
    first, second = (m for phase in test.phases for m in phase.measurements)
    assert (first.id, second.id) == ("a/workload-1/filled-50-%", "a/workload-1/filled-90-%")
    assert first.label == "workload-1, filled 50 %"
    assert first.axes == {"filled": "50 %", "workload": "workload-1"}


def test_everything_is_written_once() -> None:
    write = WORKLOAD.replace('duration = "2 s"', 'amount = "everything"')
    test = _planned(f'[[test]]\nname = "a"\n[[test.workload]]\n{write}')
    [measurement] = test.phases[0].measurements
    assert measurement.workload.volume_bytes == DRIVE.capacity_bytes // 4096 * 4096


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[[test.phase]]\neach = {{ speed = [1] }}\n[[test.phase.workload]]\n{WORKLOAD}", "speed"),
        (f'[[test.workload]]\n{WORKLOAD}span = "{{size}}"\n', 'no parameter named "size"'),
        (f'[[test.workload]]\n{WORKLOAD}id = "{{deep}}"\n', 'no parameter named "deep"'),
        (f'prepare = ["fill {{x}}"]\n[[test.workload]]\n{WORKLOAD}', 'no parameter named "x"'),
        (
            "[[test.phase]]\neach = { content = ['repeated'] }\n[[test.phase.workload]]\n"
            + WORKLOAD.replace("2 s", "{content}"),
            "{content} stands for a content, and this must be a duration",
        ),
        (
            f'prepare = ["fill with {{area}}"]\n[[test.workload]]\n{WORKLOAD}',
            "{area} stands for a size, and this must be a content",
        ),
        (
            f"prepare = []\n[[test.phase]]\n[[test.phase.workload]]\n{WORKLOAD}",
            "prepare stands beside [[test.phase]]",
        ),
        (f"[[test.workload]]\n{WORKLOAD}[[test.chart]]\ntitle = 'x'\nkind = 'pie'\n", '"pie"'),
        (f"[[test.workload]]\n{WORKLOAD}[[test.chart]]\nkind = 'lines'\n", "title is missing"),
        (f"chart = 3\n[[test.workload]]\n{WORKLOAD}", "chart must be tables"),
        (
            f"[[test.workload]]\n{WORKLOAD}id = 'same'\n[[test.workload]]\n{WORKLOAD}id = 'same'\n",
            'two measurements are named "same"',
        ),
    ],
)
def test_a_mistake_is_one_sentence(text: str, said: str) -> None:
    error = _refused(f'[[test]]\nname = "a"\n{text}')
    assert said in error
    assert error.startswith("mine.toml")
    assert "\n" not in error


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("queue-depth", {"block": "64 KiB"}),
        ("block-size-matrix", {"depths": [3]}),
        ("mix", {"reads": "30 %"}),
        ("atto", {"span": "1 GiB"}),
        ("consistency-filled", {"filled": ["10 %"]}),
    ],
)
def test_a_parameter_changes_what_is_done(name: str, given: dict[str, Any]) -> None:
    [test] = find_suite(name).plan(DRIVE).tests
    [other] = find_suite(name, given).plan(DRIVE).tests
    assert test.phases != other.phases
    assert test.parameters != other.parameters
