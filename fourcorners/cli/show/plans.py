"""What would be done on targets."""

from collections.abc import Sequence

from rich.padding import Padding
from rich.text import Text

from fourcorners import wording
from fourcorners.cli.output import new_console, print_document
from fourcorners.running.preview import PlanDocument, PreviewedPlan, done_again
from fourcorners.target.foreign import is_foreign


def show_plans(plans: Sequence[PreviewedPlan], *, json: bool) -> int:
    """Plans as :func:`fourcorners.running.preview.preview` gives them; returns 0."""
    if json:
        print_document("plan", PlanDocument(plans))
    else:
        for one in plans:
            _show(one)
    return 0


def _show(plan: PreviewedPlan) -> None:
    """What would be done on one target, for people."""
    console = new_console()

    def line(text: str, indent: int = 0, style: str = "") -> None:
        console.print(
            Padding(Text(text, style=style), (0, 0, 0, indent)), highlight=False, soft_wrap=False
        )

    line(f"{plan['name']}: {plan['suite']}", style="bold")
    line(f"Time: {_time(plan)}")
    line(f"Written: {_written(plan['drive_writes'], plan['written_bytes'])}")
    line(f"Destroyed: {plan['destroys']}")
    if plan["interruption"] is not None:
        line(f"Should it be interrupted: {done_again(plan['interruption'])}")
    if plan["scale"] < 1:
        line(f"Shortened: all durations are {plan['scale']:g} of the tests' own")
    clock = "" if plan["wall_seconds"] is None else " of the drive's time"
    for test in plan["tests"]:
        line("")
        line(f"{test['name']}: {test['title']}", style="bold")
        line(f"{test['purpose']} (after: {test['source']})", 2)
        if test["skip_reason"]:
            line(f"Skipped: {test['skip_reason']}", 2, "yellow")
            continue
        for key, value in test["parameters"].items():
            line(f"{key}: {value}", 2)
        writes = _written(test["drive_writes"])
        line(f"takes {wording.about(test['seconds'])}{clock}, writes {writes}", 2)
        for number, phase in enumerate(test["phases"], start=1):
            steps = "; ".join(phase["preparation"]) or "as the drive then is"
            repeated = f" ({phase['times']} times)" if phase["times"] > 1 else ""
            line(f"{number}. {steps}{repeated}", 2, "dim")
            labels = phase["measurements"]
            shown = labels if len(labels) <= 3 else [*labels[:2], "...", labels[-1]]
            times = f" ({phase['repeated']})" if phase["repeated"] else ""
            line(f"{len(labels)} measured{times}: {'; '.join(shown)}", 5, "dim")
    console.print()


def _time(plan: PreviewedPlan) -> str:
    """By the clock on the wall where that is known, and by the drive's where it is another one."""
    if plan["wall_seconds"] is not None:
        by_wall = wording.about(plan["wall_seconds"])
        return f"{by_wall} to compute {wording.took(plan['seconds'])} of the drive's time"
    by_drive = wording.about(plan["seconds"])
    return f"{by_drive} on the drive's clock" if is_foreign(plan["target"]) else by_drive


def _written(drive_writes: float, count: float | None = None) -> str:
    if not drive_writes and not count:
        return "nothing"
    little = 0 < drive_writes < 1e-4
    writes = f"{'less than 0.0001' if little else wording.number(float(drive_writes))} drive writes"
    if count is not None:
        return f"up to {wording.amount(count)}, {writes}"
    return writes if little else f"up to {writes}"
