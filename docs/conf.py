"""How Sphinx builds the site: ``sphinx-build -W --keep-going -b html docs build/site``. It needs no network."""

import shutil
from importlib.metadata import version as version_of
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def copy_of_notebooks() -> None:
    """Copy the stored notebooks to ``docs/notebooks``, which git ignores: Sphinx reads pages below ``docs`` only.

    A symbolic link would do the same, but neither in a checkout on Windows nor in a source distribution.
    """
    pages = DOCS / "notebooks"
    pages.mkdir(exist_ok=True)
    originals = {path.name: path for path in (ROOT / "experiments" / "notebooks").glob("*.ipynb")}
    for page in pages.glob("*.ipynb"):
        if page.name not in originals:
            page.unlink()
    for name, path in originals.items():
        if not (pages / name).exists() or (pages / name).read_bytes() != path.read_bytes():
            shutil.copyfile(path, pages / name)


copy_of_notebooks()

project = "Megaland"
author = "the Megaland project"
copyright = "the Megaland project, MIT licence"
release = version_of("megaland")
version = release

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["make_*.py", "**/.ipynb_checkpoints"]
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks are stored with their results, and a test runs them

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"Megaland {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
