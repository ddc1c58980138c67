"""How Sphinx builds the site: ``make docs``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]

from udil_avalanche import __version__  # noqa: E402

project = "udil_avalanche"
author = "the authors of udil_avalanche"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "llms_txt",
    "mathml",
    "our_names",
    "root_pages",
]
exclude_patterns = ["_build", "_extensions"]

# A site that is read without a network: nothing comes from another host.
html_theme = "furo"
html_title = f"udil_avalanche {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # a test runs the notebook; its stored output is shown

# "$ " is the prompt of examples on the terminal, what follows is output.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True

nitpicky = True
nitpick_ignore = [("py:class", "ArrayLike")]  # of NumPy
