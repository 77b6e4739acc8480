"""What a report says of the run itself: its target, its machine, the drive file that it used."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fourcorners import wording
from fourcorners.machine.health import Health

from .run import ReportedRun

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


def _health(readings: Iterable[Health | None]) -> dict[str, str]:
    """What the drive told of itself, before and after the run where that differs."""
    rows = {}
    for key, title, show in _HEALTH:
        known = [getattr(one, key) for one in readings if one is not None]
        values = [show(value) for value in known if value is not None]
        if values:
            rows[title] = " before, ".join(dict.fromkeys(values))
            if len(set(values)) > 1:
                rows[title] += " after"
    return rows


def environment(run: ReportedRun) -> dict[str, str]:
    """What is known of the run, its target and its machine, as texts; empty where it is not."""
    manifest, target, health = run.manifest, run.manifest.target, run.manifest.health or {}
    facts: dict[str, Any] = {
        "target": target.locator,
        "kind of target": target.kind,
        "capacity": _exact_capacity(target.capacity_bytes),
        "settings": ", ".join(f"{key}={value}" for key, value in target.settings.items()),
        "drive file sha256": target.specification_sha256,
        "suite": manifest.suite,
        "profile": manifest.profile,
        "seed": manifest.seed,
        "run": manifest.id,
        "started": manifest.created,
        "status": manifest.status,
        "fourcorners": manifest.version,
        "command": manifest.command,
        **_health([health.get("before"), health.get("after")]),
    }
    for key, value in manifest.environment.items():
        plain = key.removesuffix("_bytes")
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


def drive_file(run: ReportedRun) -> list[dict[str, Any]]:
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
