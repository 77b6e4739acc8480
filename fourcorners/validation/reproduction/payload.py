"""From results to what the page's plots draw, in the shapes that the report's figures read."""

from typing import Any

from fourcorners.suites.common import OPERATIONS, Operation
from fourcorners.suites.tests import transfer_rate, transfer_size
from fourcorners.validation.reproduction.experiment import NotRunError, Results, SimulatedResult
from fourcorners.validation.reproduction.experiments import (
    core,
    core_checks,
    owc,
    owc_readers,
    sata,
    vector,
    vector_more,
)
from fourcorners.validation.reproduction.figure import drive_name

# The plots' drives, in the order of their colours; a colour comes back after eight.
_CORE_NAMES = {
    core.CORE_KEY: drive_name(core.CORE),
    core.DISK_KEY: drive_name(core.DISK),
    core.UNCACHED_KEY: f"{drive_name(core.DISK)}, no cache",
}
_SATA_FIRST = len(_CORE_NAMES)
_VECTOR_FIRST = 8
_OWC_FIRST = 16
_FILLED_FIRST = 24
_FILLED = {0.25: "25 % filled", 0.5: "50 % filled", 0.75: "75 % filled", 1.0: "full"}
_RECOVERY_FIRST = 32
FILLED_STEP_S = 5
"""Seconds that a dot of the plot by share stands for."""


def payload(results: Results) -> dict[str, Any]:
    """Everything that the plots need, ready for ``json.dumps(..., allow_nan=False)``."""
    names = [*_CORE_NAMES.values(), *(drive_name(drive) for drive in sata.DRIVES)]
    names += [""] * (_VECTOR_FIRST - len(names))
    names += [drive_name(drive) for drive in vector.DRIVES]
    for first, more in (
        (_OWC_FIRST, [drive_name(drive) for drive in owc.DRIVES]),
        (_FILLED_FIRST, list(_FILLED.values())),
        (_RECOVERY_FIRST, list(vector_more.RECOVERY.values())),
    ):
        names += [""] * (first - len(names))
        names += more
    return {
        "drives": names,
        "transferSize": _transfer_sizes(results),
        "models": _models(results),
        "profiles": _profiles(results),
        "depths": _depths(results),
        "links": _links(results),
        "consistency": _consistency(results),
        "atto": _atto(results),
        "filled": _filled(results),
        "recovery": _recovery(results),
    }


def _core_recordings(results: Results) -> list[tuple[int, str, Operation]]:
    """Index, key and operation of what was measured, reads first."""
    return [
        (index, key, operation)
        for operation in OPERATIONS
        for index, key in enumerate(_CORE_NAMES)
        if f"size/{operation}/{core.SMALLEST}" in results.measured.get(key, {})
    ]


def _point(measured: SimulatedResult) -> dict[str, Any]:
    return {
        "bps": _round(measured.bytes_per_second),
        "iops": _round(measured.iops),
        "latency": {
            "mean": _round(measured.latency_mean_s),
            "max": _round(measured.latency_max_s),
        },
    }


def _transfer_sizes(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "drive": index,
            "operation": operation,
            "points": [
                {"x": size, "block": size, **_point(measured)}
                for size, measured in zip(
                    transfer_size.SIZES, core.by_size(results, key, operation), strict=True
                )
            ],
        }
        for index, key, operation in _core_recordings(results)
    ]


def _models(results: Results) -> list[dict[str, Any]]:
    lines = []
    for index, key, operation in _core_recordings(results):
        model = core.model(results, key, operation)
        seconds = core.seconds_per_io(results, key, operation)
        lines.append(
            {
                "drive": index,
                "operation": operation,
                "block": list(transfer_size.SIZES),
                "predicted": [_round(v) for v in model.bytes_per_second(core_checks.SIZE_ARRAY)],
                "misfit": [_round(v) for v in core_checks.misfit(model, seconds)],
            }
        )
    return lines


def _profiles(results: Results) -> list[dict[str, Any]]:
    return [
        _profile(results, index, key)
        for index, key in enumerate((core.CORE_KEY, core.DISK_KEY))
        if key in results.measured
    ]


def _profile(results: Results, index: int, key: str) -> dict[str, Any]:
    """Positions in percent of the drive, rates in MB/s, access times in seconds."""

    def line(operation: Operation) -> list[list[float]]:
        return [
            [_round(100 * place / (transfer_rate.PLACES - 1)), _round(rate / 1e6)]
            for place, rate in enumerate(core.profile(results, key, operation))
        ]

    return {
        "drive": index,
        "read": line("read"),
        "write": line("write"),
        "access": [
            [_round(100 * share), _round(results(key, f"access/{place}").latency_mean_s)]
            for place, share in enumerate(core.ACCESS_SHARES)
        ],
    }


def _depths(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "title": f"64 KiB random {operation}s",
            "operation": operation,
            "lines": [
                {
                    "drive": index,
                    "points": [
                        [depth, _round(iops)]
                        for depth, iops in zip(
                            core.DEPTHS, core.depth_iops(results, key, operation), strict=True
                        )
                    ],
                }
                for index, key, measured in _core_recordings(results)
                if measured == operation
            ],
        }
        for operation in OPERATIONS
    ]


def _links(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "title": f"{operation.capitalize()}s on {link}",
            "operation": operation,
            "lines": [
                {
                    "drive": _SATA_FIRST + index,
                    "points": [
                        [depth, _round(sata.rate(results, drive, link, operation, depth))]
                        for depth in sata.DEPTHS
                    ],
                }
                for index, drive in enumerate(sata.DRIVES)
                if f"sata/{drive}/{link}" in results.measured
            ],
        }
        for operation in OPERATIONS
        for link in sata.LINKS
    ]


def _consistency(results: Results) -> list[dict[str, Any]]:
    runs = []
    for index, drive in enumerate(vector.DRIVES):
        try:
            measured = results(f"vector/{drive}", vector.SERIES)
        except NotRunError:
            continue
        runs.append(
            {
                "drive": _VECTOR_FIRST + index,
                "id": drive,
                "operation": "write",
                "label": "",
                "cut": False,
                "ios": list(measured.second_ios),
            }
        )
    return runs


def _atto(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "title": f"Sequential {operation}s",
            "operation": operation,
            "lines": [
                {
                    "drive": _OWC_FIRST + index,
                    "points": [
                        [size, _round(rate)]
                        for size, rate in zip(
                            owc_readers.ATTO_SIZES,
                            owc_readers.atto(results, drive, operation),
                            strict=True,
                        )
                    ],
                }
                for index, drive in enumerate(owc.DRIVES)
                if f"owc/{drive}/sweep" in results.measured
            ],
        }
        for operation in OPERATIONS
    ]


def _filled(results: Results) -> list[dict[str, Any]]:
    """A panel for each drive; dots are means of some seconds each."""
    panels = []
    for drive in vector.DRIVES:
        lines = []
        for index, share in enumerate(_FILLED):
            try:
                seconds = vector_more.series(results, drive, share)
            except NotRunError:
                continue
            steps = seconds[: len(seconds) // FILLED_STEP_S * FILLED_STEP_S]
            means = steps.reshape(-1, FILLED_STEP_S).mean(axis=1)
            points = [[step * FILLED_STEP_S, _round(mean)] for step, mean in enumerate(means)]
            lines.append({"drive": _FILLED_FIRST + index, "points": points})
        panels.append({"title": drive_name(drive), "operation": "write", "lines": lines})
    return panels


def _recovery(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "title": drive_name(drive),
            "operation": "write",
            "lines": [
                {
                    "drive": _RECOVERY_FIRST + index,
                    "points": [
                        [second, ios]
                        for second, ios in enumerate(results(f"vector/{drive}", id).second_ios)
                    ],
                }
                for index, id in enumerate(vector_more.RECOVERY)
            ],
        }
        for drive in vector.DRIVES
        if vector_more.HAMMERED in results.measured.get(f"vector/{drive}", {})
    ]


def _round(value: float) -> float:
    return float(f"{value:.6g}")
