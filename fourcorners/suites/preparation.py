"""The steps of ``prepare`` as a suite file writes them."""

import re
from collections.abc import Callable
from typing import Any

from fourcorners.errors import UserError
from fourcorners.patterns import INCOMPRESSIBLE
from fourcorners.suites.access import SIZE_OR_SHARE
from fourcorners.suites.parameters import CONTENT, PAUSE
from fourcorners.suites.steps import Fill, Purge, Rest, SteadyWrites, Step, Trim, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.terms import Names, Scope, term_or_value

StepAt = Callable[[Scope], Step]
"""A step on a target, once the test's parameters are known."""

STEPS = "^(purge|steady|settle|trim|fill|fill .+|idle .+)$"
"""How a step looks, for the schema of suite files."""

_FILL = re.compile(r"fill(?: (?!with )(?P<amount>.+?))?(?: with (?P<content>\S+))?")


def step(text: Any, where: str, names: Names) -> StepAt:
    """One step, in whose text terms may stand; raises :class:`UserError`."""
    try:
        return _step(str(text), names)
    except UserError as error:
        raise UserError(f"{where}: prepare = {text!r}: {error}") from error


def _step(text: str, names: Names) -> StepAt:
    if match := _FILL.fullmatch(text):
        amount = match["amount"] and term_or_value(SIZE_OR_SHARE, match["amount"], names)
        content = term_or_value(CONTENT, match["content"] or INCOMPRESSIBLE, names)
        return lambda scope: Fill(_filled(scope.subject, scope.value(amount)), scope.value(content))
    if text.startswith("idle "):
        seconds = PAUSE.read(text.removeprefix("idle "))
        return lambda scope: Rest(seconds)
    simple: dict[str, StepAt] = {
        "purge": lambda scope: Purge(),
        "settle": lambda scope: settle(),
        "steady": lambda scope: SteadyWrites(scope.subject.area_bytes),
        "trim": lambda scope: Trim(),
    }
    if text not in simple:
        raise UserError(
            "use purge, fill, fill SIZE, fill SHARE, fill with CONTENT, steady, settle, trim or "
            "idle TIME"
        )
    return simple[text]


def _filled(subject: Subject, amount: int | float | None) -> int:
    if amount is None:
        return subject.area_bytes
    if isinstance(amount, float):
        return subject.share_bytes(amount)
    return subject.span_bytes(amount)
