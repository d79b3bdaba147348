# SPDX-License-Identifier: BSD-3-Clause
"""A hook of mkdocs: pages of formats/ are in the site too, where links from docs/ to them lead."""

import re
from pathlib import Path

from mkdocs.structure.files import File

FORMATS = Path(__file__).resolve().parent.parent / "formats"


def on_files(files, config):
    """Add the pages of formats/ to those of docs/."""
    for path in sorted(FORMATS.glob("*.md")):
        files.append(File.generated(config, f"formats/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """In docs/ a page links to `../formats/X.md`; in the site formats/ is beside the other pages."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./formats/(\w+\.md)", r"](\1formats/\2", markdown)
