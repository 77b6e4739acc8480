"""What the manifest says of a recording, beside what the tables say."""

from typing import Any

from fourcorners.recording import Recording


def entry_of(recording: Recording) -> dict[str, Any]:
    """The entry of a recording that has its place in a run."""
    workload = recording.workload
    entry: dict[str, Any] = {
        "id": recording.id,
        "label": recording.label,
        "point": dict(recording.point),
        "workload": workload.to_dict()
        if workload is not None
        else {"options": dict(recording.options)},
        "partial": recording.interrupted,
    }
    if recording.conditions is not None:
        entry["conditions"] = recording.conditions.to_dict()
    if recording.log is not None:
        log = recording.log
        entry["logged"] = {"ios": len(log), "of": log.of, "one_in": log.one_in}
    if recording.failure is not None:
        entry["failure"] = recording.failure
    errors = {
        name: {str(number): count for number, count in one.errors.items()}
        for name, one in recording.operations.items()
        if one.errors
    }
    if errors:
        entry["errors"] = errors
    return entry
