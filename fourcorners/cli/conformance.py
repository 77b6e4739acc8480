"""``fourcorners verify exec:COMMAND``: whether a program is a drive as the protocol wants it."""

import dataclasses

from fourcorners.cli.output import print_document, say
from fourcorners.errors import EXIT_FAILED
from fourcorners.target.conformance import conformance

_SAID = {True: "ok", False: "WRONG", None: "-"}


def run(locator: str, *, seed: int, silence_s: float | None, json: bool, quiet: bool) -> int:
    """Checks the program, prints what each check came to, and returns the exit code."""
    checks = conformance(locator, seed=seed, silence_s=silence_s)
    wrong = [check for check in checks if check.holds is False]
    if json:
        rows = [dataclasses.asdict(check) for check in checks]
        print_document("conformance", {"locator": locator, "seed": seed, "checks": rows})
    elif not quiet:
        for check in checks:
            say(f"{_SAID[check.holds]:<6}{check.wanted}" + (f": {check.why}" if check.why else ""))
        offered = [check for check in checks if check.holds is not None]
        say(
            f"{len(offered) - len(wrong)} of {len(offered)} checks hold; what "
            f"{len(checks) - len(offered)} are about is not offered."
        )
    return EXIT_FAILED if wrong else 0
