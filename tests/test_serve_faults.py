"""Faults of a served drive, as people write them: what is refused, wherever they are given."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

import fourcorners as fc
from fourcorners.cli import main
from fourcorners.cli.top import TopView

VECTOR = "sim:ocz-vector-256gb"

NEVER: Sequence[tuple[str, dict[str, object], str]] = [
    ("io-error", {"times": 0}, "0 times is never"),
    ("io-error", {"probability": 0}, "above 0"),
    ("io-error", {"probability": "nan"}, "no probability"),
    ("io-error", {"probability": "1e400"}, "no probability"),
    ("io-error", {"from-io": 0}, "counted from 1"),
    ("io-error", {"from-io": 10**18}, "no number of I/Os"),
    ("io-error", {"length": "0 B"}, "range is empty"),
    ("io-error", {"offset": "1 TB"}, "beyond the drive"),
    ("io-error", {"for": "0 s"}, "over before anything happens"),
    ("io-error", {"at": "1e9 s"}, "not a time"),
    ("io-error", {"delay": "5 ms"}, "only slow has a delay"),
    ("hang", {"on": "flush", "length": "4 KiB"}, "a flush has no range"),
    ("latent-error", {"on": "write"}, "about reads"),
    ("throttle", {"rate": "0.1 B/s"}, "which rate is left"),
    ("misplaced-write", {"distance": "1 TB"}, "distance is beyond the drive"),
    ("power-cut", {"times": 2}, "once at its time"),
]


@pytest.mark.parametrize(("kind", "keys", "why"), NEVER)
def test_a_fault_of_a_file_that_can_never_act_ends_it_at_once(
    tmp_path: Path,
    kind: str,
    keys: dict[str, object],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    faults = tmp_path / "faults.toml"
    lines = [f'"{key}" = "{value}"\n' for key, value in keys.items()]
    faults.write_text("".join(['[[fault]]\nkind = "', kind, '"\n', *lines]), "utf-8")
    words = ["serve", VECTOR, "--nbd", f"unix:{tmp_path}/s", "--faults", str(faults)]
    assert main([*words, "--out", str(tmp_path / "runs")]) == 2
    printed = capsys.readouterr()
    # It is not said first where the drive is.
    assert printed.out == ""
    assert why in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not (tmp_path / "s").exists()


def test_a_fault_by_command_that_can_never_act_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with fc.serve(VECTOR, nbd=f"unix:{tmp_path}/s", out=tmp_path / "runs") as served:
        assert served.control is not None
        view, screen = TopView(served.control), Console(file=io.StringIO(), width=200)
        for kind, keys, why in NEVER:
            words = [kind, *(f"{key}={value}" for key, value in keys.items())]
            assert main(["control", str(served.control), *words]) == 2
            assert why in capsys.readouterr().err
            command = " ".join([kind, *(f'{key}="{value}"' for key, value in keys.items())])
            with pytest.raises(fc.UserError, match=why):
                served.command(command)
            view.type(f"{command}\r")
            with screen.capture() as shown:
                screen.print(view.drawn(200))
            assert why in shown.get()
        assert served.command("status")["faults"] == []
        for number, why in (("0", "there is no fault 0"), ("first", "no fault's number")):
            assert main(["control", str(served.control), "clear", number]) == 2
            assert why in capsys.readouterr().err
