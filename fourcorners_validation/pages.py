"""Pages that people write, with a part in them that a study makes."""

from pathlib import Path

from fourcorners.errors import UserError


def put_between(page: Path, marks: tuple[str, str], made: str) -> None:
    """Replaces what stands between two marks of a page.

    Raises :class:`UserError` if the page does not have both, in this order.
    """
    before, begin, rest = page.read_text("utf-8").partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise UserError(f"{page} has no place for it: add the lines {marks[0]} and {marks[1]}")
    page.write_text(f"{before}{begin}\n{made}{end}{after}", "utf-8")
