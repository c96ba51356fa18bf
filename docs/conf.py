"""The documentation site: ``make docs``. Pages are Markdown (MyST); the reference is made from the code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from scirgen import __version__

project = "scirgen"
author = "the scirgen authors"
copyright = author
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinxcontrib.autodoc_pydantic",
    "tables",
]
exclude_patterns = ["_build", "_ext", "jupyter_execute"]
html_theme = "pydata_sphinx_theme"
html_title = "scirgen"
html_show_sourcelink = False
# The address of the repository: without it, links to its files are plain names.
REPOSITORY = os.environ.get("SCIRGEN_REPOSITORY", "").rstrip("/")
html_theme_options = {
    **({"github_url": REPOSITORY} if REPOSITORY else {}),
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# A notebook is run when the site is built: one that does not run is an error.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

autodoc_typehints = "signature"
autodoc_pydantic_model_show_json = False
autodoc_pydantic_model_show_config_summary = False
autodoc_pydantic_model_show_validator_summary = False
autodoc_pydantic_model_show_validator_members = False
autodoc_pydantic_model_show_field_summary = False
autodoc_pydantic_model_member_order = "bysource"
autodoc_pydantic_field_show_alias = False
autodoc_pydantic_field_list_validators = False
autodoc_pydantic_settings_show_json = False
# Docstrings are Markdown-like plain text: single backquotes name code.
default_role = "code"
