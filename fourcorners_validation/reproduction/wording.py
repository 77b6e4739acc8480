"""Rows in words, which are the same in the terminal, the page and the document."""

from fourcorners.catalog.published import Published
from fourcorners_validation.reproduction.figure import FigureRow

_RELATIONS = {"is": "", "about": "about ", "above": "over ", "below": "under "}


def published_words(row: Published) -> str:
    """The published value with its unit, as the source words it."""
    if row.relation == "between":
        assert row.high is not None
        return f"{row.value:g} to {_value(row.high, row.unit)}"
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
    words = f"{percent:+.0f} %" if abs(percent) >= 100 else f"{percent:+.1f} %"
    return words.replace("-", "\N{MINUS SIGN}") if percent else "0.0 %"


def standing_words(row: FigureRow) -> str:
    """Fitted or predicted."""
    return row.standing if row.error is not None else "–"


def citation(row: Published) -> str:
    """Where the figure was read, and how reliable that source is."""
    notes = {"derived": ", derived", "claim": ", the vendor's claim"}
    return row.source + notes.get(row.verified, "")


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


def brief(count: float) -> str:
    """A rate in few characters: 950, 9.5k, 95k."""
    if count < 1000:
        return f"{count:.0f}"
    return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def duration(seconds: float) -> str:
    """Two digits in a suitable unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{float(f'{seconds * factor:.2g}'):g} {unit}"
    raise AssertionError
