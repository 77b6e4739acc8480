"""What a person writes on a run: tags and a note, in a file beside the measurements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fourcorners.errors import UserError, os_reason
from fourcorners.store import schema
from fourcorners.store.document import to_json, unsealed
from fourcorners.store.validity import fault
from fourcorners.writing import Output


@dataclass(frozen=True)
class Notes:
    """``notes.json`` of a run folder; empty where there is none."""

    tags: tuple[str, ...] = ()
    text: str = ""

    def tagged(self, add: Iterable[str], remove: Iterable[str]) -> Notes:
        """With more tags and without others; each stands once, in alphabetical order."""
        return Notes(tuple(sorted({*self.tags, *add} - {*remove})), self.text)


def read_notes(folder: Path) -> Notes:
    """The notes of a run folder; raises :class:`UserError` where they cannot be read."""
    path = folder / schema.NOTES
    try:
        document = unsealed(json.loads(path.read_text("utf-8")))
        if fault(document, "notes") is not None:
            raise ValueError
        return Notes(tuple(document["tags"]), document["note"])
    except FileNotFoundError:
        return Notes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not what fourcorners writes: mend or remove it") from error


def write_notes(folder: Path, notes: Notes) -> None:
    """Replaces the notes of a run folder, in one step; raises :class:`UserError`."""
    document = {
        "schema": schema.NOTES_SCHEMA,
        "schema_version": schema.SCHEMA_VERSION,
        "tags": list(notes.tags),
        "note": notes.text,
    }
    Output(folder / schema.NOTES, replace=True).write(to_json(document))
