"""Turns results into the data of the page's plots, in the form that the report's figures read."""

from collections.abc import Iterable
from typing import Any

from fourcorners.suites.common import OPERATIONS
from fourcorners.suites.tests import transfer_rate
from fourcorners_validation.reproduction import studies
from fourcorners_validation.reproduction.charts import filled_series, name_of
from fourcorners_validation.reproduction.experiment import NotRunError, Results
from fourcorners_validation.reproduction.recorded import Recorded
from fourcorners_validation.reproduction.source import SOURCES

# The plots' drives, in the order of their colours, which repeat after eight.
_CORE = ("Core", "WD", "WD/cache off")
_SATA_FIRST, _VECTOR_FIRST, _OWC_FIRST, _FILLED_FIRST, _RECOVERY_FIRST = 3, 8, 16, 24, 32
_FILLED = {25: "25 % filled", 50: "50 % filled", 75: "75 % filled", 100: "full"}
_RECOVERY = {
    "before": "hammered",
    "idle-60": "after 1 min idle",
    "idle-600": "after 10 min idle",
    "trim": "after TRIM",
}
FILLED_STEP_S = 5
"""Seconds that one dot of the plot by share represents."""


def payload(results: Results) -> dict[str, Any]:
    """Everything that the plots need, ready for ``json.dumps(..., allow_nan=False)``."""
    core, owc, sata, vector = (
        SOURCES[name].recorded(results) for name in ("core", "owc", "sata", "vector")
    )
    names: list[str] = []
    for first, more in (
        (0, [name_of(core, "Core"), name_of(core, "WD"), f"{name_of(core, 'WD')}, no cache"]),
        (_SATA_FIRST, [name_of(sata, drive) for drive in sata.names.listed("drives")]),
        (_VECTOR_FIRST, [name_of(vector, drive) for drive in vector.names.listed("drives")]),
        (_OWC_FIRST, [name_of(owc, drive) for drive in owc.names.listed("bars")]),
        (_FILLED_FIRST, list(_FILLED.values())),
        (_RECOVERY_FIRST, list(_RECOVERY.values())),
    ):
        names += [""] * (first - len(names))
        names += more
    return {
        "drives": names,
        "transferSize": _transfer_sizes(core),
        "models": _models(core),
        "profiles": [
            _profile(core, index, drive)
            for index, drive in enumerate(_CORE[:2])
            if core.is_there(drive)
        ],
        "depths": [
            {
                "title": f"64 KiB random {operation}s",
                "operation": operation,
                "lines": [
                    _line(index, core.names.listed("depths"), core.iops(drive, _depths(operation)))
                    for index, drive, measured in _core_recordings(core)
                    if measured == operation
                ],
            }
            for operation in OPERATIONS
        ],
        "links": [
            {
                "title": f"{operation.capitalize()}s on {link}",
                "operation": operation,
                "lines": _lines(
                    sata, _SATA_FIRST, "drives", link, f"queue-depth/{operation}/", "depths"
                ),
            }
            for operation in OPERATIONS
            for link in ("3 Gb/s", "6 Gb/s")
        ],
        "consistency": [
            {
                "drive": _VECTOR_FIRST + index,
                "id": vector.names.drives["vector"][drive],
                "operation": "write",
                "label": "",
                "cut": False,
                "ios": list(vector.one(drive, studies.RUN).second_ios),
            }
            for index, drive in enumerate(vector.names.listed("drives"))
            if vector.is_there(drive)
        ],
        "atto": [
            {
                "title": f"Sequential {operation}s",
                "operation": operation,
                "lines": _lines(
                    owc, _OWC_FIRST, "bars", "sweep", f"atto/{operation}/", "atto_sizes"
                ),
            }
            for operation in OPERATIONS
        ],
        "filled": [_filled(vector, drive) for drive in vector.names.listed("drives")],
        "recovery": [
            {
                "title": name_of(vector, drive),
                "operation": "write",
                "lines": [
                    _line(_RECOVERY_FIRST + index, range(len(ios)), ios)
                    for index, id in enumerate(_RECOVERY)
                    for ios in [vector.one(drive, f"{id}/write").second_ios]
                ],
            }
            for drive in vector.names.listed("drives")
            if vector.is_there(drive)
        ],
    }


def _line(drive: int, x: Iterable[Any], y: Iterable[float]) -> dict[str, Any]:
    points = [[int(place), _round(value)] for place, value in zip(x, y, strict=True)]
    return {"drive": drive, "points": points}


def _lines(
    recorded: Recorded, first: int, drives: str, variant: str, sweep: str, values: str
) -> list[dict[str, Any]]:
    """MB/s of each drive along a sweep."""
    return [
        _line(
            first + index,
            recorded.names.listed(values),
            recorded.mbps(f"{drive}/{variant}", f"{sweep}{{{values}}}"),
        )
        for index, drive in enumerate(recorded.names.listed(drives))
        if recorded.is_there(f"{drive}/{variant}")
    ]


def _depths(operation: str) -> str:
    return f"depth/{operation}/{{depths}}"


def _core_recordings(core: Recorded) -> list[tuple[int, str, str]]:
    """Index, drive and operation of each measurement, reads first; without its cache the disk is
    only written to."""
    return [
        (index, drive, operation)
        for operation in OPERATIONS
        for index, drive in enumerate(_CORE)
        if core.is_there(drive) and (operation == "write" or "/" not in drive)
    ]


def _transfer_sizes(core: Recorded) -> list[dict[str, Any]]:
    return [
        {
            "drive": index,
            "operation": operation,
            "points": [
                {
                    "x": size,
                    "block": size,
                    "bps": _round(measured.bytes_per_second),
                    "iops": _round(measured.iops),
                    "latency": {
                        "mean": _round(measured.latency_mean_s),
                        "max": _round(measured.latency_max_s),
                    },
                    "rateInterval": None,
                    "latencyInterval": {"mean": None, "p99": None},
                }
                for size in core.names.texts["sizes"]
                for measured in [core.one(drive, f"size/{operation}/{size}")]
            ],
        }
        for index, drive, operation in _core_recordings(core)
    ]


def _models(core: Recorded) -> list[dict[str, Any]]:
    lines = []
    for index, drive, operation in _core_recordings(core):
        predicted = studies.model(core, drive, operation).bytes_per_second(studies.sizes(core))
        lines.append(
            {
                "drive": index,
                "operation": operation,
                "block": core.names.texts["sizes"],
                "predicted": [_round(v) for v in predicted],
                "misfit": [_round(v) for v in studies.misfit(core, drive, operation)],
            }
        )
    return lines


def _profile(core: Recorded, index: int, drive: str) -> dict[str, Any]:
    """Positions in percent of the drive, rates in MB/s, access times in seconds."""
    lines: dict[str, Any] = {
        operation: [
            [_round(100 * place / (transfer_rate.PLACES - 1)), _round(rate)]
            for place, rate in enumerate(core.mbps(drive, f"profile/{operation}/{{0..63}}"))
        ]
        for operation in OPERATIONS
    }
    shares = transfer_rate.access_shares(transfer_rate.ACCESSES)
    times = core.latency_s(drive, "profile/access/{0..399}")
    access = [[_round(100 * s), _round(t)] for s, t in zip(shares, times, strict=True)]
    return {"drive": index, **lines, "access": access}


def _filled(vector: Recorded, drive: str) -> dict[str, Any]:
    """A panel for each drive; dots are means of some seconds each."""
    lines = []
    for index, percent in enumerate(_FILLED):
        try:
            seconds = filled_series(vector, drive, percent)
        except NotRunError:
            continue
        steps = seconds[: len(seconds) // FILLED_STEP_S * FILLED_STEP_S]
        means = steps.reshape(-1, FILLED_STEP_S).mean(axis=1)
        starts = range(0, len(steps), FILLED_STEP_S)
        lines.append(_line(_FILLED_FIRST + index, starts, means))
    return {"title": name_of(vector, drive), "operation": "write", "lines": lines}


def _round(value: float) -> float:
    return float(f"{value:.6g}")
