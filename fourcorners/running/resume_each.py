"""Continues a run that stopped, and the other targets of its command."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from fourcorners.documents import part
from fourcorners.errors import UserError
from fourcorners.manifest import Manifest, Opening
from fourcorners.running.each import Each
from fourcorners.running.progress import Progress
from fourcorners.running.resume import PERMISSIONS, Words, resume
from fourcorners.store import Run, schema
from fourcorners.store.folder import end_command, find, is_followed
from fourcorners.store.foreign import reading
from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import suite_of
from fourcorners.target.open import is_simulated, may_start


def resume_each(
    run: str | Path,
    *,
    destroy_data: str | None = None,
    overwrite: str | None = None,
    purge_method: str | None = None,
    start: Sequence[str] = (),
    progress: Progress | None = None,
    tell: Callable[[str], object] = warnings.warn,
) -> list[Run]:
    """Continues a run, then the other targets of its command that did not end or were not begun;
    returns the runs in that order.

    The arguments, and what is raised, are those of :func:`fourcorners.resume`; a permission holds
    for the target that it names, and for no other. ``tell`` is called with a sentence for each
    target that is not begun because a permission of the command is missing here.
    """
    words = Words(destroy_data, overwrite, purge_method, tuple(start))
    path = Path(run)
    with reading([path]):
        manifest = Run(find(path)).manifest
        following = [] if manifest.request is None else manifest.request.following
        # With one target it is the run that compares them, and refuses when they differ.
        first = words.about(_locator(manifest)) if following else words
    finished = _resumed(path, first, progress)
    request = finished.manifest.request
    if request is None or not following:
        return [finished]
    with reading([path]):
        each = Each(
            suite=suite_of(request.suite, finished.manifest.suite),
            filled_share=part(Subject, request.subject).filled_share,
            seed=finished.manifest.seed or 0,
            out=finished.path.parent,
            command=finished.manifest.command,
            claims=(),  # of a command with one target only
            progress=progress or Progress(),
        )
    followed = is_followed(finished.path)
    runs, taken, to_begin = [finished], {finished.path}, []
    for place, opening in enumerate(following):
        if runs[-1].manifest.status == "interrupted":
            break
        with reading([path]):
            begun = _begun(finished, opening, len(following) - 1 - place, taken)
        if begun is None:
            if followed:
                to_begin.append(opening)
            continue
        taken.add(begun.path)
        if begun.manifest.status != "complete":
            named = words.about(_locator(begun.manifest))
            runs.append(_resumed(begun.path, named, progress))
    if runs[-1].manifest.status != "interrupted":
        with reading([path]):
            permitted = [_permitted(opening, words, tell) for opening in to_begin]
        runs += each.run([opening for opening in permitted if opening is not None])
    if runs[-1].manifest.status != "interrupted":
        end_command({*taken, *(one.path for one in runs)})
    return runs


def _locator(manifest: Manifest) -> str:
    return "" if manifest.request is None else manifest.request.opening.locator or ""


def _resumed(path: Path, words: Words, progress: Progress | None) -> Run:
    return resume(path, progress=progress, start=words.start, **words.given())


def _begun(run: Run, opening: Opening, later: int, taken: AbstractSet[Path]) -> Run | None:
    """The run of a target that followed ``run`` in its command and was followed by at most
    ``later`` others (those that must not lose their data once more were left out), finished or
    not; of none in the folders ``taken``."""
    for found in sorted(run.path.parent.glob(f"*/{schema.MANIFEST}")):
        try:
            other = Run(found.parent)
        except (UserError, ValueError):
            continue  # of another version, or no run: not this command's
        request = other.manifest.request
        if (
            other.path not in taken
            and request is not None
            and request.opening.locator == opening.locator
            and len(request.following) <= later
            and other.manifest.command == run.manifest.command
            and other.manifest.created >= run.manifest.created
        ):
            return other
    return None


def _permitted(
    opening: Opening, words: Words, tell: Callable[[str], object]
) -> Mapping[str, Any] | None:
    """How a target that was to follow is opened, with what is permitted now; ``None`` where it was
    permitted more then. The folder permits nothing, nor to make a file."""
    locator = opening.locator or ""
    asked = {name for name in PERMISSIONS if getattr(opening, name) is not None}
    named = words.about(locator)
    kept = opening.arguments(but={*PERMISSIONS, "size"})
    is_there = is_simulated(locator) or Path(locator).exists()
    is_there = is_there and may_start(locator, words.start)
    if is_there and asked == named.given().keys():
        return {**kept, **named.given()}
    tell(
        f"{locator} was to follow and is not begun, as nothing permits here what the "
        "command permitted: run it by itself",
    )
    return None
