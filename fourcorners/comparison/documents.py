"""A comparison for machines and merge requests: JUnit XML, Markdown."""

from __future__ import annotations

from xml.etree import ElementTree

from fourcorners.comparison.check import by_gate
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.verdict import NOTHING_SHOWN, verdicts


def junit(comparison: Comparison) -> str:
    """JUnit XML, a test case for each check; one that is undecided passes and says so."""
    checks = comparison.checks
    failed = sum(check.outcome == "failed" for check in checks)
    suite = ElementTree.Element(
        "testsuite", name="fourcorners compare", tests=str(len(checks)), failures=str(failed)
    )
    for check in checks:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=check.subject,
            name=f"{check.gate.text} [{check.recording}]",
        )
        if check.outcome == "failed":
            ElementTree.SubElement(case, "failure", message=check.words)
        elif check.outcome == "undecided":
            ElementTree.SubElement(case, "system-out").text = f"undecided: {check.words}"
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def markdown(comparison: Comparison) -> str:
    """A short summary: verdicts, cautions and gates."""
    lines: list[str] = []
    for verdict in verdicts(comparison):
        lines += [f"## {_cell(verdict.title)}", ""]
        lines += [
            f"- {heading} {_cell(phrase)}"
            for heading, phrases in verdict.statements
            for phrase in phrases
        ] or [NOTHING_SHOWN]
        lines.append("")
    lines += [f"- {_cell(caution)}" for caution in comparison.cautions]
    lines += [f"- {_cell(f'{one.subject}: {one.words}')}." for one in comparison.flash]
    if comparison.settings:
        told = "; ".join(setting.words for setting in comparison.settings)
        lines.append(f"- What differs between the runs: {_cell(told)}.")
    lines += [f"- {_cell(f'{one.subject}: {one.words}')}" for one in comparison.claims]
    if comparison.checks:
        lines += [
            "",
            "| gate | recording | subject | measured | |",
            "| --- | --- | --- | --- | --- |",
        ]
        for tried in by_gate(comparison.checks):
            lines += [
                f"| `{check.gate.text}` | {check.recording} | {_cell(check.subject)} "
                f"| {check.words} | **{check.outcome}** |"
                for check in tried.worst
            ]
            more = f" ({tried.rest})" if tried.rest else ""
            lines.append(f"| `{tried.gate.text}` | {tried.words}{more} | | | |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text that neither ends a table's cell nor is taken for markup."""
    for sign in "\\|<>*_[]":
        text = text.replace(sign, "\\" + sign)
    return text
