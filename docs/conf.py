"""How Sphinx builds the site: ``sphinx-build -W --keep-going -b html docs build/site``. It needs no network."""

import re
import shutil
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_signature, pending_xref
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring
from sphinx.transforms import SphinxTransform

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
autodoc_preserve_defaults = True
autodoc_type_aliases = {
    **{name: name for name in ("Bools", "Bytes", "Ints", "Words", "Floats", "Doubles")},
    "npt.ArrayLike": "ArrayLike",
}
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

RULE_IDS = set(
    re.findall(r"^\(rule-([A-Z]\d+)\)=$", (DOCS / "rules.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
)
RULE_ID = re.compile(r"\b([A-Z]\d{1,2})\b")


class LinksToRules(SphinxTransform):
    """Make each rule id in the text of a docstring a link to the rule."""

    default_priority = 400
    not_in = (nodes.literal, nodes.literal_block, nodes.reference, nodes.title, desc_signature, pending_xref)

    def apply(self, **kwargs: Any) -> None:
        """Change the page that is being read, if it is one of the API reference."""
        if not self.env.docname.startswith("api/"):
            return
        for text in list(self.document.findall(nodes.Text)):
            pieces = RULE_ID.split(text)
            if RULE_IDS.isdisjoint(pieces[1::2]) or self.is_inside(text):
                continue
            text.parent.replace(
                text, [self.linked(piece) if piece in RULE_IDS else nodes.Text(piece) for piece in pieces]
            )

    def is_inside(self, node: nodes.Node) -> bool:
        """Whether a text stands in something that is left as it is."""
        while (node := node.parent) is not None:
            if isinstance(node, self.not_in):
                return True
        return False

    def linked(self, rule: str) -> nodes.Node:
        """The id of a rule as a link."""
        link = pending_xref(
            "", refdomain="std", reftype="ref", reftarget=f"rule-{rule.lower()}", refexplicit=True, refwarn=True
        )
        link["refdoc"] = self.env.docname
        link += nodes.inline("", rule)
        return link


def links_of_the_site(app: Sphinx, docname: str, source: list[str]) -> None:
    """Change links that are right in a clone, where pages are read as files, to what Sphinx calls their targets."""
    source[0] = source[0].replace("](../experiments/notebooks/", "](notebooks/").replace("](rules.md#rule-", "](#rule-")


class Typesetting(SphinxTransform):
    """Set numbers and tables so that they can be read on a narrow screen.

    A number stays on one line with its unit and its interval, and so does short code. A table whose last column holds
    sentences gets a class, by which the style sheet keeps that column wide enough.
    """

    default_priority = 410  # after the links
    short = 24  # characters; names, numbers and intervals are no longer, and sentences are

    def apply(self, **kwargs: Any) -> None:
        """Change the page that is being read."""
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, (nodes.literal, nodes.literal_block, nodes.raw)):
                continue
            kept = re.sub(r"(?<=\d) (?=%)| (?=± ?\d)|(?<=±) (?=\d)", "\N{NO-BREAK SPACE}", text)
            if kept != text:
                text.parent.replace(text, nodes.Text(kept))
        for code in self.document.findall(nodes.literal):
            if len(code.astext()) <= self.short:
                code["classes"].append("short")
        for table in self.document.findall(nodes.table):
            if any(len(row[-1].astext()) > self.short for row in table.findall(nodes.row)):
                table["classes"].append("ends-in-sentences")


def without_types_in_words() -> None:
    """Let napoleon take the whole text of what is returned, and of an attribute, as its description.

    It takes what stands before a colon for the type. Here annotations give the types, and sentences have colons.
    """

    def returned(self: GoogleDocstring, preprocess_types: bool = False) -> list[tuple[str, str, list[str]]]:
        lines = self._dedent(self._consume_to_next_section())
        return [("", "", lines)] if lines else []

    def attribute(self: GoogleDocstring) -> tuple[str, list[str]]:
        return "", GoogleDocstring(self._dedent(self._consume_to_end()), self._config).lines()

    GoogleDocstring._consume_returns_section = returned
    GoogleDocstring._consume_inline_attribute = attribute


def without_fields_of_tuples(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what Python says about the fields of named tuples; the class explains them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Add the above to Sphinx."""
    without_types_in_words()
    app.add_transform(LinksToRules)
    app.connect("source-read", links_of_the_site)
    app.add_transform(Typesetting)
    app.connect("autodoc-skip-member", without_fields_of_tuples)
