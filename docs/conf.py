"""How Sphinx makes the site of what is in this folder: `make docs`."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from extensions.sources import linkcode_resolve  # noqa: F401 - Sphinx reads it here

project = "linnet"
author = "The linnet authors"
release = version_of("linnet")
version = os.environ.get("LINNET_DOCS_VERSION", "dev")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.linkcode",
    "numpydoc",
    "sphinx_copybutton",
    "extensions.blocks",
    "extensions.formulas",
    "extensions.font",
    "extensions.pictures",
    "extensions.policy",
    "extensions.reference",
    "extensions.results",
    "extensions.search",
    "extensions.sources",
    "extensions.versions",
]
exclude_patterns = ["decisions", "results", "extensions", "_templates"]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "none"

myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the function that resolves sources is no value to keep

add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autosummary_generate = True
autosummary_imported_members = True
maximum_signature_line_length = 88
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
copybutton_selector = "div.highlight pre"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "linnet"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False
html_theme_options = {
    "logo": {"text": "linnet"},
    "navbar_end": ["versions", "theme-switcher"],
    "search_bar_text": "Ask or search",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version", "theme-version"],
    "show_toc_level": 2,
    "navigation_depth": 3,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "benchmarks": []}
project_copyright = author
