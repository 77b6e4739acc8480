"""The report: one file, true to the run, safe with whatever names and numbers it meets."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import report_fixture as made_up
from report_builder import Drive
from rich.console import Console

from fourcorners import wording
from fourcorners.analysis.estimate import of_point
from fourcorners.analysis.quantity import IOPS
from fourcorners.analysis.source import measured
from fourcorners.finding import Finding
from fourcorners.manifest import Chart
from fourcorners.reporting import charts, terminal
from fourcorners.reporting.document import D3
from fourcorners.reporting.html import render_html, write_html
from fourcorners.reporting.payload import drive_names, report_payload
from fourcorners.reporting.published import published_view
from fourcorners.reporting.terminal import render_summary
from fourcorners.reporting.view import report_view

CSS = Path(__file__).parents[1] / "fourcorners/reporting/assets/report.css"
SECTIONS = [
    "corners",
    "queue-depth",
    "transfer-size",
    "consistency",
    "latency",
    "findings",
    "environment",
]


class Outline(HTMLParser):
    """Ids, elements and attribute values of a page, and whether its elements nest."""

    VOID = frozenset(["meta", "link", "br", "img", "input"])

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for key, value in attrs:
            if key == "id":
                self.ids.append(str(value))
            # A link asks for nothing until somebody follows it.
            if key in ("src", "href", "action", "srcset", "data") and (tag, key) != ("a", "href"):
                self.addresses.append(str(value))
            if key.startswith("on"):
                self.handlers.append(key)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def payload_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.S)
    assert found
    result: dict[str, Any] = json.loads(found[1])
    return result


def test_structure() -> None:
    text = render_html([made_up.make_run(made_up.CORE), made_up.make_run(made_up.WD)])
    outline = Outline(text)
    assert outline.open == []
    assert [name for name in outline.ids if name in SECTIONS] == SECTIONS
    assert len(outline.ids) == len(set(outline.ids))
    for title in ("4 KiB random read", "4 KiB random write", "128 KiB sequential read"):
        assert f"<h3>{title}</h3>" in text
    assert "11.3 MiB" in text  # the blog's cluster estimate
    assert "76.3 MB/s" in text  # 72.8 MiB/s in decimal units ...
    assert "72.8 MiB/s" in text  # ... and in binary ones
    assert "fourcorners characterize sim:wd6400aaks --profile standard" in text


def test_the_plotting_library_is_the_one_that_is_written_down() -> None:
    table = (Path(__file__).parents[1] / "docs/report.md").read_text(encoding="utf-8")
    written = dict(re.findall(r"^\| ([a-z-]+) \| [\d.]+ \| `([0-9a-f]{64})` \|$", table, re.M))
    vendored = CSS.parent / "vendor/d3"
    files = {
        path.name.removeprefix("d3-").removesuffix(".min.js"): path
        for path in vendored.glob("*.js")
    }
    assert set(files) == set(written) == set(D3)
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == written[name]
        assert not re.search(r"\beval\(|\bFunction\(", path.read_text(encoding="utf-8"))


def test_the_joined_scripts_share_no_name() -> None:
    defined = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.M)
    for others in (
        ["charts.js"],
        ["../../../fourcorners_validation/reproduction/assets/figures.js"],
    ):
        files = ["units.js", "plot.js", "figures.js", "app.js", *others]
        names = [name for f in files for name in defined.findall((CSS.parent / f).read_text())]
        assert sorted(names) == sorted(set(names))


def test_asks_for_nothing_from_outside() -> None:
    outline = Outline(render_html([made_up.make_run()]))
    assert all(a.startswith(("#", "data:")) for a in outline.addresses)
    assert not {"iframe", "img", "object", "embed", "base"} & set(outline.tags)


def test_hostile_names_stay_text() -> None:
    text = render_html([made_up.hostile_run()])
    outline = Outline(text)
    assert outline.tags.count("script") == 2
    assert "img" not in outline.tags
    assert outline.handlers == []
    assert payload_of(text)["drives"][0].startswith("Evil </script>")


@pytest.mark.parametrize("make", [made_up.broken_run, made_up.empty_run])
def test_gaps_do_not_break_it(make: Any) -> None:
    run = make()
    text = render_html([run, made_up.make_run(made_up.CORE, seconds=30)])
    payload = payload_of(text)
    assert "NaN" not in json.dumps(payload)
    assert "Infinity" not in json.dumps(payload)
    shown = re.sub(r"<(script|style).*?</\1>", "", text, flags=re.S)
    assert not re.search(r"\b(nan|None|inf)\b", shown)


def test_says_what_is_missing() -> None:
    text = render_html([made_up.empty_run()])
    assert "was not run through this test" in text
    assert "this run is failed" in text.lower()
    assert "No findings were drawn" in text


def test_a_note_of_what_was_to_come_is_in_the_past() -> None:
    run = made_up.make_run(seconds=100)
    run.manifest.notes = ["the content of a.img will be overwritten"]
    [drive] = report_view([run])["drives"]
    assert drive["notes"] == ["the content of a.img was overwritten"]


def test_bars_tell_intervals_and_of_writes_their_data() -> None:
    corners = report_view([made_up.make_run(seconds=100)])["corners"]
    kinds = {corner["title"].rpartition(" ")[2]: corner["kinds"] for corner in corners}
    assert kinds["read"] == [""]
    bars = [
        bar
        for corner in corners
        for block in corner["blocks"]
        for group in block["groups"]
        for bar in group["bars"]
    ]
    assert any(" to " in bar["intervals"]["iops"] for bar in bars)
    assert all("within" not in text for bar in bars for text in bar["intervals"].values())
    assert "incompressible" in kinds["write"]


def test_status_errors_and_notes_are_on_top() -> None:
    text = render_html([made_up.broken_run()])
    top = text[: text.index('id="corners"')]
    assert "This run is interrupted." in top
    assert "stopped by Ctrl-C" in top
    assert "results include the page cache" in top
    assert "recordings contain I/O errors" in top


def test_an_explanation_begins_with_its_figures_and_their_intervals() -> None:
    run = made_up.make_run(seconds=100)
    told = {"kind": "block-mapped", "figures": ["mapping_unit"]}
    run.findings += [
        Finding("explanation", "", "measured", "It maps clusters.", detail=told),
        Finding("mapping_unit", "Mapping unit", "measured", "", 2**22, "B", (2e6, 5e6)),
    ]
    text = render_html([run])
    top = text[: text.index('id="corners"')]
    for part in ("It maps clusters.", "Mapping unit", "4 MiB", "1.91 to 4.77 MiB"):
        assert part in top
    assert Outline(text).open == []


def test_findings_that_say_the_same_of_a_drive_are_told_once() -> None:
    run = made_up.make_run(seconds=100)
    evidence = [run.manifest.tests[0].recordings[0].id]
    run.findings += [
        Finding(title.lower(), title, "not applicable", "Nothing moves.", evidence=evidence)
        for title in ("Heads", "Shortest seek")
    ]
    [line] = re.findall(r"<li><em>.*Nothing moves\.</li>", render_html([run]))
    assert line.startswith("<li><em>Heads; Shortest seek <span")


def test_size() -> None:
    assert len(render_html([made_up.make_run(made_up.VECTOR)]).encode()) < 1_000_000
    runs = [made_up.make_run(drive, seed=i) for i, drive in enumerate(made_up.ALL)]
    assert len(render_html(runs).encode()) < 3_000_000


def test_heat_maps_write_numbers_for_people() -> None:
    run = made_up.make_run(made_up.CORE, 30)
    run.manifest.tests[1].name = "mine"
    run.manifest.tests[1].charts = [
        Chart("heat", "IOPS", "iops", "queue_depth", "block_bytes", ("operation",))
    ]
    for row in run.rows:
        row["test"] = row["test"].replace("queue-depth", "mine")
    [reads, writes] = next(t for t in charts.tests([run]) if t["name"] == "mine")["charts"]
    assert reads["columns"] == [str(depth) for depth in made_up.DEPTHS]
    [row] = reads["rows"]
    assert row["name"] == "4 KiB"
    assert [cell["text"] for cell in row["cells"]] == [
        wording.number(value) for _, _, value in reads["values"]
    ]
    assert row["cells"][-1]["level"] == 100
    assert writes["drive"] == 0


@pytest.mark.parametrize(("drive", "log"), [(made_up.CORE, True), (made_up.X25M, False)])
def test_panels_that_one_linear_scale_would_leave_empty_are_logarithmic(
    drive: Drive, log: bool
) -> None:
    run = made_up.make_run(drive, 30)
    run.manifest.tests[1].name = "mine"
    run.manifest.tests[1].charts = [Chart("seconds", "IOPS by the second", series=("operation",))]
    for row in run.rows:
        row["test"] = row["test"].replace("queue-depth", "mine")
    [test] = [one for one in charts.tests([run]) if one["name"] == "mine"]
    [chart] = [one for one in test["charts"] if one["kind"] == "seconds"]
    tops = [max(value for _, value in one["points"]) for one in chart["series"]]
    assert (max(tops) > 30 * min(tops)) == log
    assert chart["y"]["log"] == log


def test_intervals_are_those_of_the_analysis() -> None:
    run = made_up.whole_run(made_up.X25M, 100)
    payload = report_payload([run])
    assert payload["consistency"][0]["steady"] == {"from": 700, "interval": [1552.0, 1648.0]}
    # The band is the model with the bounds of the penalty's interval, its rate as it is.
    model = next(m for m in payload["models"] if m["operation"] == "write")
    finding = next(f for f in run.findings if f.name == "access_model_write")
    rate = finding.detail["sequential_rate_bytes_per_second"]
    for size, band in zip(model["block"], model["band"], strict=True):
        low, high = sorted(size / (penalty + size / rate) for penalty in finding.interval or ())
        assert band == pytest.approx([low, high], rel=1e-5)
    run.findings = [f for f in run.findings if f.name == "access_model_read"]
    run.findings[0] = replace(run.findings[0], interval=None)
    bare = report_payload([run])
    assert bare["consistency"][0]["steady"] is None
    assert bare["models"][0]["band"] is None
    # Of rates: those that the spec sheet has.
    lines = next(t for t in charts.tests([run]) if t["name"] == "matrix")["charts"][0]["series"]
    for _, mean, _, (low, high) in (point for line in lines for point in line["points"]):
        assert low < mean < high
    points = {p["id"]: p for line in payload["queueDepth"] for p in line["points"]}
    for one in measured(run, "queue-depth"):
        estimate = of_point(one, IOPS)
        assert estimate is not None
        factors = points[one.recording]["rateInterval"]
        assert [f * one.iops for f in factors] == pytest.approx(estimate.interval(), rel=1e-4)


def test_the_table_of_the_access_model_says_where_it_fails() -> None:
    run = made_up.whole_run(made_up.X25M, 100)
    place = next(n for n, f in enumerate(run.findings) if f.name == "access_model_write")
    fails = {"misfit_range_block_bytes": [2**19, 2**26], "largest_misfit": -0.446}
    detail = {**run.findings[place].detail, **fails}
    run.findings[place] = replace(run.findings[place], detail=detail)
    read, write = report_view([run])["models"]
    assert read["fails"] == wording.NOTHING
    assert write["fails"] == "512 KiB to 64 MiB (\N{MINUS SIGN}45 %)"


def test_same_drive_twice_gets_two_names() -> None:
    runs = [made_up.make_run(seed=1), made_up.make_run(seed=2)]
    assert drive_names(runs[:1]) == ["OCZ Core 64GB"]
    runs[1].manifest.id = "other"
    assert len(set(drive_names(runs))) == 2
    runs[1].manifest.target.settings = {"cache.write_back": "false"}
    assert drive_names(runs) == ["OCZ Core 64GB", "OCZ Core 64GB (cache.write_back=false)"]


def test_percentile_curves_follow_the_histogram() -> None:
    run = made_up.make_run(made_up.X25M)
    corner = report_payload([run])["corners"][0]
    row = next(r for r in run.rows if r["recording"] == corner["id"])
    curve = dict(zip(corner["curve"]["tail"], corner["curve"]["ns"], strict=True))
    for tail, key in ((0.1, "p90"), (0.01, "p99"), (0.001, "p999")):
        assert curve[tail] == pytest.approx(row[f"latency_{key}_s"] * 1e9, rel=0.01)
    assert corner["curve"]["ns"][-1] == round(row["latency_max_s"] * 1e9)
    assert corner["curve"]["ns"] == sorted(corner["curve"]["ns"])


def test_a_second_cut_short_is_left_out() -> None:
    run = made_up.make_run(seconds=100)
    row = next(r for r in run.rows if r["recording"] == "consistency/write")
    assert len(report_payload([run])["consistency"][0]["ios"]) == 100
    row["elapsed_s"] = 99.4
    series = report_payload([run])["consistency"][0]
    assert len(series["ios"]) == 99
    assert series["cut"]


def test_write_leaves_the_old_report_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_html([made_up.make_run(seconds=20)], path)
    before = path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="at least one run"):
        write_html([], path)
    assert path.read_text(encoding="utf-8") == before
    assert list(tmp_path.iterdir()) == [path]
    assert path.stat().st_mode & 0o444


def test_terminal_summary_fits_80_columns() -> None:
    for run in (made_up.make_run(), made_up.broken_run(), made_up.empty_run()):
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(render_summary(run))
        text = console.export_text()
        assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
        assert run.manifest.target.name in text


def test_the_longest_access_model_leaves_room_for_its_operation() -> None:
    row = {"operation": "write", "rate": "76.3", "penalty": "244 ms", "half": "17.7 MiB"}
    row |= {"block": "11.2 MiB", "fails": "512 KiB to 64 MiB (\N{MINUS SIGN}45 %)"}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(terminal._models({"models": [row]}))
    assert "write" in console.export_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.447e-3, "447 µs"),
        (0.2457, "246 ms"),
        (0.99999e-3, "1.00 ms"),
        (1.0, "1.00 s"),
        (12e-9, "12.0 ns"),
        (0.0, "0 s"),
        (None, "–"),
        (float("nan"), "–"),
        (float("inf"), "–"),
        ("x", "–"),
    ],
)
def test_durations(value: object, text: str) -> None:
    assert wording.duration(value) == text


def test_sizes_and_rates() -> None:
    assert wording.size(4096) == "4 KiB"
    assert wording.size(11.3 * 2**20) == "11.3 MiB"
    assert wording.size(512) == "512 B"
    assert wording.mbps(125 * 2**20) == "131"
    assert wording.amount(64_023_257_088) == "64 GB"
    assert wording.number(9.999) == "10.0"
    assert wording.number(12345.6) == "12,346"
    assert wording.quantity(0.02, "fraction") == "2.00 %"


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_every_colour_that_carries_text_has_contrast() -> None:
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r"\{[^{}]*--paper: #[0-9a-f]{6}[^{}]*\}", CSS.read_text())
    ]
    assert len(blocks) >= 3
    for colours in blocks:
        paper = luminance(colours["paper"])
        for name in ("ink", "quiet", "notice", "bad", "good", *(f"d{i}" for i in range(8))):
            light, dark = sorted((paper, luminance(colours[name])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, colours[name])


def test_what_was_published_stands_beside_what_was_measured() -> None:
    run = made_up.make_run(made_up.CORE)
    run.manifest.target.locator = "sim:ocz-vertex-3-240gb"
    [row] = [
        row
        for row in published_view([run], ["a drive"])
        if row["what"] == "Sequential read of 128 KiB at queue depth 1"
    ]
    assert row["published"] == "about 370 MB/s"
    assert row["about"] == ""
    [here] = row["here"]
    measured = next(
        one for one in run.recordings if one.id.startswith("four-corners/sequential-read")
    )
    assert here.startswith(f"{wording.mbps(measured.bytes_per_second)} MB/s (")
    assert "What was published" in render_html([run])


def test_figures_of_which_a_run_measured_none_are_left_out() -> None:
    run = made_up.make_run(made_up.CORE)
    run.manifest.target.locator = "sim:ocz-vertex-3-240gb"
    run.recordings.clear()
    assert published_view([run], ["a drive"]) == []
    assert published_view([run], ["a drive"], ["ocz-vertex-3-240gb"])


def test_published_figures_of_another_drive_can_be_laid_over_a_run() -> None:
    run = made_up.make_run(made_up.CORE)
    run.manifest.target.locator = "/dev/nvme1n1"
    assert "What was published" not in render_html([run])
    text = render_html([run], ["samsung-840-pro-256gb"])
    assert "samsung-840-pro-256gb" in text
