# SPDX-License-Identifier: BSD-3-Clause
"""Print what pip has to have, a requirement a line.

Usage: needed.py build|run|offline PYPROJECT

build: what building Rankwise needs; run: what it needs to run; offline: both, and the tools that scikit-build-core asks
pip for where a machine has none.
"""

import sys
from pathlib import Path

if sys.version_info < (3, 11):
    from pip._vendor import tomli as tomllib
else:
    import tomllib


def main() -> None:
    """Print the requirements."""
    project = tomllib.loads(Path(sys.argv[2]).read_text())
    needed = {"build": project["build-system"]["requires"], "run": project["project"]["dependencies"]}
    needed["offline"] = [*needed["build"], *needed["run"], "cmake>=3.20", "ninja>=1.5"]
    print("\n".join(needed[sys.argv[1]]))


if __name__ == "__main__":
    main()
