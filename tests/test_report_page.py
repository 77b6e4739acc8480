"""The report in a browser: every control does what it says, whatever the runs hold."""

from __future__ import annotations

import csv
import io
import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import report_fixture as made_up

from fourcorners import wording
from fourcorners.recording import OperationRecording
from fourcorners.reporting.html import write_html

CHROMIUM = shutil.which("chromium")
RUNS: dict[str, Callable[[], list[made_up.FakeRun]]] = {
    "one": lambda: [made_up.whole_run()],
    "two": lambda: [made_up.whole_run(made_up.X25M), made_up.whole_run(made_up.VERTEX3)],
    "reviewed": lambda: [made_up.make_run(made_up.VECTOR), made_up.make_run(made_up.SAMSUNG)],
    "hostile": lambda: [made_up.hostile_run()],
    "broken": lambda: [made_up.broken_run(), made_up.make_run(made_up.CORE, 30)],
    "empty": lambda: [made_up.empty_run()],
    "all": lambda: [made_up.make_run(drive, seed=i) for i, drive in enumerate(made_up.ALL)],
}
VIEWS = '[data-figure="consistency"]'
OPENED_CPU_S = 1.0
"""Most processor time that a page of eight drives takes to open; about 0.3 s on the machine of
docs/report.md. Processor time, since others may load the machine."""


def by_id(run: Any, recording: str) -> OperationRecording:
    """The writes of a recording."""
    [found] = [one.write for one in run.recordings if one.id == recording]
    assert isinstance(found, OperationRecording)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright not installed")
    with playwright.sync_playwright() as engine:
        started = engine.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


class Opened:
    """A report in a browser, with what it logged and asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any):
        self.page = browser.new_context(**options).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def check(self) -> None:
        """Nothing was complained about and nothing but the file was asked for."""
        assert self.complaints == []
        assert all(url.startswith(("file:", "data:", "blob:")) for url in self.requests)

    def ticks(self, panel: str) -> list[str]:
        """Labels on the axes of one plot."""
        texts: list[str] = self.page.locator(f"{panel} .ticks text").all_text_contents()
        return texts

    def figure(self, title: str) -> Any:
        """The figure of a chart, by the title over its panels or over the only one."""
        return self.page.locator("figure").filter(
            has=self.page.get_by_role("heading", name=title, exact=True)
        )

    def table(self, figure: Any) -> list[list[str]]:
        """What the CSV of a figure holds."""
        if not figure.locator(".data table").count():
            figure.locator("summary").last.click()
        with self.page.expect_download() as download:
            figure.get_by_text("Save CSV").click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
        return list(csv.reader(io.StringIO(text)))


@pytest.fixture(scope="module")
def open_report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Opened]:
    folder = tmp_path_factory.mktemp("reports")
    opened: list[Opened] = []

    @cache
    def written(kind: str) -> Path:
        path = folder / f"{kind}.html"
        write_html(RUNS[kind](), path)
        return path

    def open_one(kind: str, **options: Any) -> Opened:
        for before in opened:
            before.page.context.close()
        opened[:] = [Opened(browser, written(kind), **options)]
        return opened[0]

    return open_one


Open = Callable[..., Opened]


@pytest.mark.parametrize("kind", ["one", "two", "hostile", "broken", "empty"])
def test_opens_cleanly_on_phone_and_desk(open_report: Open, kind: str) -> None:
    report = open_report(kind, viewport={"width": 390, "height": 844})
    page = report.page
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(
            "[...document.querySelectorAll('.plot svg')]"
            ".every(svg => Math.abs(svg.clientWidth - svg.parentNode.clientWidth) < 2)"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        plots = page.evaluate(
            "[...document.querySelectorAll('figure:not([hidden]) .plot svg')]"
            ".map(svg => [svg.getAttribute('aria-label'), svg.outerHTML, svg.clientWidth])"
        )
        for label, drawing, drawn in plots:
            assert len(label) > 20
            assert drawn <= width
            assert not any(odd in drawing for odd in ("NaN", "undefined", "Infinity"))
        assert bool(plots) == (kind != "empty")
    assert page.evaluate("window.hacked") is None
    # Every figure that is shown offers its data, if there are any.
    page.wait_for_function("!document.querySelector('figure:not([hidden]) .data:empty')")
    report.check()


def test_the_result_and_its_picture_come_first_and_caveats_after(
    browser: Any, tmp_path: Path
) -> None:
    run = made_up.make_run(made_up.VECTOR)
    run.manifest.notes = ["The run stopped once."]
    write_html([run], tmp_path / "noted.html")
    report = Opened(browser, tmp_path / "noted.html", viewport={"width": 1280, "height": 900})
    places = report.page.evaluate(
        """() => [".said p", ".headline .plot svg", "#misleading"].map((place) =>
          document.querySelector(place).getBoundingClientRect().bottom)"""
    )
    said, headline, misleading = places
    assert max(said, headline) < 900
    assert misleading > headline
    report.check()
    report.page.context.close()


def test_names_on_an_axis_of_percentiles_keep_apart(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "rare.html"
    write_html([made_up.rare_run()], path)
    report = Opened(browser, path)
    for width in (390, 1280):
        report.page.set_viewport_size({"width": width, "height": 844})
        report.page.wait_for_function(
            "[...document.querySelectorAll('.plot svg')]"
            ".every(svg => Math.abs(svg.clientWidth - svg.parentNode.clientWidth) < 2)"
        )
        rows = report.page.evaluate(
            """() => [...document.querySelectorAll("[data-figure=latency] svg")].map((svg) =>
              [...svg.querySelectorAll(".ticks")].pop().querySelectorAll("text")).map((texts) =>
              [...texts].map((text) => [text.textContent, text.getBoundingClientRect()])
                .map(([text, box]) => [text, box.left, box.right]))"""
        )
        assert any(text.startswith("99.999") for row in rows for text, *_ in row)
        for row in rows:
            places = sorted(row, key=lambda one: one[1])
            for (text, _, right), (after, left, _) in itertools.pairwise(places):
                assert right + 4 <= left, (width, text, after)
    report.page.context.close()


def test_a_name_that_is_cut_beside_its_line_is_told_whole_in_the_key(
    browser: Any, tmp_path: Path
) -> None:
    run, path = made_up.whole_run(), tmp_path / "names.html"
    for test in run.manifest.tests:
        for recording in test.recordings:
            if "variant" in recording.point:
                was = recording.point["variant"]
                recording.point = {**recording.point, "variant": f"{was}, as it was before"}
    write_html([run], path)
    report = Opened(browser, path)
    report.page.set_viewport_size({"width": 1280, "height": 844})
    cut = report.page.evaluate(
        """() => [...document.querySelectorAll(".plot svg title")]
          .filter((title) => title.parentNode.firstChild.textContent.endsWith("…"))
          .map((title) => [title.textContent, [...title.closest("figure").querySelectorAll(".key")]
            .filter((key) => key.checkVisibility()).map((key) => key.textContent).join("\\n")])"""
    )
    assert cut
    for name, key in cut:
        assert name in key
    report.page.context.close()


def test_every_switch_changes_its_axis_and_takes_it_back(open_report: Open) -> None:
    report = open_report("two")
    switches = report.page.evaluate(
        """() => [...document.querySelectorAll("figure .switch")].map((group) => {
          const figure = group.closest("figure");
          const plots = [...figure.querySelectorAll(".plot")];
          const drawn = () => plots.map((plot) => plot.clientWidth && plot.innerHTML).join();
          const buttons = [...group.querySelectorAll("button")];
          const pressed = () => buttons.map((one) => one.getAttribute("aria-pressed"));
          const first = buttons.findIndex((one) => one.getAttribute("aria-pressed") === "true");
          const before = drawn();
          const each = buttons.map((one, i) => {
            one.click();
            const alone = pressed().every((value, at) => (value === "true") === (at === i));
            return [one.textContent, alone, drawn() === before];
          });
          buttons[first].click();
          return [group.getAttribute("aria-label"), first, each, drawn() === before];
        })"""
    )
    assert len(switches) > 20
    assert {"Queue depth", "Throughput", "Latency", "Linear plot", "Run", "Drive"} <= {
        name for name, *_ in switches
    }
    for name, first, buttons, restored in switches:
        assert restored, name
        for place, (text, alone, unchanged) in enumerate(buttons):
            assert alone, (name, text)
            assert unchanged == (place == first), (name, text)
    report.check()


def test_three_views_show_one_drive_at_equal_scales(open_report: Open) -> None:
    report = open_report("reviewed")
    page = report.page
    chosen = f"{VIEWS} .one-drive.chosen"
    assert page.locator(f"{chosen} h3:visible").all_text_contents() == [
        "Whole run, log axis",
        "From 1,400 s, log axis",
        "From 1,400 s, linear axis to 40,000 IOPS",
    ]
    before = report.ticks(chosen)
    cloud = page.locator(f"{chosen} .cloud").first.get_attribute("d")
    drives = page.get_by_role("group", name="Drive", exact=True)
    drives.get_by_text("840 Pro").click()
    assert page.locator(chosen).count() == 1
    assert report.ticks(chosen) == before
    assert "40,000" in before
    assert page.locator(f"{chosen} .cloud").first.get_attribute("d") != cloud
    page.get_by_role("button", name="to the highest").click()
    fitted = report.ticks(chosen)
    assert fitted != before
    drives.get_by_text("Vector").click()
    assert report.ticks(chosen) == fitted
    # Latency over time stands beside them, of both drives.
    longest = report.figure("Longest latency by the second")
    assert longest.locator(".dots .cloud").count() == 2
    # The interval that the analysis found of the steady rate stands in all of them.
    assert page.locator(f"{chosen} .band .between").count() == 3
    assert "90 % interval" in (page.locator(f"{VIEWS} figcaption").text_content() or "")
    report.check()


def test_a_drive_is_chosen_once_for_all_figures(open_report: Open) -> None:
    report = open_report("two")
    held = report.figure("IOPS by the second")
    assert held.locator(".one-drive").count() == 4  # two drives, each twice
    held.get_by_role("button", name="75 % filled", exact=True).click()
    for figure in (held, report.page.locator(VIEWS)):
        figure.get_by_role("button", name="OCZ Vertex 3 240GB").click()
        pressed = report.page.locator('.drives-switch button[aria-pressed="true"]')
        assert pressed.all_text_contents() == ["OCZ Vertex 3 240GB"] * 2
        assert report.page.locator(".one-drive.chosen").count() == 2
    assert held.locator(".one-drive.chosen > h3.print-only").text_content() == (
        "OCZ Vertex 3 240GB, 75 % filled"
    )
    report.check()


def test_a_short_run_shows_its_last_30_percent(open_report: Open) -> None:
    page = open_report("one").page
    headings = page.locator(f"{VIEWS} h3").all_text_contents()
    assert "Last 30 % (from 70 s), log axis" in headings
    caption = page.locator(f"{VIEWS} figcaption").text_content()
    assert "shorter than the reviews' 2000 s" in (caption or "")


def test_sizes_are_switched_by_keyboard(open_report: Open) -> None:
    report = open_report("one")
    panel = '[data-figure="transfer-size"] .panel:first-child'
    assert "512 B" in report.ticks(panel)
    sizes = report.page.get_by_role("group", name="Transfer size")
    sizes.get_by_role("button", name="linear").focus()
    report.page.keyboard.press("Enter")
    assert "512 B" not in report.ticks(panel)
    assert "256 MiB" in report.ticks(panel)


def test_models_are_drawn_over_measurements_with_residuals_and_bands(open_report: Open) -> None:
    report = open_report("one")
    panels = report.page.locator('[data-figure="transfer-size"] .panel')
    assert panels.count() == 6
    assert panels.nth(0).locator(".series.model .stroke").count() == 1
    assert panels.nth(0).locator(".series.band .between").count() == 1
    assert panels.nth(0).locator(".series.markers use").count() == len(made_up.SIZES)
    assert "misfit" in (panels.nth(2).text_content() or "")
    probe = report.figure("Model and measurement")
    assert probe.locator(".series.model .stroke").count() == 1
    assert probe.locator(".series.markers use").count() == 3
    rows = report.table(probe)
    assert rows[0][2:] == ["block size (bytes)", "measured (s)", "predicted (s)", "misfit"]
    assert [float(row[5]) for row in rows[1:]] == pytest.approx([0.1] * 3, rel=1e-4)
    # Of lines with long enough measurements every point has its interval.
    assert report.figure("Rate").locator(".whiskers").count() == 4
    assert "batches of the" in (report.figure("Rate").locator("figcaption").text_content() or "")
    # So have percentile curves, and the table has their bounds.
    latency = report.page.locator('[data-figure="latency"]')
    assert latency.locator(".series.band .between").count() == 8
    head, *rows = report.table(latency)
    assert head[-3:] == ["latency (s)", "from (90 %, s)", "to (90 %, s)"]
    bounded = [[float(cell) for cell in row[3:]] for row in rows if row[4]]
    assert len(bounded) > 100
    assert all(low <= value * 1.01 and value <= high * 1.01 for value, low, high in bounded)


def test_a_map_of_latency_tells_its_cells(open_report: Open) -> None:
    report = open_report("two")
    page = report.page
    figure = page.locator("#consistency").locator("figure", has_text="Latency over time")
    assert figure.locator(".cells").count() == 2
    # Both drives on the same scales, each with its median, 99th percentile and slowest I/Os.
    ticks = figure.locator(".plot").evaluate_all(
        "plots => plots.map(p => [...p.querySelectorAll('.ticks text')].map(t => t.textContent))"
    )
    assert ticks[0] == ticks[1]
    plot = figure.locator(".plot").first
    names = plot.locator(".name").evaluate_all("ns => ns.map(n => n.firstChild.data).sort()")
    assert names == ["99 %", "median", "slowest"]
    # The fastest I/Os, away from the lines.
    left, top, right, bottom = figure.locator(".cells").first.evaluate(
        """group => [...group.querySelectorAll("path")]
          .flatMap((path) => path.getAttribute("d").split("M").slice(1))
          .map((cell) => cell.match(/[0-9.]+/g).map(Number))
          .reduce((a, b) => (b[1] > a[1] ? b : a)).slice(0, 4)"""
    )
    plot.scroll_into_view_if_needed()
    plot.hover(position={"x": (left + right) / 2, "y": (top + bottom) / 2}, force=True)
    tip = page.locator("#tip").text_content() or ""
    name, when, share = tip.split("\n")
    assert name == "Intel X25-M G2 80GB"
    assert re.fullmatch(r"\d+ to \d+ s", when)
    assert re.fullmatch(r".+ to .+: .+ % of the I/Os \([\d,]+ of [\d,]+\)", share)
    report.check()


def test_dark_follows_the_system_and_the_button(open_report: Open) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(253, 253, 251)", "dark": "rgb(20, 23, 26)"}
    report = open_report("empty")
    for scheme, other in (("light", "dark"), ("dark", "light")):
        report.page.emulate_media(color_scheme=scheme)
        assert report.page.evaluate(background) == colours[scheme]
        report.page.locator("#theme").click()
        assert report.page.evaluate(background) == colours[other]
        report.page.locator("#theme").click()
        assert report.page.evaluate(background) == colours[scheme]
        report.page.reload()  # forgets what was pressed
    assert report.page.pdf()[:5] == b"%PDF-"
    report.check()


def test_a_drive_can_be_hidden_in_every_plot(open_report: Open) -> None:
    page = open_report("two").page
    drawn = page.locator('figure [data-drive="1"]:not(button), figure[data-drive="1"]')
    seen = "nodes => nodes.filter((node) => node.getClientRects().length).length"
    assert drawn.evaluate_all(seen) > 20
    assert page.locator('figure.heat[data-drive="1"]').first.is_visible()
    assert page.locator('.corner li[data-drive="1"]').first.is_visible()
    button = page.locator('.drives button[data-drive="1"]')
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert drawn.evaluate_all(seen) == 0
    button.click()
    assert drawn.evaluate_all(seen) > 20


def test_a_point_tells_its_numbers_and_its_drive_stands_out_everywhere(open_report: Open) -> None:
    page = open_report("two").page
    marker = page.locator('[data-figure="queue-depth"] [data-drive="1"] use').first
    marker.scroll_into_view_if_needed()
    marker.hover(force=True)
    tip = page.locator("#tip").text_content() or ""
    assert tip.startswith("OCZ Vertex 3 240GB\nqueue depth 1: ")
    places = ["queue-depth", "transfer-size", "latency"]
    for place in ("#corners", *(f'[data-figure="{figure}"]' for figure in places)):
        own, other = (page.locator(f'{place} [data-series="{drive}"]').first for drive in (1, 0))
        assert "faded" not in (own.get_attribute("class") or "")
        assert "faded" in (other.get_attribute("class") or "")
    page.mouse.move(1, 1)
    assert page.locator(".faded").count() == 0


def test_the_keyboard_reads_points_and_zooms(open_report: Open) -> None:
    report = open_report("two")
    page = report.page
    plot = page.locator('[data-figure="queue-depth"] .plot').first
    tip = page.locator("#tip")
    plot.focus()
    for key, text in (
        ("ArrowRight", "Intel X25-M G2 80GB\nqueue depth 1: "),
        ("ArrowRight", "Intel X25-M G2 80GB\nqueue depth 4: "),
        ("ArrowDown", "OCZ Vertex 3 240GB\nqueue depth 4: "),
        ("End", "OCZ Vertex 3 240GB\nqueue depth 31: "),
        ("ArrowRight", "OCZ Vertex 3 240GB\nqueue depth 31: "),
        ("Home", "OCZ Vertex 3 240GB\nqueue depth 1: "),
        ("ArrowLeft", "OCZ Vertex 3 240GB\nqueue depth 1: "),
        ("ArrowUp", "Intel X25-M G2 80GB\nqueue depth 1: "),
    ):
        page.keyboard.press(key)
        assert (tip.text_content() or "").startswith(text), key
    assert tip.get_attribute("aria-live") == "polite"
    page.keyboard.press("Escape")
    assert not tip.is_visible()

    chosen = f"{VIEWS} .one-drive.chosen .panel:first-of-type"
    whole = report.ticks(chosen)
    page.locator(f"{chosen} .plot").focus()
    page.keyboard.press("+")
    assert report.ticks(chosen) != whole
    page.keyboard.press("-")
    assert report.ticks(chosen) == whole
    report.check()


def test_a_drag_zooms_all_panels_of_a_figure(open_report: Open) -> None:
    report = open_report("one")
    page = report.page
    figure = page.locator(VIEWS)
    back = figure.get_by_role("button", name="Whole range")
    assert not back.is_visible()
    before = report.ticks(VIEWS)
    plot = figure.locator(".plot").nth(1)
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 120)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 120, steps=3)
    page.mouse.up()
    after = report.ticks(VIEWS)
    assert back.is_visible()
    assert after != before
    seconds = [float(t) for t in report.ticks(f"{VIEWS} .panel:nth-of-type(1)") if t.isdigit()]
    assert min(s for s in seconds if s < 100) >= 70  # the first panel follows the second
    back.click()
    assert report.ticks(VIEWS) == before
    assert not back.is_visible()
    report.check()


def test_every_figure_has_its_data_its_parameters_and_its_command(open_report: Open) -> None:
    report = open_report("two")
    page = report.page
    # The headline is a figure of the page once more.
    for node in page.locator("figure:not([hidden]):not(.headline)").all():
        assert node.locator(".data").count() == 1
        link = node.locator(".behind a")
        how = (
            page.locator(str(link.get_attribute("href")))
            if link.count()
            else node.locator("details.how").first
        )
        assert "fourcorners characterize sim:" in (how.text_content() or "")
        assert "Recordings" in (how.text_content() or "")
    heat = report.figure("IOPS map, read, Intel X25-M G2 80GB (block size by outstanding I/Os)")
    heat.get_by_role("link", name="Parameters and command").click()
    assert page.locator("#matrix details.how").first.get_attribute("open") is not None
    report.check()


def test_saved_data_is_what_is_drawn(open_report: Open) -> None:
    report = open_report("one")
    runs = RUNS["one"]()
    page = report.page
    views = report.table(page.locator(VIEWS))
    assert views[0] == ["second", "Intel X25-M G2 80GB (IOPS)"]
    counts = by_id(runs[0], "consistency/write").second_ios
    assert [int(row[1]) for row in views[1:]] == list(counts)
    assert page.locator(f"{VIEWS} .data tbody tr").count() == 100

    heat = report.table(report.figure("IOPS map, read (block size by outstanding I/Os)"))
    assert heat[0] == ["drive", "series", "block size", "outstanding I/Os", "IOPS"]
    rates = {
        (one.id.split("/")[2], one.id.split("/")[3]): one.iops
        for one in runs[0].recordings
        if one.id.startswith("matrix/read/")
    }
    assert {(row[2], row[3]): float(row[4]) for row in heat[1:]} == pytest.approx(rates, rel=1e-5)

    map_over_time = page.locator("#consistency").locator("figure", has_text="Latency over time")
    density = report.table(map_over_time)
    assert density[0][-1] == "I/Os"
    over_time = by_id(runs[0], "consistency/write").latency_over_time
    assert sum(int(row[-1]) for row in density[1:]) == over_time.count.sum()
    assert all(
        float(row[2]) < float(row[3]) and float(row[4]) < float(row[5]) for row in density[1:]
    )

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    rounds = report.figure("64 KiB")
    rounds.locator("summary").last.click()
    rounds.get_by_role("button", name="Copy as CSV").click()
    rounds.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").split() == [
        "round,IOPS",
        *("1,4000", "2,3010", "3,3005", "4,3000", "5,2995", "6,2990"),
    ]
    report.check()


def test_text_that_looks_like_a_formula_is_no_formula_in_a_csv(open_report: Open) -> None:
    page = open_report("empty").page
    cells = ['=HYPERLINK("x")', "@a", "-1+2", "a,b", 'a "b"', -5, None]
    written = page.evaluate("values => values.map(cell)", cells)
    assert written == ['"\'=HYPERLINK(""x"")"', "'@a", "'-1+2", '"a,b"', '"a ""b"""', "-5", ""]


def test_paper_is_light_closed_and_shows_every_drive(open_report: Open) -> None:
    report = open_report("two", color_scheme="dark", viewport={"width": 688, "height": 900})  # A4
    page = report.page
    page.locator("details.how").first.evaluate("node => { node.open = true; }")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("button:visible").count() == 0
    assert page.locator("details.how[open]").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    # Three views of each drive's standard run, and of each of two recordings more.
    assert page.locator(".one-drive .plot svg:visible").count() == 6 + 12
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.how[open]").count() == 1
    report.check()


@pytest.mark.parametrize("kind", ["one", "two"])
def test_axe_finds_no_violation(open_report: Open, kind: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe not installed")
    page = open_report(kind).page
    # Contrast takes most of the time: only where the kinds of text are.
    parts = {"include": [["header"], [".masthead"], ["#corners"], ["#turns"]]}
    contrast = "color-contrast"
    for context, rules in (
        (None, {"rules": {contrast: {"enabled": False}}}),
        (parts, {"runOnly": [contrast]}),
    ):
        options = {"resultTypes": ["violations"], **rules}
        found = axe.Axe().run(page, context=context, options=options).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_controls_are_named_and_reached_by_keyboard(open_report: Open) -> None:
    report = open_report("two")
    odd = report.page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], summary, [tabindex]")]
          .filter((node) => node.getClientRects().length).filter((node) => node.tabIndex !== 0
            || !(node.getAttribute("aria-label") || node.textContent).trim())
          .map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert odd == []
    images = report.page.evaluate(
        """() => [...document.querySelectorAll("svg")].filter((svg) =>
          !(svg.getAttribute("aria-label") || svg.getAttribute("aria-hidden"))).length"""
    )
    assert images == 0
    # On the darkest cell of a map text keeps its contrast.
    for scheme in ("light", "dark"):
        report.page.emulate_media(color_scheme=scheme)
        cell = report.page.locator('.heat td[style="--level: 100%"]').first
        back, ink = cell.evaluate(
            """(node) => {
              const canvas = document.createElement("canvas").getContext("2d");
              return ["backgroundColor", "color"].map((key) => {
                canvas.fillStyle = getComputedStyle(node)[key];
                canvas.fillRect(0, 0, 1, 1);
                return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
              });
            }"""
        )
        light, dark = sorted((luminance(back), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, scheme


def luminance(rgb: list[int]) -> float:
    """Of a colour, as the contrast of WCAG 2 takes it."""
    parts = [c / 255 for c in rgb]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_eight_drives_open_at_once(open_report: Open, browser: Any) -> None:
    path = Path(open_report("all").page.url.removeprefix("file://"))
    assert path.stat().st_size < 3_000_000
    page = browser.new_context().new_page()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    metrics = session.send("Performance.getMetrics")["metrics"]
    [spent] = [entry["value"] for entry in metrics if entry["name"] == "TaskDuration"]
    page.context.close()
    assert spent < OPENED_CPU_S


def test_the_page_writes_numbers_as_python_does(open_report: Open) -> None:
    page = open_report("empty").page
    values = [0, 1, 4.07, 9.999, 99.95, 123.4, 999.6, 12345.6, 1e6, 0.0123, 4.5e-5, 2220, 1e13]
    script = "values => values.map(v => [significant(v), duration(v), size(Math.round(v))])"
    written = page.evaluate(script, values)
    for value, (number, time, size) in zip(values, written, strict=True):
        assert number == wording.number(float(value))
        assert time == wording.duration(value)
        assert size == wording.size(round(value))
