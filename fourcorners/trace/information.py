"""Says what is in a trace: counted in one pass, in bounded memory."""

from __future__ import annotations

import json
from pathlib import Path

from fourcorners import _core
from fourcorners.documents import part
from fourcorners.errors import UserError
from fourcorners.input_files import check_regular
from fourcorners.trace.figures import TraceInformation
from fourcorners.writing import Output, sealed


def trace_info(
    *files: Path | str,
    format: str | None = None,
    html: Path | str | None = None,
    replace: bool = False,
) -> TraceInformation:
    """Says what is in a trace.

    Args:
        files: the trace; several are taken for one, by their dates where all have one.
        format: the format of the traces, which are refused if their content says otherwise.
        html: file for a page of it, with plots.
        replace: permits to replace a file that is there, whatever is in it.

    Raises :class:`UserError` for what is no trace, and a page that cannot be written.
    """
    if not files:
        raise UserError("there is no trace to look at: name a file")
    output = None if html is None else Output(Path(html), replace)
    if output is not None:
        output.check()
    paths = [Path(file) for file in files]
    for path in paths:
        check_regular(path, "the trace")
    try:
        text = _core.trace_information([str(path) for path in paths], format=format)
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
    found = part(TraceInformation, json.loads(text))
    if output is not None:
        # Templates are compiled for pages only.
        from fourcorners.trace.page import render_page

        output.write(sealed(render_page(found, ", ".join(path.name for path in paths))))
    return found
