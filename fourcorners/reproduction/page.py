"""The reproduction as one self-contained HTML file, with the reviews' own plots."""

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fourcorners.report.document import asset, content_hash, embedded_json, joined_script
from fourcorners.report.formatting import significant
from fourcorners.reproduction import wording
from fourcorners.reproduction.bars import charts
from fourcorners.reproduction.figure import ERROR_MAX, FigureRow
from fourcorners.reproduction.payload import payload
from fourcorners.reproduction.run import SEED, Reproduction
from fourcorners.reproduction.source import Source

_REPORT = "fourcorners.report"
_REPORT_SCRIPTS = ("units.js", "plot.js", "figures.js", "app.js")  # in order of dependency


def render_page(reproduction: Reproduction) -> str:
    """The page's text; it asks for nothing from elsewhere."""
    from fourcorners import __version__

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["significant"] = significant
    scripts = [asset(f"assets/{name}", _REPORT) for name in _REPORT_SCRIPTS]
    script = joined_script([*scripts, asset("assets/figures.js", __package__)])
    return environment.from_string(asset("page.html.j2", __package__)).render(
        version=__version__,
        seed=SEED,
        error_max=ERROR_MAX,
        tally=_tally(reproduction),
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
    for standing in ("fitted", "predicted"):
        rows = [r for r in reproduction.figures if r.standing == standing and r.error is not None]
        met = sum(row.verdict == "met" for row in rows)
        counts.append((f"{met} of {len(rows)}", f"{standing} figures met"))
    checks = [row for row in reproduction.checks if row.verdict != "not run"]
    held = sum(row.verdict == "holds" for row in checks)
    counts.append((f"{held} of {len(checks)}", "rules on headline results hold"))
    waiting = len(reproduction.figures) + len(reproduction.checks)
    waiting -= sum(row.verdict != "not run" for row in reproduction.figures) + len(checks)
    if waiting:
        counts.append((str(waiting), "figures and rules wait for a drive"))
    return counts


def _source(source: Source, reproduction: Reproduction) -> dict[str, Any]:
    measured = reproduction.results.measured
    return {
        "name": source.name,
        "title": source.title,
        "citation": source.citation,
        "left_out": source.left_out,
        "figures": _by_drive([row for row in reproduction.figures if row.source == source.name]),
        "checks": [row for row in reproduction.checks if row.source == source.name],
        "charts": charts(source.name, reproduction.results),
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
