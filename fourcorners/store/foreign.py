"""Run folders come from other people, and damaged ones from anywhere."""

import contextlib
import os
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from jinja2 import UndefinedError

from fourcorners.errors import UserError


@contextlib.contextmanager
def reading(places: Iterable[str | Path]) -> Iterator[None]:
    """While entered, content of run folders that nobody could make sense of is a
    :class:`UserError`.

    The schemas say what each field of a manifest is, and the tables are checked; but what tests
    and findings keep as details is theirs, and known only to the code that shows it.
    """
    try:
        yield
    except UserError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _odd(places, error) from error
    except (RecursionError, UndefinedError, pa.ArrowException) as error:
        raise _odd(places, error) from error


def _odd(places: Iterable[str | Path], error: Exception) -> UserError:
    if os.environ.get("FOURCORNERS_DEBUG") == "1":
        traceback.print_exception(error)
    named = ", ".join(map(str, places))
    return UserError(
        f"{named}: something in there is not as fourcorners writes it: put it back from a copy; if "
        "nobody changed it, please report this with the output under FOURCORNERS_DEBUG=1"
    )
