"""The wheel as it would be published, installed into an environment of its own, and the sources."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Where what the package depends on is installed: a wheel brings none of it, and the tests need no
# network. The project itself is there by a .pth file only, which another .pth file does not follow.
LIBRARIES = sysconfig.get_path("purelib")


def maturin(*arguments: str | Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "maturin", *map(str, arguments)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # As the Makefile compiled the crates for the environment that runs this test: not once more.
    profile = os.environ.get("EXTENSION_PROFILE", "release")
    maturin("build", "--profile", profile, "--offline", "--out", folder)
    [made] = folder.glob("*.whl")
    return made


def tracked(folder: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return {path for path in listed if (ROOT / path).exists()}


def test_the_wheel_has_both_packages_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    packages = tracked("fourcorners") | tracked("fourcorners_validation")
    assert packages - names == set()
    assert {Path(name).name for name in names - packages} == {"_core.abi3.so"}


def test_the_wheel_declares_what_the_package_imports(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    # Extras as well: what is asked for by them is imported where it is used.
    needed = {
        re.split(r"[^\w-]", line.removeprefix("Requires-Dist: "))[0]
        for line in archive.read(metadata).decode().splitlines()
        if line.startswith("Requires-Dist: ")
    }
    imported = set()
    for name in archive.namelist():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(archive.read(name))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                imported.add(node.module.split(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"fourcorners", "fourcorners_validation"}
    declared = needed | {
        module for module, homes in packages_distributions().items() if needed & {*homes}
    }
    # jinja2 brings markupsafe, _typeshed is for type checkers, and whoever calls to_polars() or
    # to_pandas() has these.
    assert foreign - declared <= {"markupsafe", "_typeshed", "polars", "pandas"}


def test_the_wheel_works_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean"
    venv.create(clean)
    python = clean / "bin/python"
    install = ["install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    [packages] = (clean / "lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text(LIBRARIES + "\n")

    def ran(*command: str | Path) -> str:
        return subprocess.run(
            list(map(str, command)), cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    where = ran(python, "-c", "import fourcorners._core as core; print(core.__file__)")
    assert Path(where.strip()).is_relative_to(clean)
    assert "ocz-core-64gb" in ran(clean / "bin/fourcorners", "drives")
    measured = (
        "import fourcorners as fc\n"
        "with fc.open_target('sim:ocz-core-64gb') as drive:\n"
        "    print(drive.run(fc.Workload([fc.Stream.read('random', 4096)], ios=20)).read.ios)\n"
    )
    assert ran(python, "-c", measured) == "20\n"


def test_the_sources_have_all_that_a_build_reads(tmp_path: Path) -> None:
    maturin("sdist", "--out", tmp_path)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    # Crates that the extension is made of, with what their build scripts read, and the package.
    crates = (
        *("binding", "execution"),
        *(f"drive/{name}" for name in ("api", "foreign", "real", "sim", "verified")),
    )
    for folder in (
        *(f"{crate}/src" for crate in (*crates, "recording", "workload")),
        "fourcorners",
        "tests/specimens",
    ):
        assert tracked(folder) - names == set()
    assert {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE"} <= names
