"""Links of the documents that can be checked without a network; `make linkcheck` tries the rest.

Sphinx checks links between the pages of docs/ when it builds them. Here: files and headings that
documents link to are there, also from the documents outside of docs/, and addresses are such.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fourcorners.suites.catalog import TESTS
from fourcorners.suites.probes import PROBES

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
_LINK = re.compile(r"\]\(<?([^()\s>]+(?:\([^()\s]*\)[^()\s]*)?)>?\)")
_BLOCKS = re.MULTILINE | re.DOTALL
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", _BLOCKS)


def anchors(text: str) -> set[str]:
    """What a link can follow a # with: the headings, in small letters with hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=_BLOCKS), re.M)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings)
    return {re.sub(r"\s", "-", heading) for heading in plain}


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md"])
def test_the_number_of_tests_is_counted(document: str) -> None:
    tests = len(TESTS) - len(PROBES)
    assert f"{tests} tests" in (ROOT / document).read_text("utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for link in _LINK.findall(_CODE.sub("", document.read_text("utf-8"))):
        parts = urlsplit(link)
        if parts.scheme:
            assert parts.scheme in ("http", "https"), link
            assert re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc.lower()), link
            continue
        there = document.parent / parts.path if parts.path else document
        assert there.exists(), link
        if parts.fragment and there.suffix == ".md":
            assert parts.fragment in anchors(there.read_text("utf-8")), link


def test_a_link_to_nothing_is_seen() -> None:
    assert _LINK.findall("see [a](docs/x.md) and [b](https://a.org/b_(c))") == [
        "docs/x.md",
        "https://a.org/b_(c)",
    ]
    text = "# A title\n```sh\n# no heading\n```\n## `run TEST`: what it *does*\n"
    assert anchors(text) == {"a-title", "run-test-what-it-does"}
