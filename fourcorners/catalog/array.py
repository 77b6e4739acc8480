"""Arrays of catalog drives by a short name: ``raid0:4xintel-x25-m-g2-80gb``.

Drives that differ are joined by ``+``: ``raid0:2xocz-vertex-3-120gb+ocz-vector-256gb``.
"""

import json
import re
from collections.abc import Sequence

from fourcorners.errors import UserError

PREFIX = "raid0:"

Members = Sequence[tuple[int, str, str]]
"""How many, catalog name, name for people."""


def split(query: str) -> list[tuple[int, str]]:
    """The members that a short name asks for: how many, and which drive.

    Raises :class:`UserError` when it is not of the form above.
    """
    parts = [part.strip() for part in query.removeprefix(PREFIX).split("+")]
    if not all(parts):
        raise UserError(f"{query}: write {PREFIX}4xNAME, where NAME is a drive of the catalog")
    return [_counted(part) for part in parts]


def normalized(query: str) -> str:
    """A query that begins with the usual prefix if it asks for RAID 0, however that is written.

    Raises :class:`UserError` for other levels of RAID, and for RAID of nothing.
    """
    match = re.fullmatch(r"raid[ _-]?(\d*)(?:(:)(.*))?", query, re.IGNORECASE | re.DOTALL)
    if match is None:
        return query
    level, colon, drives = match.groups()
    drives = (drives or "").strip()
    if level.strip("0") or not level:
        said = f"RAID {level}" if level else "an array without a level"
        raise UserError(
            f"sim:{query}: {said} is not simulated, only RAID 0 is: use "
            f"sim:{PREFIX}{drives or '4xNAME'}, whose reads are those of drives side by side, or "
            "measure a real array by its device, such as /dev/md0"
        )
    if not colon or not drives:
        raise UserError(
            f"sim:{query} names no drives: write {PREFIX}4xNAME, where NAME is one of the catalog"
        )
    return PREFIX + drives


def identifier(members: Members) -> str:
    """The short name of an array, in full."""
    return PREFIX + "+".join(f"{count}x{name}" for count, name, _ in members)


def text(members: Members) -> str:
    """The drive file of an array, with what the host adds left at nothing."""
    listed = [name for count, name, _ in members for _ in range(count)]
    described = " and ".join(f"{count} {title}" for count, _, title in members)
    drives = "drive" if len(listed) == 1 else "drives"
    return f"""\
name = {json.dumps(f"RAID 0 of {described}")}
kind = "raid-0"
summary = "{len(listed)} {drives} striped by the host."

[host]
overhead = {{ value = "0 us", source = "assumed: the members' own host overhead is all" }}
data_rate = {{ value = "100 GB/s", source = "assumed: not a limit" }}

[array]
chunk = {{ value = "128 KiB", source = "assumed: a usual default of striping drivers" }}
{_members(listed)}"""


def _members(listed: Sequence[str]) -> str:
    source = 'source = "asked for by name"'
    if len(set(listed)) > 1:
        return f"members = {{ value = {json.dumps(listed)}, {source} }}\n"
    return (
        f"member = {{ value = {json.dumps(listed[0])}, {source} }}\n"
        f"count = {{ value = {len(listed)}, {source} }}\n"
    )


def _counted(part: str) -> tuple[int, str]:
    match = re.fullmatch(r"(\d{1,3}) ?[x×] ?(.+)", part)
    if match is None:
        return 1, part
    if int(match[1]) == 0:
        raise UserError(f"{part}: an array has at least one member")
    return int(match[1]), match[2]
