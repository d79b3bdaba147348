# SPDX-License-Identifier: BSD-3-Clause
"""A hook of mkdocs: pages of formats/ are in the site too, and links between them and docs/ lead there."""

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
    """In the source formats/ and docs/ are neighbours; in the site formats/ is inside, beside the other pages."""
    if page.file.src_uri.startswith("formats/"):
        return markdown.replace("](../docs/", "](../")
    return re.sub(r"\]\(((?:\.\./)*)\.\./formats/(\w+\.md)", r"](\1formats/\2", markdown)
