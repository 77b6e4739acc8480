"""The JSON documents of a run folder: each holds a digest of what else it says."""

import hashlib
import json
from typing import Any

# Of the document without this field, as JSON with sorted keys and without spaces, in UTF-8.
DIGEST = "sha256"


def to_json(document: dict[str, Any]) -> str:
    """As every JSON file of a run folder is written."""
    # As it will be read: a tuple is a list then, and every key a text.
    plain = json.loads(json.dumps(document, allow_nan=False))
    plain.pop(DIGEST, None)
    plain[DIGEST] = _digest(plain)
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def unsealed(document: Any) -> Any:
    """A document as it was read, without its digest; one of an earlier version has none.

    Raises ``ValueError`` with a clause that says so when it is not what the digest is of.
    """
    if not isinstance(document, dict) or DIGEST not in document:
        return document
    rest = {key: value for key, value in document.items() if key != DIGEST}
    if _digest(rest) != document[DIGEST]:
        raise ValueError(
            f'its content is not what its {DIGEST} is of; remove the line "{DIGEST}" if you '
            "changed it yourself"
        )
    return rest


def _digest(document: dict[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
