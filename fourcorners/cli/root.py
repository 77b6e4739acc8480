"""The program itself, which the modules of commands give their commands to."""

from cyclopts import App


def _version() -> str:
    from importlib.metadata import version

    return version("fourcorners")


app = App(
    name="fourcorners",
    help="Measures, simulates, explains and predicts storage drives.",
    version=_version,
    result_action="return_value",
    # What stopped it is told by whoever called.
    suppress_keyboard_interrupt=False,
)
