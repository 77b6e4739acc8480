"""What a person writes on a run: tags and a note, in a file beside the measurements."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from fourcorners.documents import FixedPart, changed, part, plain
from fourcorners.errors import UserError, os_reason
from fourcorners.store import schema
from fourcorners.store.document import to_json, unsealed
from fourcorners.writing import Output


class Notes(FixedPart, frozen=True, kw_only=True, tag_field="schema", tag="fourcorners/notes"):
    """``notes.json`` of a run folder; empty where there is none."""

    schema_version: Literal[1] = 1
    tags: tuple[str, ...] = ()
    text: str = msgspec.field(default="", name="note")

    def tagged(self, add: Iterable[str], remove: Iterable[str]) -> Notes:
        """With more tags and without others; each stands once, in alphabetical order."""
        return changed(self, tags=tuple(sorted({*self.tags, *add} - {*remove})))


def read_notes(folder: Path) -> Notes:
    """The notes of a run folder; raises :class:`UserError` where they cannot be read."""
    path = folder / schema.NOTES
    try:
        document = msgspec.json.decode(path.read_bytes())
        # All fields have defaults: notes of somebody's own would be read as empty, and replaced.
        if not isinstance(document, dict) or not {"schema", "tags", "note"} <= document.keys():
            raise ValueError
        return part(Notes, unsealed(document))
    except FileNotFoundError:
        return Notes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {os_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not what fourcorners writes: mend or remove it") from error


def write_notes(folder: Path, notes: Notes) -> None:
    """Replaces the notes of a run folder, in one step; raises :class:`UserError`."""
    Output(folder / schema.NOTES, replace=True).write(to_json(plain(notes)))
