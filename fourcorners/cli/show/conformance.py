"""Whether a program is a drive as the protocol wants it."""

from collections.abc import Sequence

from fourcorners.cli.output import print_document, say
from fourcorners.errors import EXIT_FAILED
from fourcorners.target.conformance import ConformanceDocument, ProtocolCheck

_SAID = {True: "ok", False: "WRONG", None: "-"}


def show_conformance(
    locator: str, seed: int, checks: Sequence[ProtocolCheck], *, json: bool, quiet: bool
) -> int:
    """What each check of a program came to; returns the exit code."""
    wrong = [check for check in checks if check.holds is False]
    if json:
        print_document("conformance", ConformanceDocument(locator, seed, checks))
    elif not quiet:
        for check in checks:
            say(f"{_SAID[check.holds]:<6}{check.wanted}" + (f": {check.why}" if check.why else ""))
        offered = [check for check in checks if check.holds is not None]
        others = [check for check in checks if check.holds is None]
        said = "."
        if others:
            # What has a reason was not made; the others have none.
            made = not any(check.why for check in others)
            of = "are of what the drive does not offer" if made else "were not made"
            said = f"; the other {len(others)} {of}."
        say(f"{len(offered) - len(wrong)} of {len(offered)} checks hold{said}")
    return EXIT_FAILED if wrong else 0
