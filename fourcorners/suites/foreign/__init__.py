"""What other programs describe their work by: Iometer's configurations and vdbench's parameters.

What has no meaning here is named and refused; what changes nothing that is measured is passed
over, and said."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fourcorners.suites.foreign import iometer, vdbench

READERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    ".icf": iometer.suite_document,
    ".parm": vdbench.suite_document,
    ".vdb": vdbench.suite_document,
}
"""By how the name of a file ends: what makes a suite's document of it."""
