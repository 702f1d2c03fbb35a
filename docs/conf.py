"""The documentation site: `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

import latex2mathml.converter
from docutils.nodes import SkipNode

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # benchmarks and experiments, which pages quote

project = "multiplane"
author = "the multiplane developers"
copyright = f"2026, {author}"
version = release = version_of("multiplane")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "**/README.rst"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

html_theme = "pydata_sphinx_theme"
html_title = "multiplane"
html_static_path = ["_static"]
html_css_files = ["multiplane.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "**": ["contents.html"]}
html_show_sourcelink = False
html_copy_source = False

html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
default_role = "py:obj"  # `AMMClassifier` in a docstring is a link
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's sections have them, in words
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

# Pages that are read in the repository too link to files there.
_ELSEWHERE = {
    "../../experiments/README.md": "../experiments.md",
    "../experiments/README.md": "experiments.md",
    "docs/decisions)": "docs/decisions/index.md)",
}


def _relink(app: object, name: str, source: list[str]) -> None:
    for file, page in _ELSEWHERE.items():
        source[0] = source[0].replace(f"]({file}", f"]({page}")


def _mathml(display: str) -> Callable[..., None]:
    """Formulas for the browser itself: no script, and nothing from the network."""

    def visit(page: Any, node: Any) -> None:
        formula = latex2mathml.converter.convert(node.astext(), display=display)
        if "\\" in formula:  # it says nothing of commands that it does not know
            raise ValueError(f"{node.source}, line {node.line}: no MathML for {node.astext()}")
        page.body.append(formula)
        raise SkipNode

    return visit


def setup(app: Any) -> None:
    formulas = [(_mathml(display), None) for display in ("inline", "block")]
    app.add_html_math_renderer("mathml", *formulas)
    app.connect("source-read", _relink)
    app.connect("include-read", lambda app, path, name, source: _relink(app, name, source))


sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib",),
}
