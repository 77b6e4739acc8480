"""From runs to what the template writes: text, tables and lists, with units, per drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import formatting
from .payload import CORNERS, LATENCIES, corner_of, drive_names, findings, joined
from .run import Run

CORNER_TITLES = {
    "random-read": "random read",
    "random-write": "random write",
    "sequential-read": "sequential read",
    "sequential-write": "sequential write",
}
DRIVE_FILE_LIMIT_BYTES = 100_000
SHOWN_ELSEWHERE = ("summary", "access_model_")  # findings that have their own place on the page


def report_view(runs: Sequence[Run]) -> dict[str, Any]:
    """What the template needs besides the figures' payload."""
    names = drive_names(runs)
    return {
        "drives": [
            _drive(run, name, index)
            for index, (run, name) in enumerate(zip(runs, names, strict=True))
        ],
        "corners": [_corner(runs, names, corner) for corner in CORNERS],
        "percentiles": _percentiles(runs, names),
        "models": _models(runs, names),
        "findings": [
            {"drive": name, "index": index, "rows": rows}
            for index, (run, name) in enumerate(zip(runs, names, strict=True))
            if (rows := _findings(run))
        ],
        "tests": _test_groups(runs, names),
        "missing": _missing(runs, names),
        "environment": _table([_environment(run) for run in runs]),
        "errors": _errors(runs, names),
    }


def _drive(run: Run, name: str, index: int) -> dict[str, Any]:
    manifest, target = run.manifest, run.manifest.get("target") or {}
    said = findings(run, "summary*")
    return {
        "index": index,
        "name": name,
        "summary": str(target.get("summary") or ""),
        "capacity": formatting.capacity(target.get("capacity_bytes")),
        "verdict": [str(f["text"]) for f in said if f.get("text")],
        "strengths": [str(s) for f in said for s in (f.get("detail") or {}).get("strengths") or []],
        "weaknesses": [
            str(s) for f in said for s in (f.get("detail") or {}).get("weaknesses") or []
        ],
        "kind": str(target.get("kind") or "unknown"),
        "locator": str(target.get("locator") or ""),
        "settings": {str(k): str(v) for k, v in (target.get("settings") or {}).items()},
        "created": str(manifest.get("created") or ""),
        "date": str(manifest.get("created") or "").replace("T", " ").replace("Z", " UTC"),
        "profile": str(manifest.get("profile") or ""),
        "suite": str(manifest.get("suite") or ""),
        "version": str(manifest.get("version") or ""),
        "command": str(manifest.get("command") or ""),
        "status": str(manifest.get("status") or "unknown"),
        "notes": [str(note) for note in manifest.get("notes") or []],
        "tests": _tests(run),
        "trouble": [t for t in _tests(run) if t["status"] not in ("complete", "skipped")],
        "drive_file": _drive_file(run),
    }


def _tests(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "name": str(test.get("name") or ""),
            "title": str(test.get("title") or test.get("name") or ""),
            "source": str(test.get("source") or ""),
            "status": str(test.get("status") or "unknown"),
            "reason": str(test.get("reason") or ""),
            "purpose": str(test.get("purpose") or ""),
            "preparation": [str(step) for step in test.get("preparation") or []],
            "parameters": {str(k): str(v) for k, v in (test.get("parameters") or {}).items()},
            "wall": formatting.duration(test.get("wall_s")),
            "recordings": [str(r.get("id")) for r in test.get("recordings") or []],
        }
        for test in run.manifest.get("tests") or []
    ]


def _test_groups(runs: Sequence[Run], names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
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
            group["commands"].append(str(run.manifest.get("command") or "unknown"))
    return groups


def _missing(runs: Sequence[Run], names: Sequence[str]) -> dict[str, list[str]]:
    """Per test, one line for each drive that has no recording of it, with the reason if known."""
    lines: dict[str, list[str]] = {}
    for test in ("four-corners", "queue-depth", "transfer-size", "consistency"):
        for run, name in zip(runs, names, strict=True):
            if any(
                row["test"] == test and formatting.number(row.get("iops")) for row in joined(run)
            ):
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


def _errors(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    return [
        f"{name}: {int(count):,} I/O errors in {row.get('recording')} ({row['operation']})."
        for run, name in zip(runs, names, strict=True)
        for row in joined(run)
        if (count := formatting.number(row.get("errors")) or 0) > 0
    ]


def _corner(runs: Sequence[Run], names: Sequence[str], corner: str) -> dict[str, Any]:
    """One corner: a block per queue depth, in it a group per drive, in it a bar per data kind."""
    blocks: dict[float, dict[int, list[dict[str, Any]]]] = {}
    block_bytes: object = None
    for index, run in enumerate(runs):
        for row in joined(run):
            point = row["point"]
            if corner_of(row) != corner:
                continue
            if (moved := formatting.number(row.get("bytes_per_second"))) is None:
                continue
            block_bytes = block_bytes or point.get("block_bytes")
            depth = formatting.number(point.get("queue_depth")) or 0
            blocks.setdefault(depth, {}).setdefault(index, []).append(
                {
                    "content": _content(str(point.get("content") or "")),
                    "bps": moved,
                    "rate": formatting.rate(moved),
                    "iops": formatting.significant(row.get("iops")),
                    "mean": formatting.duration(row.get("latency_mean_s")),
                    "p99": formatting.duration(row.get("latency_p99_s")),
                    "max": formatting.duration(row.get("latency_max_s")),
                }
            )
    bars = [bar for block in blocks.values() for group in block.values() for bar in group]
    top = max((bar["bps"] for bar in bars), default=0.0)
    for bar in bars:
        bar["share"] = round(100 * bar["bps"] / top, 2) if top else 0.0
    size = formatting.size(block_bytes) if block_bytes else ""
    return {
        "title": f"{size} {CORNER_TITLES[corner]}".strip(),
        "kinds": sorted({bar["content"] for bar in bars}),
        "blocks": [
            {
                "label": f"queue depth {depth:g}" if depth else "",
                "groups": [
                    {"index": index, "name": names[index], "bars": bars}
                    for index, bars in sorted(block.items())
                ],
            }
            for depth, block in sorted(blocks.items())
        ],
    }


def _content(content: str) -> str:
    ratio = content.removeprefix("compressible:")
    return content if ratio == content else f"{ratio} % compressible"


def _percentiles(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    rows = [
        {
            "index": index,
            "drive": name,
            "label": row["label"],
            "ios": formatting.significant(row.get("ios")),
            "latency": [formatting.duration(row.get(f"latency_{key}_s")) for key in LATENCIES],
            "order": (
                CORNERS.index(corner),
                row["point"].get("queue_depth") or 0,
                row["label"],
                index,
            ),
        }
        for index, (run, name) in enumerate(zip(runs, names, strict=True))
        for row in joined(run)
        if (corner := corner_of(row)) in CORNERS
    ]
    return sorted(rows, key=lambda row: row["order"])


def _models(runs: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for index, (run, name) in enumerate(zip(runs, names, strict=True)):
        for operation in ("read", "write"):
            for finding in findings(run, f"access_model_{operation}")[:1]:
                detail = finding.get("detail") or {}
                sequential = formatting.number(detail.get("sequential_rate_bytes_per_second"))
                rows.append(
                    {
                        "index": index,
                        "drive": name,
                        "operation": operation,
                        "rate": formatting.rate(sequential),
                        "rate_binary": formatting.significant(sequential / 2**20)
                        if sequential
                        else formatting.NOTHING,
                        "penalty": formatting.duration(detail.get("access_penalty_s")),
                        "half": formatting.size(detail.get("half_speed_bytes")),
                        "cluster": _cluster(detail),
                        "verdict": str(finding.get("verdict") or ""),
                        "method": str(detail.get("method") or ""),
                        "text": str(finding.get("text") or ""),
                    }
                )
    return rows


def _cluster(detail: Mapping[str, Any]) -> str:
    estimate = formatting.number(detail.get("cluster_bytes_estimate"))
    return formatting.size(estimate) if estimate is not None else ""


def _findings(run: Run) -> list[dict[str, str]]:
    rows = []
    for finding in run.findings:
        name = str(finding.get("name") or "")
        if name.startswith(SHOWN_ELSEWHERE):
            continue
        interval = finding.get("interval")
        bounds = (
            list(interval) if isinstance(interval, (list, tuple)) and len(interval) == 2 else []
        )
        unit = finding.get("unit")
        rows.append(
            {
                "name": name,
                "title": str(finding.get("title") or name),
                "verdict": str(finding.get("verdict") or ""),
                "value": formatting.quantity(finding.get("value"), unit),
                "interval": " to ".join(formatting.quantity(bound, unit) for bound in bounds)
                if all(formatting.number(bound) is not None for bound in bounds)
                else "",
                "text": str(finding.get("text") or ""),
                "evidence": ", ".join(str(item) for item in finding.get("evidence") or []),
            }
        )
    return rows


def _environment(run: Run) -> dict[str, str]:
    manifest, target = run.manifest, run.manifest.get("target") or {}
    facts: dict[str, Any] = {
        "target": target.get("locator"),
        "kind of target": target.get("kind"),
        "capacity": _exact_capacity(target.get("capacity_bytes")),
        "settings": ", ".join(f"{k}={v}" for k, v in (target.get("settings") or {}).items()),
        "drive file sha256": target.get("specification_sha256"),
        "suite": manifest.get("suite"),
        "profile": manifest.get("profile"),
        "seed": manifest.get("seed"),
        "run": manifest.get("id"),
        "started": manifest.get("created"),
        "status": manifest.get("status"),
        "fourcorners": manifest.get("version"),
        "command": manifest.get("command"),
    }
    for key, value in (manifest.get("environment") or {}).items():
        facts[str(key).replace("_", " ")] = value
    return {key: _fact(value) for key, value in facts.items()}


def _fact(value: Any) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_fact(item) or 'unknown'}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_fact(item) for item in value)
    return str(value)


def _exact_capacity(byte_count: object) -> str:
    exact = formatting.number(byte_count)
    return "" if exact is None else f"{formatting.capacity(exact)} ({int(exact):,} bytes)"


def _table(columns: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Facts as rows and drives as columns; a fact that no drive knows is left out."""
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [
        (key, [column.get(key) or "unknown" for column in columns])
        for key in keys
        if any(column.get(key) for column in columns)
    ]
    unknown = [
        key for key in keys if not any(column.get(key) for column in columns) and key != "settings"
    ]
    return {"rows": rows, "unknown": unknown}


def _drive_file(run: Run) -> str:
    """The drive file of a simulated run, as it was used."""
    path = run.path / "drive.toml"
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(DRIVE_FILE_LIMIT_BYTES).decode("utf-8", errors="replace")
