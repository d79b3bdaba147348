# SPDX-License-Identifier: BSD-3-Clause
"""`python -m rankwise.cli.shells DIR VERSION`: manual pages and completion as they are installed below DIR."""

from __future__ import annotations

import sys
from pathlib import Path

from rankwise.cli import COMMANDS
from rankwise.cli.parsing import build_parser
from rankwise.cli.shells import bash, fish, man, zsh
from rankwise.cli.shells.model import describe


def write(directory: Path, version: str) -> None:
    """Write all."""
    top = describe(build_parser(COMMANDS))
    files = {f"man/man1/{name}": text for name, text in man.pages(top, version).items()}
    files["bash-completion/completions/rankwise"] = bash.script(top)
    files["zsh/site-functions/_rankwise"] = zsh.script(top)
    files["fish/vendor_completions.d/rankwise.fish"] = fish.script(top)
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
