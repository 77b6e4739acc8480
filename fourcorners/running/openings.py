"""How the targets of one command are opened: each by those of the options that are about it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fourcorners.catalog.claims import Claim
from fourcorners.errors import UserError
from fourcorners.store.writer import ensure_writable
from fourcorners.suites.subject import check_filled
from fourcorners.target.open import if_about, is_simulated
from fourcorners.target.options import TargetOptions


def check(
    locators: Sequence[str],
    options: TargetOptions,
    *,
    filled_share: float,
    out: str | Path,
    claims: Sequence[Claim] = (),
) -> None:
    """Finds what is wrong with the options before any target is opened, which may make a file.

    Raises :class:`UserError`.
    """
    ensure_writable(Path(out))
    check_filled(filled_share)
    destroy_data, purge_method = options.get("destroy_data"), options.get("purge_method")
    for option, word in (
        ("--destroy-data", destroy_data),
        ("--overwrite", options.get("overwrite")),
    ):
        is_about_none = all(if_about(word, locator) is None for locator in locators)
        if word is not None and len(locators) > 1 and is_about_none:
            raise UserError(f"{option} names {word}, which is none of the targets")
    if purge_method is not None and destroy_data is None:
        raise UserError(
            f"--purge {purge_method} erases a device: it needs --destroy-data naming it as well"
        )
    for name, given in (("state", options.get("state")), ("claims", claims)):
        if given and len(locators) > 1:
            what = "the state of" if name == "state" else "about"
            raise UserError(f"--{name} is {what} one drive: name that target only")


def openings(locators: Sequence[str], seed: int, options: TargetOptions) -> list[dict[str, Any]]:
    """The arguments of :func:`fourcorners.open_target` for each target, as JSON can hold them."""
    return [_opening(locator, len(locators) == 1, seed, options) for locator in locators]


def _opening(locator: str, alone: bool, seed: int, options: TargetOptions) -> dict[str, Any]:
    """Those that are about the target; of the only one all, as it is the target that refuses what
    is not about it."""
    given: dict[str, Any] = {name: one for name, one in options.items() if one is not None}
    if not alone:
        for word in ("destroy_data", "overwrite"):
            given[word] = if_about(given.get(word), locator)
        if given["destroy_data"] is None:
            given["purge_method"] = None
        for name in ("size", "io_limit_s", "engine") if is_simulated(locator) else ("settings",):
            given[name] = None
    if given.get("state") is not None:
        given["state"] = str(given["state"])
    given |= {"locator": locator, "seed": seed}
    return {name: value for name, value in given.items() if value is not None}
