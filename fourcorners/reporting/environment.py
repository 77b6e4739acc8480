"""What a report says of the run itself: its target, its machine, the drive file that it used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fourcorners import wording

from .run import Run

# Twenty times as long as the longest file of the catalog.
_DRIVE_FILE_BYTES_MAX = 100_000

_HEALTH = (
    ("temperature_c", "drive temperature", lambda value: f"{value:.0f} °C"),
    ("used_share", "endurance used", lambda value: f"{value:.0%}".replace("%", " %")),
    ("power_on_h", "powered on", lambda value: f"{value:,} h"),
    ("written_bytes", "written in the drive's life", wording.amount),
    ("media_errors", "media errors", str),
    ("reallocated_sectors", "reallocated sectors", str),
    ("throttled", "slowed down by heat", lambda value: f"{value:,} times"),
)


def _health(health: Mapping[str, Any]) -> dict[str, str]:
    """What the drive told of itself, before and after the run where that differs."""
    before, after = health.get("before") or {}, health.get("after") or {}
    rows = {}
    for key, title, show in _HEALTH:
        values = [show(part[key]) for part in (before, after) if part.get(key) is not None]
        if values:
            rows[title] = " before, ".join(dict.fromkeys(values))
            if len(set(values)) > 1:
                rows[title] += " after"
    return rows


def environment(run: Run) -> dict[str, str]:
    """What is known of the run, its target and its machine, as texts; empty where it is not."""
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
        **_health(manifest.get("health") or {}),
    }
    for key, value in (manifest.get("environment") or {}).items():
        plain = str(key).removesuffix("_bytes")
        readable = value if plain == key or value is None else wording.size(value)
        facts[plain.replace("_", " ")] = readable
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
    exact = wording.finite(byte_count)
    return "" if exact is None else f"{wording.amount(exact)} ({int(exact):,} bytes)"


def facts_table(columns: Sequence[Mapping[str, str]]) -> dict[str, Any]:
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


def drive_file(run: Run) -> list[dict[str, Any]]:
    """The drive file of a simulated run as it was used: sections of (parameter, value, source)."""
    path = run.path / "drive.toml"
    if not path.is_file() or path.stat().st_size > _DRIVE_FILE_BYTES_MAX:
        return []
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return []
    plain = {key: value for key, value in document.items() if not isinstance(value, dict)}
    sections = {"drive": plain, **{k: v for k, v in document.items() if isinstance(v, dict)}}
    return [
        {"name": name, "rows": [(key, *_parameter(value)) for key, value in section.items()]}
        for name, section in sections.items()
        if section
    ]


def _parameter(value: Any) -> tuple[str, str]:
    if isinstance(value, dict) and "value" in value:
        return _fact(value["value"]), _fact(value.get("source"))
    return _fact(value), ""
