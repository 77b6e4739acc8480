"""More of :mod:`dangers_fresh`: results put over what matters, queries that write, folders of
strangers, and no room."""

import json
from collections.abc import Iterator
from pathlib import Path

from dangers import disk, run
from dangers_fresh import MIB, Situation, file, overwrite, own_file, situation, verify

from fourcorners import catalog
from fourcorners.cli import main

# The state of a verification


@situation
def a_state_in_the_place_of_a_letter(folder: Path) -> Iterator[Situation]:
    yield Situation(verify(own_file(folder), "--state", file(folder)), "")


@situation
def a_state_in_the_place_of_the_target(folder: Path) -> Iterator[Situation]:
    target = file(folder)
    yield Situation(overwrite(target, "--state", target), "")


@situation
def a_state_in_the_place_of_an_earlier_one(folder: Path) -> Iterator[Situation]:
    """Of a disk that is on its way: without it nobody can say whether it kept its data."""
    other = folder / "moved.bin"
    assert main([*verify(other, "--size", "1MiB"), "--state", str(folder / "s"), "--quiet"]) == 0
    yield Situation(verify(own_file(folder), "--state", folder / "s"), "")


@situation
def a_state_through_a_link_that_leads_nowhere(folder: Path) -> Iterator[Situation]:
    (folder / "s").symlink_to(folder / "new")
    yield Situation(verify(own_file(folder), "--state", folder / "s"), "")


@situation
def a_state_on_a_disk(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        yield Situation(verify(own_file(folder), "--state", one.device), "")


@situation
def a_letter_as_the_state_of_an_earlier_run(folder: Path) -> Iterator[Situation]:
    target = own_file(folder)
    yield Situation(verify(target, "--again", "--state", file(folder)), "")


@situation
def a_missing_target_is_made_to_be_verified_again(folder: Path) -> Iterator[Situation]:
    target = folder / "t.bin"
    assert main([*verify(target, "--size", "1MiB"), "--state", str(folder / "s"), "--quiet"]) == 0
    target.unlink()
    yield Situation(verify(target, "--again", "--state", folder / "s"), "--size")


# Results in the place of something else


@situation
def a_report_over_a_table_of_its_run(folder: Path) -> Iterator[Situation]:
    run_a = folder / "runs" / "A"
    yield Situation(["report", str(run_a), "--out", str(run_a / "recordings.parquet")], "--replace")


@situation
def a_report_over_a_page_with_remarks(folder: Path) -> Iterator[Situation]:
    page = folder / "page.html"
    text = (folder / "runs" / "A" / "report.html").read_text()
    page.write_text(text.replace("</body>", "<p>To be discussed on Monday.</p></body>"))
    yield Situation(["report", str(folder / "runs" / "A"), "--out", str(page)], "--replace")


@situation
def a_report_over_a_page_with_a_remark_after_its_end(folder: Path) -> Iterator[Situation]:
    page = folder / "page.html"
    page.write_text((folder / "runs" / "A" / "report.html").read_text() + "To do: ask Ann.\n")
    yield Situation(["report", str(folder / "runs" / "A"), "--out", str(page)], "--replace")


@situation
def a_report_over_the_run_folder(folder: Path) -> Iterator[Situation]:
    run_a = str(folder / "runs" / "A")
    yield Situation(["report", run_a, "--out", run_a, "--replace"], "folder")


@situation
def a_report_in_a_folder_that_is_not_there(folder: Path) -> Iterator[Situation]:
    run_a = str(folder / "runs" / "A")
    yield Situation(["report", run_a, "--out", str(folder / "no" / "page.html")], "no folder")


@situation
def one_file_for_two_results(folder: Path) -> Iterator[Situation]:
    run_a, page = str(folder / "runs" / "A"), str(folder / "page")
    yield Situation(["compare", run_a, run_a, "--html", page, "--markdown", page], "")


@situation
def a_comparison_over_a_manifest(folder: Path) -> Iterator[Situation]:
    run_a = folder / "runs" / "A"
    yield Situation(
        ["compare", str(run_a), str(run_a), "--html", str(run_a / "manifest.json")], "--replace"
    )


@situation
def a_query_over_a_table_of_its_run(folder: Path) -> Iterator[Situation]:
    run_a = folder / "runs" / "A"
    yield Situation(
        ["query", "SELECT 1", str(run_a), "--out", str(run_a / "series.parquet")], "--replace"
    )


def _sql(name: str, statement: str) -> None:
    def stage(folder: Path) -> Iterator[Situation]:
        letter = file(folder, "letter.csv")
        run_a = folder / "runs" / "A"
        sql = statement.format(letter=letter, table=run_a / "series.parquet", folder=folder)
        yield Situation(["query", sql, str(run_a)], "")

    stage.__name__ = f"a_query_that_{name}"
    situation(stage)


_sql("copies_to_a_letter", "COPY (SELECT 1) TO '{letter}'")
_sql("copies_to_a_table_that_it_may_read", "COPY (SELECT 1) TO '{table}' (FORMAT parquet)")
_sql("copies_under_an_explanation", "EXPLAIN ANALYZE COPY (SELECT 1) TO '{table}' (FORMAT parquet)")
_sql("selects_and_then_copies", "SELECT 1; COPY (SELECT 1) TO '{table}' (FORMAT parquet)")
_sql("exports_all", "EXPORT DATABASE '{folder}/exported'")
_sql("attaches_a_database", "ATTACH '{folder}/new.db'")
_sql("reads_a_letter", "SELECT * FROM read_csv('{letter}')")
_sql("runs_a_copy_as_a_text", "SELECT * FROM query('COPY (SELECT 1) TO ''{letter}''')")
_sql("removes_a_table", "DROP VIEW series")


@situation
def a_table_over_a_spreadsheet(folder: Path) -> Iterator[Situation]:
    yield Situation(
        ["query", "SELECT 1", str(folder / "runs"), "--out", str(file(folder, "budget.csv"))],
        "--replace",
    )


@situation
def tables_into_a_folder_of_letters(folder: Path) -> Iterator[Situation]:
    (folder / "letters").mkdir()
    (folder / "letters" / "runs.csv").write_text("marathon, 10 km")
    yield Situation(["export", str(folder / "letters"), str(folder / "runs")], "not empty")


@situation
def tables_in_the_place_of_a_file(folder: Path) -> Iterator[Situation]:
    yield Situation(["export", str(file(folder)), str(folder / "runs")], "")


@situation
def a_prepared_drive_over_its_own_drive_file(folder: Path) -> Iterator[Situation]:
    own = folder / "mine.toml"
    own.write_text(catalog.load("ocz-core-64gb").text)
    yield Situation(["prepare", str(own), str(own), "--filled", "0.01"], "--replace")


@situation
def run_folders_in_the_place_of_a_file(folder: Path) -> Iterator[Situation]:
    yield Situation(
        ["run", "queue-depth", "sim:ocz-core-64gb", "--out", str(file(folder))], "cannot create"
    )


@situation
def run_folders_below_a_file(folder: Path) -> Iterator[Situation]:
    out = str(file(folder) / "runs")
    yield Situation(["run", "queue-depth", "sim:ocz-core-64gb", "--out", out], "cannot create")


@situation
def a_baseline_in_the_place_of_a_file(folder: Path) -> Iterator[Situation]:
    yield Situation(
        ["gate", str(own_file(folder)), "--baseline", str(file(folder)), "--write-baseline"], ""
    )


@situation
def documents_over_edited_ones(folder: Path) -> Iterator[Situation]:
    (folder / "steady-state.md").write_text("what I think of it")
    yield Situation(["arena", "steady", "--traces", "1", "--write", str(folder)], "--replace")


@situation
def a_reproduction_over_an_article(folder: Path) -> Iterator[Situation]:
    (folder / "reproduction.md").write_text("an article about reproduction")
    yield Situation(["reproduce", "--only", "core", "--write", str(folder)], "--replace")


@situation
def an_import_in_the_place_of_what_it_reads(folder: Path) -> Iterator[Situation]:
    source = folder / "fio.json"
    source.write_text("{}")
    yield Situation(["import", str(source), "--out", str(source)], "")


# Folders of strangers


def _forged(folder: Path, **opening: object) -> Path:
    """``runs/A`` as a stopped run of a file that a stranger chose."""
    run_a = folder / "runs" / "A"
    path = run_a / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest.pop("sha256", None)
    manifest.pop("digests", None)
    manifest.update(status="interrupted")
    manifest["request"]["opening"] = opening
    path.write_text(json.dumps(manifest))
    return run_a


@situation
def a_folder_of_a_stranger_that_overwrites_a_file(folder: Path) -> Iterator[Situation]:
    target = file(folder)
    run_a = _forged(folder, locator=str(target), overwrite=str(target), seed=1)
    yield Situation(["resume", str(run_a)], "")


@situation
def a_folder_of_a_stranger_that_makes_a_file(folder: Path) -> Iterator[Situation]:
    run_a = _forged(folder, locator=str(folder / "new.bin"), size=MIB, seed=1)
    yield Situation(["resume", str(run_a)], "")


@situation
def a_folder_of_a_stranger_that_destroys_a_disk(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        run_a = _forged(folder, locator=one.device, destroy_data=one.device, seed=1)
        yield Situation(["resume", str(run_a)], "")


@situation
def a_folder_of_a_stranger_with_a_manifest_that_is_a_disk(folder: Path) -> Iterator[Situation]:
    with disk(folder) as one:
        manifest = folder / "runs" / "A" / "manifest.json"
        manifest.unlink()
        manifest.symlink_to(one.device)
        yield Situation(["resume", str(folder / "runs" / "A")], "")


@situation
def notes_that_are_a_link_to_a_letter(folder: Path) -> Iterator[Situation]:
    notes = folder / "runs" / "A" / "notes.json"
    notes.symlink_to(file(folder))
    yield Situation(["note", str(folder / "runs" / "A"), "--tag", "mine"], "")


@situation
def notes_that_somebody_wrote_by_hand(folder: Path) -> Iterator[Situation]:
    notes = folder / "runs" / "A" / "notes.json"
    notes.write_text('{"to do": "ask Ann"}')
    yield Situation(["note", str(folder / "runs" / "A"), "--tag", "mine"], "")


@situation
def a_report_that_is_a_link_to_a_letter(folder: Path) -> Iterator[Situation]:
    page = folder / "runs" / "A" / "report.html"
    page.unlink()
    page.symlink_to(file(folder))
    yield Situation(["report", str(folder / "runs" / "A")], "link")


@situation
def a_page_of_somebodys_own_in_a_run_folder(folder: Path) -> Iterator[Situation]:
    (folder / "runs" / "A" / "report.html").write_text("<p>What I think of this drive</p>")
    yield Situation(["report", str(folder / "runs" / "A")], "--replace")


# Room, limits and files that cannot be replaced


@situation
def a_file_larger_than_a_process_may_write(folder: Path) -> Iterator[Situation]:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * MIB, before[1]))
    try:
        yield Situation(verify(folder / "new.bin", "--size", "65MiB"), "--size")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _size(name: str, size: str) -> None:
    def stage(folder: Path) -> Iterator[Situation]:
        yield Situation(verify(folder / "new.bin", f"--size={size}"), "")

    stage.__name__ = f"a_size_that_is_{name}"
    situation(stage)


_size("all_memory", "1000TiB")
_size("beyond_64_bits", "1e30GiB")
_size("negative", "-1MiB")
_size("nothing", "0")
_size("no_number", "nan")


@situation
def a_test_file_on_a_full_memory_disk(folder: Path) -> Iterator[Situation]:
    point = folder / "point"
    point.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=80M", "none", point)
    try:
        yield Situation(verify(point / "new.bin", "--size", "70MiB"), "--size")
        assert not list(point.iterdir())
    finally:
        run("umount", point)
