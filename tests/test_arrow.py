"""Arrow's threads hold no Python object, which they could not free while the interpreter ends."""

import os
import sys

from fourcorners import arrow


def test_a_source_is_the_content_and_does_not_hold_it() -> None:
    content = os.urandom(1 << 20)
    held = sys.getrefcount(content)
    source = arrow.source(content)
    assert sys.getrefcount(content) == held
    assert source.read() == content
