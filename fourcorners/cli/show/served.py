"""A session while it goes on, and what it showed."""

from fourcorners.cli.output import say, tell
from fourcorners.errors import UserError
from fourcorners.running.interrupt import InterruptRequest
from fourcorners.serving.served import Served
from fourcorners.serving.session import Session, kept_up_sentence
from fourcorners.wording import count, duration, rate

_LOOK_S = 0.2
"""Between two looks at whether it is asked to end, and whether the host keeps up."""

_ANSWERS_MIN = 100
"""Of which a hundredth can be told."""


def watch(served: Served, asked: InterruptRequest, *, quiet: bool) -> Session:
    """Waits for the end of a session, or until it is asked to end, and returns what it showed. Says
    once when the host does not keep up."""
    told, answers, late = quiet, 0, 0
    while not asked.requested and not served.wait(_LOOK_S):
        if told:
            continue
        try:
            status = served.command("status")
        except UserError:
            continue
        since = status["answers"] - answers
        if since >= _ANSWERS_MIN:
            sentence = kept_up_sentence(status["late"] - late, since)
            answers, late = status["answers"], status["late"]
            if sentence is not None:
                tell(sentence)
                told = True
    return served.stop()


def show_session(session: Session, *, quiet: bool) -> None:
    """A summary of a session, or only where its run folder is."""
    if quiet:
        say(session.run.path)
        return
    operations = [
        one for recording in session.run.recordings for one in recording.operations.items()
    ]
    for name, operation in operations:
        told = f"{name}: {count(operation.ios, 'I/O')}"
        if operation.latency_mean_s is not None:
            p99 = duration(operation.latency_percentile_s(99))
            told += f", {rate(operation.bytes_per_second)}" if operation.bytes else ""
            told += f", {duration(operation.latency_mean_s)} mean, {p99} at the 99th percentile"
        if operation.error_count:
            told += f", {operation.error_count} failed"
        say(told)
    for note in session.run.manifest.notes:
        say(note)
    if session.failure is not None:
        say(f"It failed: {session.failure}")
    say(f"Run folder: {session.run.path}")
