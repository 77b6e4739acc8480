"""Where a served drive is and what it keeps: names that would take each other's place."""

from pathlib import Path
from typing import Any

import pytest

import fourcorners as fc

VECTOR = "sim:ocz-vector-256gb"


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        ({"nbd": "unix:{}/one", "state": "{}/one"}, "--nbd and --state"),
        ({"nbd": "unix:{}/one", "data": "{}/here/../one"}, "--nbd and --data"),
        ({"nbd": "unix:{}/s", "data": "{}/one", "state": "{}/link"}, "--data and --state"),
        ({"nbd": "unix:{}/s", "state": "{}/s.control"}, "socket for commands and --state"),
        ({"nbd": "unix:{}/s", "control": "{}/one", "trace": "{}/one"}, "commands and --trace"),
        ({"fuse": "{}/one", "data": "{}/one"}, "--fuse and --data"),
        ({"vhost_user": "{}/one", "state": "{}/one"}, "--vhost-user and --state"),
    ],
)
def test_a_file_has_one_use(tmp_path: Path, names: dict[str, str], shared: str) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("one")
    options: Any = {name: text.format(tmp_path) for name, text in names.items()}
    with pytest.raises(fc.UserError, match=shared) as error:
        fc.serve(VECTOR, out=tmp_path / "runs", **options)
    assert error.value.exit_code == 2
    # Nothing was made.
    assert sorted(one.name for one in tmp_path.iterdir()) == ["here", "link"]


def test_a_state_has_one_server_at_a_time(tmp_path: Path) -> None:
    state, lock = tmp_path / "worn.state", tmp_path / "worn.state.lock"
    # A server that was killed left it.
    lock.touch()
    (tmp_path / "link").symlink_to(state)

    def serve(socket: str, name: Path) -> fc.Served:
        return fc.serve(VECTOR, nbd=f"unix:{tmp_path / socket}", state=name, out=tmp_path / "runs")

    with serve("one", state):
        for name in (state, tmp_path / "link"):
            with pytest.raises(fc.UserError, match="is served already: end that server first"):
                serve("other", name)
    assert state.exists()
    assert not lock.exists()
    serve("one", state).stop()
