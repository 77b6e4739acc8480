"""Drive files and settings of one's own: mistakes are named in plain words, and found early."""

import io
from pathlib import Path

import pytest

import fourcorners as fc
from fourcorners import catalog
from fourcorners.cli import main
from fourcorners.errors import UserError

VECTOR = "sim:ocz-vector-256gb"
INSIDE = (
    "struct", "u8", "u32", "u64", "f64", "usize", "variant", "field", "enum", "expected a map",
    "invalid type", "invalid value", "NoneType", "literal", "deserial",
)  # fmt: skip
"""Words of the libraries that read a file, and of the types that they fill."""


def _refusal(settings: dict[str, object], text: str | None = None, path: Path | None = None) -> str:
    locator = VECTOR
    if text is not None and path is not None:
        path.write_text(text)
        locator = str(path)
    with pytest.raises(UserError) as raised:
        fc.open_target(locator, settings=settings)  # type: ignore[arg-type]
    message = str(raised.value)
    assert "\n" not in message
    assert not [word for word in INSIDE if f" {word}" in message], message
    return message


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("flash.read_time", "50", 'expected a time with its unit, such as "60 us", found 50'),
        ("flash.read_time", "50 MB", 'unknown unit "MB"'),
        ("flash.read_time", "soon", "write a number and a unit"),
        ("flash.dies", "many", 'expected a whole number, 0 or more, found the text "many"'),
        ("flash.dies", "-8", "expected a whole number, 0 or more, found -8"),
        ("flash.dies", "8.5", "expected a whole number, 0 or more, found 8.5"),
        ("flash.dies", "10000000000", "expected a whole number, 0 or more, found 10000000000"),
        ("flash.dies", "[8]", "expected a whole number, 0 or more, found a list"),
        ("write_buffer.write_back", "maybe", 'expected true or false, found the text "maybe"'),
        ("translation.spare_area", "lots", '"lots" is not a share'),
        ("translation.spare_area", "true", 'expected a share such as 0.07 or "7 %"'),
        ("garbage_collection.policy", "gredy", "did you mean greedy?"),
        ("flash.read_tme", "50us", "did you mean flash.read_time?"),
        ("flsh.read_time", "50us", "did you mean flash.read_time?"),
        ("dies", "8", "did you mean flash.dies?"),
        ("colour.of", "red", "this drive has no section colour"),
        ("flash.colour", "red", "there is no such parameter: use channels, dies"),
    ],
)
def test_settings_are_refused_in_plain_words(path: str, value: str, complaint: str) -> None:
    assert complaint in _refusal({path: value})


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("dies = { value = 32, source", "dies = { value = 32, sorce", "flash.dies.source?"),
        ("[flash]", "[flsh]", "did you mean flash?"),
        ('kind = "page-mapped-ssd"', 'kind = "page-maped-ssd"', "did you mean page-mapped-ssd?"),
        ('kind = "page-mapped-ssd"', "", "kind: it is missing"),
        ('kind = "page-mapped-ssd"', "kind = 7", "kind: expected"),
        ("[host]\noverhead = ", "[host]\nover = ", "host.over: there is no such parameter"),
        ("[host]\n", "[host]\noverhead = 7 #", "expected a value and its source"),
        ("[host]\n", "host = 3\n[nothing]\n", "host: expected a section with parameters, found 3"),
    ],
)  # fmt: skip
def test_files_are_refused_in_plain_words(
    old: str, new: str, complaint: str, tmp_path: Path
) -> None:
    text = catalog.load("ocz-vector-256gb").text
    assert old in text
    message = _refusal({}, text.replace(old, new, 1), tmp_path / "mine.toml")
    assert complaint in message, message


def test_one_grammar_of_quantities_for_settings() -> None:
    for written in ("50us", "50 us", "50µs", "0.05ms"):
        drive = fc.open_target(VECTOR, settings={"flash.read_time": written})
        reads = fc.Workload([fc.Stream.read("random", 4096, span_bytes=2**30)], ios=100)
        writes = fc.Workload([fc.Stream.write("sequential", 2**20, span_bytes=2**30)], ios=1024)
        drive.run(writes)
        assert drive.run(reads).read.latency_min_s == pytest.approx(101e-6, rel=0.3)
    fc.open_target(VECTOR, settings={"translation.spare_area": "4.5 %"})


def test_settings_from_python_are_text_numbers_or_truths(tmp_path: Path) -> None:
    drive = fc.open_target("sim:wd6400aaks", settings={"cache.write_back": False})
    assert drive.describe().settings == {"cache.write_back": "false"}
    assert drive.opening.settings == {"cache.write_back": "false"}
    fc.open_target(VECTOR, settings={"flash.dies": 32, "translation.spare_area": 0.02})
    fc.open_target(
        VECTOR,
        settings={"flash.program_time": "1.3 ms", "flash.program_times": ["0.5 ms", "2.1 ms"]},
    )
    assert "found 10000000000" in _refusal({"flash.dies": 10**10})
    for value in (None, object(), {"value": 3}, b"8", [1, 2], float("nan")):
        _refusal({"flash.dies": value})
    for settings in ([("flash.dies", 8)], "flash.dies=8"):
        with pytest.raises(UserError, match="settings: use a mapping"):
            fc.open_target(VECTOR, settings=settings)  # type: ignore[arg-type]


def test_a_drive_that_would_take_too_much_memory_says_how_much() -> None:
    changes = {"flash.page_size": "32 KiB", "capacity.user": "600 GB", "translation.unit": "512 B"}
    message = _refusal({**changes})
    assert "would take 9.8 GB of memory" in message
    assert "translation.unit" in message


def test_a_drive_file_to_begin_ones_own_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ocz-vector-256gb", "wd6400aaks", "raid0:2xwd6400aaks"):
        assert main(["drives", name, "--toml"]) == 0
        text = capsys.readouterr().out
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["drives", "--check", "-"]) == 0
        assert "nothing is wrong" in capsys.readouterr().out
        (tmp_path / "mine.toml").write_text(text)
        assert main(["drives", "--check", str(tmp_path / "mine.toml")]) == 0
        capsys.readouterr()


@pytest.mark.parametrize("arguments", [("--check",), (), ("--toml",), ("--json",)])
def test_a_file_that_is_wrong_is_not_shown(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = catalog.load("ocz-vector-256gb").text.replace("read_time", "read_tme", 1)
    (tmp_path / "mine.toml").write_text(text)
    assert main(["drives", *arguments, str(tmp_path / "mine.toml")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "did you mean flash.read_time?" in printed.err
    (tmp_path / "long.toml").write_text("# " + "x" * 300_000)
    assert main(["drives", *arguments, str(tmp_path / "long.toml")]) == 2
    assert "longer than 256 KiB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("locator", "complaint"),
    [
        ("sim:raid1:2xwd6400aaks", "RAID 1 is not simulated, only RAID 0 is: use sim:raid0:2xwd"),
        ("sim:raid5:4xwd6400aaks", "RAID 5 is not simulated"),
        ("sim:raid10:4xwd6400aaks", "RAID 10 is not simulated"),
        ("sim:RAID-6:4xwd6400aaks", "RAID 6 is not simulated"),
        ("sim:raid:4xwd6400aaks", "an array without a level is not simulated"),
        ("sim:raid0", "write raid0:4xNAME"),
        ("sim:raid0:", "write raid0:4xNAME"),
    ],
)
def test_only_raid_0_is_there(locator: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        fc.open_target(locator)
    assert fc.open_target("sim:RAID-0:2xwd6400aaks").locator == "sim:raid0:2xwd6400aaks"
