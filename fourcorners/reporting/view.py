"""From runs to what the template writes: text, tables and lists, with units, per drive."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.analysis.source import every_operation
from fourcorners.analysis.spec_sheet import left_out
from fourcorners.catalog.claims import Claim

from .chart_data import PLURALS
from .charts import SECTIONS
from .corners import corners, percentiles
from .environment import drive_file, environment, facts_table
from .payload import (
    LATENCIES,
    drive_names,
    findings,
    latency_s,
)
from .published import published_view
from .run import ReportedRun
from .spec import side_by_side, spec_sheet, spec_view

SIDES = (("Good at", "strengths"), ("Weak at", "weaknesses"), ("What to avoid", "avoid"))
LITTLES_LAW = "littles_law"  # about recordings as such, not about a test
ARTEFACT = "artefact_"  # findings that have a list of their own
_ANNOUNCED = (
    ("will be overwritten", "was overwritten"),
    ("that will be destroyed", "that was destroyed"),
)
# Findings whose sentence repeats what a figure writes out.
IN_THE_FIGURE = ("corner_", "rounds_")


def report_view(
    runs: Sequence[ReportedRun], published: Sequence[str] = (), claims: Sequence[Claim] = ()
) -> dict[str, Any]:
    """What the template needs besides the figures' payload; figures of the drives in
    ``published``, and ``claims``, are laid over every run."""
    names = drive_names(runs)
    found = [
        {"drive": name, "index": index, **row}
        for index, (run, name) in enumerate(zip(runs, names, strict=True))
        for row in _findings(run)
    ]
    sheets = [spec_view(spec_sheet(run, published, claims)) for run in runs]
    return {
        "drives": [
            _drive(run, name, index)
            | {"spec": sheets[index], "claimed": any(row["claimed"] for row in sheets[index])}
            for index, (run, name) in enumerate(zip(runs, names, strict=True))
        ],
        "specs": side_by_side(sheets),
        "corners": corners(runs, names),
        "percentiles": percentiles(runs, names),
        "models": _models(runs, names),
        "findings": found,
        "said": _said(found, _test_groups(runs, names)),
        "shown": _shown(runs),
        "tables": _tables(runs, names),
        "tests": _test_groups(runs, names),
        "missing": _missing(runs, names),
        "published": published_view(runs, names, published),
        "environment": facts_table([environment(run) for run in runs]),
        "errors": _errors(runs, names),
    }


def _drive(run: ReportedRun, name: str, index: int) -> dict[str, Any]:
    manifest, target = run.manifest, run.manifest.target
    said = [*findings(run, "summary*"), *findings(run, "explanation")]
    return {
        "index": index,
        "name": name,
        "summary": target.summary,
        "capacity": wording.amount(target.capacity_bytes),
        "verdict": [f.text for f in said if f.text],
        "figures": _figures(run),
        "left_out": left_out(manifest),
        "misleading": _misleading(run),
        "sides": [
            (title, key, lines)
            for title, key in SIDES
            if (lines := [line for f in said for line in _remarks(f.detail, key)])
        ],
        "kind": target.kind,
        "locator": target.locator,
        "settings": {key: str(value) for key, value in target.settings.items()},
        "created": manifest.created,
        "date": manifest.created.replace("T", " ").replace("Z", " UTC"),
        "profile": manifest.profile,
        "suite": manifest.suite,
        "version": manifest.version,
        "command": manifest.command or "",
        "status": manifest.status,
        "notes": [_happened(note) for note in manifest.notes],
        "tests": _tests(run),
        "trouble": [t for t in _tests(run) if t["status"] not in ("complete", "skipped")],
        "drive_file": drive_file(run),
    }


def _figures(run: ReportedRun) -> list[dict[str, str]]:
    """What an explanation is made of: quantities with their intervals, in its order."""
    told = [
        name
        for finding in findings(run, "explanation")
        for name in finding.detail.get("figures") or []
    ]
    return [
        {
            "title": found.title,
            "value": found.shown_value,
            "interval": found.shown_interval,
        }
        for name in told
        for found in findings(run, name)
    ]


def _happened(note: str) -> str:
    """A note that announces what a run does, in the past: its report comes after."""
    for announced, done in _ANNOUNCED:
        note = note.replace(announced, done)
    return note


def _remarks(detail: Mapping[str, Any], key: str) -> list[dict[str, str]]:
    """Sentences with the tests that they rest on."""
    return [
        {"text": str(remark["text"]), "tests": ", ".join(remark["tests"])}
        for remark in (detail.get("remarks") or {}).get(key) or []
    ]


def _misleading(run: ReportedRun) -> list[dict[str, str]]:
    """What may mislead about the run, the severest first, as the analysis sorted it."""
    return [
        {
            "title": finding.title,
            "severity": str(finding.detail.get("severity") or ""),
            "text": finding.text,
        }
        for finding in findings(run, f"{ARTEFACT}*")
    ]


def _tests(run: ReportedRun) -> list[dict[str, Any]]:
    return [
        {
            "name": test.name,
            "title": test.title or test.name,
            "source": test.source or "",
            "status": test.status,
            "reason": test.reason or "",
            "purpose": test.purpose,
            "preparation": _in_rows(test.preparation),
            "parameters": {key: str(value) for key, value in test.parameters.items()},
            "wall": wording.duration(test.wall_s),
            "recordings": [recording.id for recording in test.recordings],
        }
        for test in run.manifest.tests
    ]


def _test_groups(
    runs: Sequence[ReportedRun], names: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Per test, the drives gathered that went through it in the same way."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for run, name in zip(runs, names, strict=True):
        for test in _tests(run):
            same = {key: value for key, value in test.items() if key != "wall"}
            known = groups.setdefault(test["name"], [])
            group = next((g for g in known if g["test"] == same), None)
            if group is None:
                group = {"test": same, "names": [], "commands": []}
                known.append(group)
            group["names"].append(name)
            group["commands"].append(run.manifest.command or "unknown")
    return groups


def _missing(runs: Sequence[ReportedRun], names: Sequence[str]) -> dict[str, list[str]]:
    """Per test, one line for each drive that has no recording of it, with the reason if known."""
    lines: dict[str, list[str]] = {}
    for test in SECTIONS:
        for run, name in zip(runs, names, strict=True):
            if any(one.test == test and one.iops for one in every_operation(run.recordings)):
                continue
            known = [t for t in _tests(run) if t["name"] == test]
            why = (
                f" ({known[0]['status']}: {known[0]['reason']})"
                if known and known[0]["reason"]
                else ""
            )
            said = (
                "has no usable recording of this test" if known else "was not run through this test"
            )
            lines.setdefault(test, []).append(f"{name} {said}{why}.")
    return lines


def _errors(runs: Sequence[ReportedRun], names: Sequence[str]) -> list[str]:
    return [
        f"{name}: {one.error_count:,} I/O errors in {one.recording} ({one.operation})."
        for run, name in zip(runs, names, strict=True)
        for one in every_operation(run.recordings)
        if one.error_count > 0
    ]


def _models(runs: Sequence[ReportedRun], names: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        for operation in ("read", "write"):
            for finding in findings(run, f"access_model_{operation}")[:1]:
                detail = finding.detail
                sequential = wording.finite(detail.get("sequential_rate_bytes_per_second"))
                rows.append(
                    {
                        "index": index,
                        "drive": name,
                        "operation": operation,
                        "rate": wording.mbps(sequential),
                        "rate_binary": wording.number(sequential / 2**20)
                        if sequential
                        else wording.NOTHING,
                        "penalty": wording.duration(detail.get("access_penalty_s")),
                        "half": wording.size(detail.get("half_speed_bytes")),
                        "block": _rewritten_block(detail),
                        "fails": _fails(detail),
                        "verdict": finding.verdict,
                        "method": str(detail.get("method") or ""),
                        "text": finding.text,
                    }
                )
    return rows


def _fails(detail: Mapping[str, Any]) -> str:
    """The sizes at which the model fails, and by how much the worst of them."""
    sizes = detail.get("misfit_range_block_bytes")
    if not sizes:
        return wording.NOTHING
    low, high = (wording.size(size) for size in sizes)
    worst = wording.finite(detail.get("largest_misfit")) or 0.0
    return f"{low if low == high else f'{low} to {high}'} ({wording.change(worst)})"


def _rewritten_block(detail: Mapping[str, Any]) -> str:
    estimate = wording.finite(detail.get("cluster_bytes_estimate"))
    return wording.size(estimate) if estimate is not None else ""


def _findings(run: ReportedRun) -> list[dict[str, Any]]:
    rows = []
    for finding in run.findings:
        name = finding.name
        if name.startswith(("summary", "spec_sheet", "explanation", "averages_", ARTEFACT)):
            continue
        rows.append(
            {
                "name": name,
                "title": finding.title or name,
                "verdict": finding.verdict,
                "value": finding.shown_value,
                "interval": finding.shown_interval,
                "text": finding.text,
                "evidence": [str(item) for item in finding.evidence],
            }
        )
    return rows


def _shown(runs: Sequence[ReportedRun]) -> list[str]:
    """The sections that any of the runs is about; all of them for the reviews' suite."""
    planned = {test.name for run in runs for test in run.manifest.tests}
    reviews = any(run.manifest.suite.startswith("reviews") for run in runs)
    return [section for section in SECTIONS if reviews or section in planned]


def _tables(runs: Sequence[ReportedRun], names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Every recording of the tests without figures of their own, by test."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        for one in every_operation(run.recordings):
            if one.test in SECTIONS:
                continue
            said = one.point.get("operation", one.operation)
            named = one.operation != said or one.point.get("flush_every_writes")
            label = one.of.label
            tables.setdefault(one.test, []).append(
                {
                    "index": index,
                    "drive": name,
                    "label": f"{label}: {PLURALS[one.operation]}" if named else label,
                    "rate": wording.mbps(one.bytes_per_second),
                    "iops": wording.number(one.iops),
                    "latency": [wording.duration(latency_s(one, k)) for k in LATENCIES],
                }
            )
    return tables


def _said(
    found: Sequence[Mapping[str, Any]], tests: Mapping[str, Any]
) -> dict[str, list[Mapping[str, Any]]]:
    """Findings by the section that shows their evidence; `rest` has those of several tests. Those
    of a drive that say the same are one, with all their titles."""
    said: dict[str, dict[tuple[Any, ...], Mapping[str, Any]]] = {}
    for row in found:
        about = {item.split("/")[0] for item in row["evidence"]}
        section = about.pop() if len(about) == 1 else "rest"
        if row["name"] == LITTLES_LAW:
            section = "rest"
        if row["text"] and not row["name"].startswith(IN_THE_FIGURE):
            known = section in SECTIONS or section in tests
            rows = said.setdefault(section if known else "rest", {})
            alike = (row["index"], row["verdict"], row["text"])
            titles = [one["title"] for one in (rows.get(alike), row) if one is not None]
            rows[alike] = {**row, "title": "; ".join(titles)}
    return {section: list(rows.values()) for section, rows in said.items()}


def _in_rows(steps: Iterable[str]) -> list[str]:
    """Steps in order; of those that follow one another and are alike, one and how many."""
    counted = [(step, sum(1 for _ in alike)) for step, alike in itertools.groupby(steps)]
    return [step if count == 1 else f"{step}, {count:,} times" for step, count in counted]
