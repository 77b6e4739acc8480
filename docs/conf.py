"""The documentation site: `make docs` builds it from the Markdown files here."""

from importlib.metadata import version as installed_version

project = "fourcorners"
version = release = installed_version("fourcorners")
copyright = "the fourcorners authors"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "examples"]
html_theme = "furo"
html_title = "fourcorners"
# Published as they are: the page of reproduced reviews is made by a command.
html_extra_path = ["reproduction.html", "examples"]
html_show_sphinx = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
# The notebook is run anew for every build, and an error in it fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# A link to a heading or page that is not there fails the build, as does a page that none leads to.
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_numpy_docstring = False

man_pages = [("cli", "fourcorners", "measure, simulate, explain and predict storage drives", [], 1)]
