"""A report in a browser, and the reports that the tests of the page open."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import report_fixture as made_up

from fourcorners.recording import OperationRecording

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

Open = Callable[..., "Opened"]


def by_id(run: Any, recording: str) -> OperationRecording:
    """The writes of a recording."""
    [found] = [one.write for one in run.recordings if one.id == recording]
    assert isinstance(found, OperationRecording)
    return found


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

    def wait_until(self, truth: str) -> None:
        """Waits until an expression of JavaScript is true; fails after ten seconds.

        The page forbids `eval`, which the browser driver's own way to wait needs in the page.
        """
        deadline = time.monotonic() + 10
        while not self.page.evaluate(truth):
            assert time.monotonic() < deadline, truth
            self.page.wait_for_timeout(20)

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
