"""Whether a target kept what was written to it."""

from fourcorners.cli.output import say
from fourcorners.running import interrupt
from fourcorners.target.verification import BLOCK_BYTES, Verification
from fourcorners.wording import chosen_size, count

# Of more damages than this the rest is in --json.
_SHOWN_MAX = 20


def show_verification(found: Verification) -> None:
    """What was checked, and what is damaged."""
    checked = f"{count(found.checked, 'block')} ({chosen_size(found.checked * BLOCK_BYTES)})"
    if found.failure is not None:
        say(f"Ended early: {found.failure}.")
    elif found.interrupted:
        say(f"Ended early: {interrupt.stopped_by()}.")
    if found.forgotten:
        say(f"The state is damaged: {count(found.forgotten, 'block')} of it could not be checked.")
    if not found.damages:
        say(f"Checked {checked}: all as written.")
        return
    kinds = ", ".join(f"{times:,} {kind}" for kind, times in sorted(found.counts.items()))
    say(f"Checked {checked}: DAMAGED: {kinds}.")
    for damage in found.damages[:_SHOWN_MAX]:
        origin = "" if damage.written_for is None else f", holds byte {damage.written_for}'s block"
        say(f"  byte {damage.address}: {damage.kind}{origin}")
    if len(found.damages) > _SHOWN_MAX:
        say(f"  and {len(found.damages) - _SHOWN_MAX} more (--json lists them)")
