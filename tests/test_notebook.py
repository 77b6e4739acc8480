"""Results show themselves in Jupyter, whatever a drive is called."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.formatters import HTMLFormatter
from report_fixture import CORE, make_run

import fourcorners as fc
from fourcorners import wording
from fourcorners.analysis import Finding
from fourcorners.jupyter import register
from fourcorners.reporting.notebook import run_html


def shown(result: object) -> str:
    """What Jupyter shows of it; an empty text where it knows nothing of its class."""
    formatter = HTMLFormatter()
    register(formatter)
    return formatter(result) or ""


def test_a_recording_shows_its_operations() -> None:
    with fc.open_target("sim:ocz-core-64gb") as drive:
        stream = fc.Stream(read_share=0.5, pattern="random", block_bytes=4096)
        recording = drive.run(fc.Workload([stream], ios=20))
    html = shown(recording)
    assert "<td>read</td>" in html
    assert "<td>write</td>" in html
    assert wording.number(recording.read.iops) in html


def test_a_finding_shows_value_and_interval() -> None:
    finding = Finding(
        "x", "Seek <b>", "measured", "text", value=0.0136, unit="s", interval=(0.013, 0.014)
    )
    html = shown(finding)
    assert "13.6 ms" in html
    assert "13.0 to 14.0 ms" in html
    assert "<b>" not in html


def test_names_of_drives_stay_text() -> None:
    run = make_run(CORE)
    run.manifest.target.name = "<script>alert(1)</script>"
    html = run_html(run)
    assert "Good at" in html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_plot_has_latency_over_time_for_each_operation_that_took_seconds() -> None:
    with fc.open_target("sim:ocz-core-64gb") as drive:
        stream = fc.Stream(read_share=0.5, pattern="random", block_bytes=4096)
        long = fc.plot(drive.run(fc.Workload([stream], duration_s=5)))
        short = fc.plot(drive.run(fc.Workload([stream], ios=2)))
    labels = [axes.get_ylabel() for axes in long.axes]
    assert {"read latency (ms)", "write latency (ms)"} <= set(labels)
    [drawn] = [axes for axes in long.axes if axes.get_ylabel() == "write latency (ms)"]
    shares: Any = np.ma.filled(np.ma.asarray(drawn.collections[0].get_array()), 0.0)
    assert shares.sum(axis=0).tolist() == pytest.approx([1.0] * shares.shape[1])
    assert "write latency (ms)" not in [axes.get_ylabel() for axes in short.axes]


def test_runs_and_explanations_show_their_findings(tmp_path: Path) -> None:
    """Registered by the names of their classes: a class that moves is not shown any more."""
    explanation = fc.explain("sim:ocz-core-64gb", reads_only=True, out=tmp_path)
    for result in (explanation, explanation.runs[-1]):
        assert "<td>measured</td>" in shown(result)
