"""The specimens: where their sources are, and how they become programs."""

import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import fourcorners_validation
from fourcorners.errors import UserError
from fourcorners_validation.arena.explain.foreign import SPECIMENS

SOURCES = Path(fourcorners_validation.__file__).parents[1] / "tests" / "specimens"
"""In a clone, and in a source distribution; a wheel does not have them."""

_COMPILER = "cc"


def compile_specimens(sources: Path, to: Path) -> None:
    """Compiles all specimens into a folder.

    Raises :class:`UserError` if there are no sources or no C compiler, or if one does not compile.
    """
    missing = [name for name in SPECIMENS if not (sources / f"{name}.c").is_file()]
    if missing:
        raise UserError(
            f"{sources} does not have the foreign drives ({missing[0]}.c is missing): they are in "
            "tests/specimens of the source; name that folder with --specimens"
        )
    if shutil.which(_COMPILER) is None:
        raise UserError(f'foreign drives are C programs, and there is no C compiler "{_COMPILER}"')

    # Processes and no pool of threads: Ctrl-C may leave a lock of theirs taken for ever.
    with ExitStack() as running:
        compiling = {
            name: running.enter_context(
                subprocess.Popen(
                    [_COMPILER, "-std=c11", "-O2", "-o", str(to / name), f"{name}.c", "-lm"],
                    cwd=sources,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for name in SPECIMENS
        }
        for name, process in compiling.items():
            said = process.communicate()[1].strip().splitlines() or ["no reason given"]
            if process.returncode:
                reason = next((line for line in said if "error" in line), said[0])
                raise UserError(f"{sources / f'{name}.c'} does not compile: {reason}")
