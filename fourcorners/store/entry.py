"""What the manifest says of a recording, beside what the tables say."""

from fourcorners.manifest import LoggedIos, RecordingEntry
from fourcorners.recording import Recording
from fourcorners.workload import WorkloadDocument


def entry_of(recording: Recording) -> RecordingEntry:
    """The entry of a recording that has its place in a run."""
    workload, log = recording.workload, recording.log
    return RecordingEntry(
        id=recording.id,
        label=recording.label,
        point=dict(recording.point),
        workload=WorkloadDocument(options=dict(recording.options))
        if workload is None
        else workload.document(),
        partial=recording.interrupted,
        conditions=recording.conditions,
        logged=None if log is None else LoggedIos(ios=len(log), of=log.of, one_in=log.one_in),
        replayed=recording.replayed,
        jobs=list(recording.jobs),
        failure=recording.failure,
        errors={name: dict(one.errors) for name, one in recording.operations.items() if one.errors}
        or None,
    )
