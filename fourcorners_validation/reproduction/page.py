"""The reproduction as one self-contained HTML file, with the reviews' own plots."""

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fourcorners import wording as numbers
from fourcorners.catalog.published import Apart, published_apart
from fourcorners.reporting.document import asset, content_hash, embedded_json, page_script
from fourcorners.wording import chosen_size
from fourcorners_validation.reproduction import charts, wording
from fourcorners_validation.reproduction.bars import bar_chart
from fourcorners_validation.reproduction.checks import by_standing
from fourcorners_validation.reproduction.figure import ERROR_MAX, STANDINGS, FigureRow
from fourcorners_validation.reproduction.payload import payload
from fourcorners_validation.reproduction.run import SEED, Reproduction
from fourcorners_validation.reproduction.source import SOURCES, Source

_REPORT = "fourcorners.reporting"


def render_page(reproduction: Reproduction) -> str:
    """The page's text, which loads nothing from elsewhere."""
    from importlib.metadata import version

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["significant"] = numbers.number
    environment.filters["bytes"] = chosen_size
    environment.filters["brief"] = wording.brief
    environment.filters["duration"] = wording.duration
    script = page_script("app.js", more=[asset("assets/figures.js", __package__)])
    return environment.from_string(asset("page.html.j2", __package__)).render(
        version=version("fourcorners"),
        seed=SEED,
        error_max=ERROR_MAX,
        tally=_tally(reproduction),
        errors=[
            (standing, charts.error_classes(rows))
            for standing in STANDINGS
            if (rows := [row for row in reproduction.figures if row.standing == standing])
        ],
        missed=[row for row in reproduction.figures if row.verdict == "missed"],
        failing=[row for row in reproduction.checks if row.verdict == "fails"],
        apart=_apart() if len(reproduction.sources) == len(SOURCES) else [],
        heat_maps=charts.heat_maps(reproduction.results),
        depths=SOURCES["owc"].names.listed("depths"),
        latency_ranges=charts.latency_ranges(reproduction.results),
        scores=charts.scores(reproduction.results),
        sources=[_source(source, reproduction) for source in reproduction.sources],
        payload=embedded_json(payload(reproduction.results)),
        script=Markup(script),
        script_hash=content_hash(script),
        style=Markup(asset("assets/report.css", _REPORT) + asset("assets/page.css", __package__)),
        wording=wording,
    )


def _tally(reproduction: Reproduction) -> list[tuple[str, str]]:
    """Numbers and what they count."""
    counts = []
    for standing in STANDINGS:
        figures = [
            r for r in reproduction.figures if r.standing == standing and r.error is not None
        ]
        met = sum(row.verdict == "met" for row in figures)
        counts.append((f"{met} of {len(figures)}", f"{standing} figures met"))
    for standing in STANDINGS:
        checks = [
            r for r in reproduction.checks if r.standing == standing and r.verdict != "not run"
        ]
        held = sum(row.verdict == "holds" for row in checks)
        counts.append((f"{held} of {len(checks)}", f"{standing} headline results hold"))
    waiting = sum(row.verdict == "not run" for row in reproduction.figures)
    waiting += sum(row.verdict == "not run" for row in reproduction.checks)
    if waiting:
        counts.append((str(waiting), "figures and results wait for a drive"))
    return counts


def _apart() -> list[tuple[str, list[Apart]]]:
    """The figures that are not compared with the simulation, by the reason."""
    groups: dict[str, list[Apart]] = {}
    for row in published_apart():
        groups.setdefault(row.reason, []).append(row)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _source(source: Source, reproduction: Reproduction) -> dict[str, Any]:
    measured = reproduction.results.measured
    return {
        "name": source.name,
        "title": source.title,
        "citation": source.citation,
        "left_out": source.left_out,
        "figures": [
            (standing, _by_drive(rows))
            for standing, rows in by_standing(source.name, reproduction.figures)
        ],
        "checks": by_standing(source.name, reproduction.checks),
        "charts": [
            bar_chart(table, source.recorded(reproduction.results)) for table in source.bars
        ],
        "any": any(experiment.key in measured for experiment in source.experiments),
        "absent": sorted(
            {
                experiment.drive
                for experiment in source.experiments
                if experiment.key in reproduction.results.absent
            }
        ),
    }


def _by_drive(rows: list[FigureRow]) -> list[tuple[str, list[FigureRow]]]:
    groups: dict[str, list[FigureRow]] = {}
    for row in rows:
        groups.setdefault(row.drive_name, []).append(row)
    return list(groups.items())
