"""Rows as a person reads them; the same words in the terminal, the page and the document."""

from fourcorners.reproduction.figure import FigureRow
from fourcorners.reproduction.published import Published

_RELATIONS = {"is": "", "about": "about ", "above": "over "}


def published_words(row: Published) -> str:
    """The published value with its unit, as the source words it."""
    return f"{_RELATIONS[row.relation]}{_value(row.value, row.unit)}"


def simulated_words(row: FigureRow) -> str:
    """The simulated value in the published unit; a dash where there is none."""
    if row.simulated is None:
        return "–"
    return _value(float(f"{row.simulated:.4g}"), row.published.unit)


def error_words(row: FigureRow) -> str:
    """The relative error; a dash where there is none."""
    if row.error is None:
        return "–"
    percent = round(100 * row.error, 1)
    return f"{percent:+.1f} %" if percent else "0.0 %"


def standing_words(row: FigureRow) -> str:
    """Fitted or predicted."""
    return row.standing if row.error is not None else "–"


def citation(row: Published) -> str:
    """Where the figure was read, and how far that can be trusted."""
    return f"{row.source}, derived" if row.verified == "derived" else row.source


def summary(figures: tuple[FigureRow, ...]) -> str:
    """How many figures are met, fitted and predicted apart."""
    parts = []
    for standing in ("fitted", "predicted"):
        judged = [row for row in figures if row.standing == standing and row.error is not None]
        met = sum(row.verdict == "met" for row in judged)
        parts.append(f"{met} of {len(judged)} {standing} figures")
    return " and ".join(parts)


def _value(value: float, unit: str) -> str:
    number = f"{value:g}" if value < 10_000 else f"{value:,.0f}"
    return number if unit == "ratio" else f"{number} {unit}"
