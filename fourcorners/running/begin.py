"""Begins runs: what a caller asks for becomes a plan, a run folder and its manifest."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.machine.environment import describe_host
from fourcorners.manifest import SCHEMA_VERSION, Manifest, Opening, Request
from fourcorners.running.progress import Progress
from fourcorners.running.runner import Runner
from fourcorners.store import Run, RunWriter
from fourcorners.store.directory import FOLLOWING
from fourcorners.store.folder import timestamp
from fourcorners.store.writer import run_name
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import Suite
from fourcorners.target.identity import identify
from fourcorners.target.target import Target


def begin_run(
    suite: Suite,
    target: Target,
    *,
    filled_share: float = 1.0,
    seed: int = 1,
    out: str | Path = "runs",
    command: str | None = None,
    progress: Progress | None = None,
    following: Sequence[Mapping[str, Any]] = (),
    claims: Sequence[Claim] = (),
    skip_futile: bool = False,
) -> Run:
    """Runs a suite on an open target and returns the finished run; see
    :func:`fourcorners.running.run.run`.

    ``following`` are arguments of :func:`open_target` for targets that the caller runs afterwards,
    for whoever goes on after an interruption; at its end the caller says so with
    :func:`fourcorners.store.folder.end_command`. ``skip_futile`` skips, of a real target, tests of
    which the first ones showed that they cannot identify anything
    (:func:`fourcorners.analysis.internals.method.futile.reason`).
    """
    plan = suite.plan(Subject.of(target, filled_share), seed)
    writer = RunWriter.create(out, run_name(target.name))
    if following:
        writer.text(FOLLOWING, "")
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        id=writer.name,
        created=timestamp(time.time()),
        status="running",
        version=version("fourcorners"),
        command=command,
        suite=suite.name,
        profile=suite.profile,
        scale=suite.scale,
        seed=seed,
        target=target.describe(),
        claims=list(claims),
        environment={**describe_host(), **target.environment()},
        notes=[],
        tests=[],
        identity=identify(target),
        request=Request(
            opening=target.opening,
            subject=asdict(plan.subject),
            suite=dict(suite.document),
            following=[Opening(**opening) for opening in following],
            skip_futile=skip_futile,
        ),
    )
    return Runner(target, plan, writer, manifest, progress or Progress()).run()
