"""The report in a browser: every control does what it says, whatever the runs hold."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import report_fixture as made_up
from report_browser import RUNS, VIEWS, Open, Opened, by_id

from fourcorners import wording
from fourcorners.reporting.html import write_html

OPENED_CPU_S = 1.0
"""Most processor time that a page of eight drives takes to open; about 0.3 s on the machine of
docs/report.md. Processor time, since others may load the machine."""


@pytest.mark.parametrize("kind", ["one", "two", "hostile", "broken", "empty"])
def test_opens_cleanly_on_phone_and_desk(open_report: Open, kind: str) -> None:
    report = open_report(kind, viewport={"width": 390, "height": 844})
    page = report.page
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        report.wait_until(
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
    report.wait_until("!document.querySelector('figure:not([hidden]) .data:empty')")
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
        report.wait_until(
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
    # The page opens it on "hashchange", an event that the click does not wait for.
    page.locator("#matrix details.how[open]").wait_for()
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
