"""The figures of the report's page: switches, views, maps, points, zooms."""

from __future__ import annotations

import re

import pytest
import report_fixture as made_up
from report_browser import VIEWS, Open


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
    assert "batches of sec" in (report.figure("Rate").locator("figcaption").text_content() or "")
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
