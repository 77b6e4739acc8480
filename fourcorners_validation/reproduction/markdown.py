"""The tables as a Markdown document."""

from fourcorners.catalog.published import published_apart
from fourcorners_validation.reproduction import wording
from fourcorners_validation.reproduction.checks import CheckRow, by_standing
from fourcorners_validation.reproduction.figure import ERROR_MAX, FigureRow
from fourcorners_validation.reproduction.run import SEED, Reproduction
from fourcorners_validation.reproduction.source import SOURCES


def render_markdown(reproduction: Reproduction) -> str:
    """The document, for readers of the repository."""
    fitted, predicted = (f"{100 * ERROR_MAX[kind]:.0f} %" for kind in ("fitted", "predicted"))
    lines = [
        "# The reviews, reproduced",
        "",
        "This page compares what the reviews published with what the catalog's simulated drives",
        "give in the same tests. A fitted figure, to which a parameter was fitted, only shows that",
        "the model can reach it; a predicted figure is evidence for the model. A fitted figure is",
        f"met if it is within {fitted}, a predicted one if it is within {predicted}. The headline",
        "results below are rules that can fail.",
        "",
        f"Written by `fourcorners reproduce --write docs`, seed {SEED}; not edited. The page",
        "`reproduction.html` in the same folder has the reviews' plots.",
        "",
        f"Met: {wording.summary(reproduction.figures)}. {_held(reproduction.checks)}",
        "",
    ]
    for source in reproduction.sources:
        lines += [f"## {source.name}: {source.title}", "", f"{source.citation}.", ""]
        for standing, some in by_standing(source.name, reproduction.figures):
            lines += [f"### {standing.capitalize()} figures", "", *_figures(some), ""]
        for standing, held in by_standing(source.name, reproduction.checks):
            lines += [f"### {standing.capitalize()} headline results", "", *_checks(held), ""]
        if source.left_out:
            lines += [f"Left out: {source.left_out}", ""]
    if len(reproduction.sources) == len(SOURCES):
        lines += [*_apart(), ""]
    return "\n".join(lines).rstrip() + "\n"


def _held(checks: tuple[CheckRow, ...]) -> str:
    judged = [row for row in checks if row.verdict != "not run"]
    held = sum(row.verdict == "holds" for row in judged)
    return (
        f"Headline results: {held} of {len(judged)} rules hold; {len(checks) - len(judged)} "
        "wait for a drive."
    )


def _figures(rows: list[FigureRow]) -> list[str]:
    lines = [
        "| drive | figure | published | simulated | error | fitted | verdict |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for row in rows:
        fitted = ", ".join(f"`{name}`" for name in row.fitted)
        verdict = row.verdict if row.reason is None else f"{row.verdict}: {row.reason}"
        lines.append(
            f"| {row.drive_name} | {row.published.what} ({wording.citation(row.published)}) "
            f"| {wording.published_words(row.published)} | {wording.simulated_words(row)} "
            f"| {wording.error_words(row)} | {fitted} | {verdict} |"
        )
    return lines


def _checks(rows: list[CheckRow]) -> list[str]:
    lines = [
        "| | headline result | rule | measured | verdict |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        verdict = row.verdict if row.reason is None else f"{row.verdict}: {row.reason}"
        lines.append(
            f"| {row.check.headline} | {row.check.claim} | {row.check.rule} "
            f"| {row.measured or '–'} | {verdict} |"
        )
    return lines


def _apart() -> list[str]:
    lines = [
        "## Published, and not compared with the simulation",
        "",
        "These are all other figures that were collected from the reviews and other pages. Figures",
        "that nobody could verify do not count as published.",
        "",
        "| drive | what | published | source | why there is nothing to compare |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        "| " + " | ".join((row.drive, row.what, row.value, row.source, row.reason)) + " |"
        for row in published_apart()
    ]
    return lines
