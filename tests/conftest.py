"""Ctrl-C as in a terminal for all tests, and a report in a browser for those of the page."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from report_browser import RUNS, Opened

from fourcorners.reporting.html import write_html

CHROMIUM = shutil.which("chromium")


def pytest_configure() -> None:
    """A shell starts what it runs in the background with SIGINT ignored, and children inherit it:
    commands that the tests interrupt would run on."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
