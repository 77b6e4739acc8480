"""Settings of simulated drives from Python: text, numbers, or true and false."""

import json
from collections.abc import Mapping, Sequence

from fourcorners.errors import UserError

Setting = str | int | float | bool | Sequence[str]
"""A value that replaces a parameter, such as ``"60 us"``, ``8`` or ``False``; a list of texts for
a parameter that has several."""


def setting_texts(settings: Mapping[str, Setting] | None) -> dict[str, str]:
    """Settings as ``--set`` has them; raises :class:`UserError` for values of other kinds."""
    if not isinstance(settings, Mapping | None):
        raise UserError('settings: use a mapping such as {"cache.write_back": False}')
    texts = {}
    for path, value in (settings or {}).items():
        if not isinstance(path, str):
            raise UserError(f"settings: {path!r} is no parameter: write SECTION.PARAMETER as text")
        texts[path] = _text(path, value)
    return texts


def _text(path: str, value: Setting) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return "[" + ", ".join(_quoted(item) for item in value) + "]"
    raise UserError(
        f'settings: {path}: use text such as "60 us", a number, or true or false, not '
        f"{'nothing' if value is None else type(value).__name__}"
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
