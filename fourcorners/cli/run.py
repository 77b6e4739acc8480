"""``fourcorners run`` and ``characterize``: targets in, run folders and a report out."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.cli.each import Each
from fourcorners.cli.options import ProgressForm
from fourcorners.cli.output import print_document
from fourcorners.cli.show.runs import print_preview, show_runs
from fourcorners.errors import UserError
from fourcorners.running.preview import preview
from fourcorners.store.writer import ensure_writable
from fourcorners.suites import Subject, Suite
from fourcorners.suites.subject import check_filled
from fourcorners.target.open import examine_new_file, if_about, is_simulated, open_target
from fourcorners.target.target import Target


@dataclass(frozen=True)
class Options:
    """The options of the command, parsed."""

    suite: Suite
    dry_run: bool
    size: int | None
    settings: Mapping[str, str]
    destroy_data: str | None
    overwrite: str | None
    purge: str | None
    io_limit_s: float | None
    engine: str | None
    state: Path | None
    filled_share: float
    claims: Sequence[Claim]
    seed: int
    out: Path
    json: bool
    progress: ProgressForm
    quiet: bool
    jobs: int = 1


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """``SECTION.NAME=VALUE`` pairs as a mapping; raises :class:`UserError`."""
    settings = {}
    for pair in pairs:
        path, equals, value = pair.partition("=")
        if not equals or not path.strip():
            raise UserError(f'--set "{pair}": write PARAMETER=VALUE, as in cache.write_back=false')
        settings[path.strip()] = value.strip()
    return settings


def parse_parameters(pairs: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` pairs of a test's parameters as a mapping; raises :class:`UserError`."""
    parameters = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(f'--with "{pair}": write NAME=VALUE, as in depths=1,4,16')
        parameters[name.strip()] = value.strip()
    return parameters


def run(locators: Sequence[str], options: Options) -> int:
    """Runs the suite on each target in turn and returns the exit code of the worst."""
    if not locators:
        raise UserError('no target: name one, such as sim:ocz-core-64gb (see "fourcorners drives")')
    if options.jobs > 1:
        from fourcorners.cli.side_by_side import check_side_by_side

        check_side_by_side(locators, options.jobs)
    _check(locators, options)
    if options.dry_run:
        return preview_runs(locators, options)
    each = Each(
        suite=options.suite,
        filled_share=options.filled_share,
        seed=options.seed,
        out=options.out,
        command=shlex.join(["fourcorners", *sys.argv[1:]]),
        claims=options.claims,
        progress=options.progress,
        quiet=options.quiet,
    )
    openings = [_opening(locator, locators, options) for locator in locators]
    if options.jobs > 1 and len(openings) > 1:
        # Loaded for it only.
        from fourcorners.cli.side_by_side import run_side_by_side

        for locator in locators:
            # What is wrong with the last shall show before hours go into the first.
            with _open(locator, locators, options) as target:
                options.suite.plan(Subject.of(target, options.filled_share), options.seed)
        runs, code = run_side_by_side(each, openings, options.jobs)
        if not runs:
            return code
        shown = show_runs(runs, each.side_by_side(runs), json=options.json, quiet=options.quiet)
        return max(code, shown)
    runs = each.run(openings)
    return show_runs(runs, each.side_by_side(runs), json=options.json, quiet=options.quiet)


Check = Callable[[str, Subject], None]
"""Raises :class:`UserError` where a target of that name cannot be used."""


def preview_runs(locators: Sequence[str], options: Options, check: Check | None = None) -> int:
    """Says what would be done, and does nothing."""
    return show_previews(
        [_previewed(locator, locators, options, check) for locator in locators], options
    )


def show_previews(previews: Sequence[dict[str, Any]], options: Options) -> int:
    """Prints plans as :func:`fourcorners.running.preview.preview` gives them, and returns 0."""
    if options.json:
        print_document("plan", {"plans": list(previews)})
    else:
        for one in previews:
            print_preview(one)
    return 0


def _previewed(
    locator: str, locators: Sequence[str], options: Options, check: Check | None
) -> dict[str, Any]:
    if options.size is not None and not is_simulated(locator) and not Path(locator).exists():
        # Opening it would create it.
        examine_new_file(**_opening(locator, locators, options))
        subject = Subject("file", options.size, needs_fill=True, filled_share=options.filled_share)
        if check is not None:
            check(Path(locator).name, subject)
        return preview(options.suite.plan(subject, options.seed), locator, Path(locator).name)
    with _open(locator, locators, options) as target:
        subject = Subject.of(target, options.filled_share)
        if check is not None:
            check(target.name, subject)
        plan = options.suite.plan(subject, options.seed)
        return preview(plan, target.locator, target.name, target.purge_plan)


def _check(locators: Sequence[str], options: Options) -> None:
    """Finds what is wrong with the options before any target is opened, which may make a file."""
    ensure_writable(options.out)
    check_filled(options.filled_share)
    for option, word in (
        ("--destroy-data", options.destroy_data),
        ("--overwrite", options.overwrite),
    ):
        is_about_none = all(if_about(word, locator) is None for locator in locators)
        if word is not None and len(locators) > 1 and is_about_none:
            raise UserError(f"{option} names {word}, which is none of the targets")
    if options.purge is not None and options.destroy_data is None:
        raise UserError(
            f"--purge {options.purge} erases a device: it needs --destroy-data naming it as well"
        )
    if options.state is not None and len(locators) > 1:
        raise UserError("--state is the state of one drive: name that target only")
    if options.claims and len(locators) > 1:
        raise UserError("--claims is about one drive: name that target only")


def opening_of(locator: str, options: Options) -> dict[str, Any]:
    """The arguments of :func:`open_target` for the only target, once all of them were tried."""
    _check([locator], options)
    return _opening(locator, [locator], options)


def open_one(locator: str, options: Options) -> Target:
    """Opens the only target with all of the options."""
    ensure_writable(options.out)
    check_filled(options.filled_share)
    return _open(locator, [locator], options)


def _open(locator: str, locators: Sequence[str], options: Options) -> Target:
    """Opens one of the targets with those of the options that are about it."""
    return open_target(**_opening(locator, locators, options))


def _opening(locator: str, locators: Sequence[str], options: Options) -> dict[str, Any]:
    """The arguments of :func:`open_target` for one of the targets, as JSON can hold them."""
    alone = len(locators) == 1
    simulated = is_simulated(locator)
    # With one target it is the engine that compares them, and refuses when they differ.
    destroy_data = options.destroy_data if alone else if_about(options.destroy_data, locator)
    arguments = {
        "locator": locator,
        "size": options.size if alone or not simulated else None,
        "settings": dict(options.settings) if alone or simulated else None,
        "destroy_data": destroy_data,
        "overwrite": options.overwrite if alone else if_about(options.overwrite, locator),
        "purge_method": options.purge if alone or destroy_data is not None else None,
        "seed": options.seed,
        "io_limit_s": options.io_limit_s if alone or not simulated else None,
        "engine": options.engine if alone or not simulated else None,
        "state": None if options.state is None else str(options.state),
    }
    return {name: value for name, value in arguments.items() if value is not None}
