"""``fourcorners compare``: runs against each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fourcorners.analysis.quantity import THROUGHPUT
from fourcorners.cli.output import print_json
from fourcorners.comparison import Check, Comparison, compare, parse_gate, parse_subject
from fourcorners.comparison.documents import junit, markdown, to_dict
from fourcorners.comparison.page import render_page
from fourcorners.comparison.verdict import NOTHING_SHOWN, change, verdicts
from fourcorners.errors import EXIT_GATE, UserError, os_reason
from fourcorners.wording import mbps, number
from fourcorners.writing import write_whole

# A sweep of more points than this is told by the verdict and by --json.
_POINTS_SHOWN_MAX = 8
_OUTCOME_STYLES = {"failed": "bold red", "undecided": "yellow"}


@dataclass(frozen=True)
class Options:
    """The options of the command, parsed."""

    fail_if: Sequence[str]
    junit: Path | None
    markdown: Path | None
    html: Path | None
    json: bool
    quiet: bool


def run(spellings: Sequence[str], options: Options) -> int:
    """Compares, tries the gates, and returns the exit code."""
    gates = [parse_gate(text) for text in options.fail_if]
    comparison = compare([parse_subject(text) for text in spellings])
    checks = [check for gate in gates for check in gate.check(comparison)]
    if options.junit is not None:
        _write(junit(checks), options.junit)
    if options.markdown is not None:
        _write(markdown(comparison, checks), options.markdown)
    if options.html is not None:
        _write(render_page(comparison, checks), options.html)
    if options.json:
        print_json(to_dict(comparison, checks))
    elif not options.quiet:
        Console().print(_rendered(comparison, checks))
    return EXIT_GATE if any(check.outcome == "failed" for check in checks) else 0


def _write(text: str, path: Path) -> None:
    try:
        write_whole(text, path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {os_reason(error)}") from error


def _rendered(comparison: Comparison, checks: Sequence[Check]) -> Group:
    parts: list[RenderableType] = []
    for verdict in verdicts(comparison):
        parts.append(Text(verdict.title, style="bold"))
        for heading, phrases in verdict.statements:
            parts += [
                Text(heading),
                *(Padding(Text(phrase), (0, 0, 0, 2), expand=False) for phrase in phrases),
            ]
        if not verdict.statements:
            parts.append(Text(NOTHING_SHOWN))
        parts.append(Text(""))
    if comparison.settings:
        parts += [
            Text("What differs between the runs", style="bold"),
            *(
                Padding(Text(setting.words), (0, 0, 0, 2), expand=False)
                for setting in comparison.settings
            ),
            Text(""),
        ]
    if comparison.claims:
        parts += [
            Text("What is claimed", style="bold"),
            *(
                Padding(Text(f"{one.subject}: {one.words}"), (0, 0, 0, 2), expand=False)
                for one in comparison.claims
            ),
            Text(""),
        ]
    parts += [Text(caution, style="yellow") for caution in comparison.cautions]
    if comparison.left_out:
        count = len(comparison.left_out)
        parts.append(
            Text(f"Not compared, for not all have them alike: {count} recordings (--json).")
        )
    parts += [Text(""), _ranking(comparison)]
    parts += [
        part
        for subject in comparison.subjects[1:]
        for part in (Text(""), _throughput(comparison, subject.label))
    ]
    if checks:
        parts += [Text(""), *_gates(checks)]
    return Group(*parts)


def _ranking(comparison: Comparison) -> Group:
    lines: list[RenderableType] = [
        Text("Ranking by throughput, as a multiple of the baseline", style="bold")
    ]
    for group, ranks in comparison.ranking.items():
        if not ranks:
            continue
        places: dict[int, list[str]] = {}
        for rank in ranks:
            places.setdefault(rank.place, []).append(f"{rank.subject} ({number(rank.relative)})")
        order = "; ".join(f"{place}. {', '.join(names)}" for place, names in places.items())
        lines += [Text(group.words, style="dim"), Padding(Text(order), (0, 0, 0, 2), expand=False)]
    return Group(*lines)


def _throughput(comparison: Comparison, subject: str) -> Table:
    base = comparison.baseline.label
    table = Table(
        box=None,
        pad_edge=False,
        title=f"Throughput, MB/s: {subject} against {base}",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("")
    for column in ("baseline", "this", "change, 90 % interval"):
        table.add_column(column, justify="right", no_wrap=True)
    for group in comparison.groups:
        differences = comparison.of(group, subject, THROUGHPUT)
        if len(differences) > _POINTS_SHOWN_MAX:
            continue
        for difference in differences:
            table.add_row(
                Text(difference.label),
                mbps(difference.baseline),
                mbps(difference.value),
                Text(change(difference), style="" if difference.told else "dim"),
            )
    return table


def _gates(checks: Sequence[Check]) -> list[RenderableType]:
    passed = sum(check.outcome == "passed" for check in checks)
    lines: list[RenderableType] = [
        Text(f"Gates: {passed} of {len(checks)} checks passed", style="bold")
    ]
    for check in checks:
        if check.outcome != "passed":
            lines.append(
                Text.assemble(
                    (check.outcome, _OUTCOME_STYLES[check.outcome]),
                    f"  {check.gate.text}  {check.subject}, {check.recording}: {check.words}",
                )
            )
    return lines
