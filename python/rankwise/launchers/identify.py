# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a word is: by its name, and by what it says of itself (`mpiexec` may be anyone's)."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess

from rankwise.launchers.line import Launcher

_ASKED = re.compile(r"(mpiexec|mpirun|orterun|prterun|prun|srun)([.-].*)?$")
_PATIENCE_S = 15.0
_SAYINGS = (
    # Intel's Hydra and MPICH's differ in pinning only, which is asked of `vendor`.
    (re.compile(r"Intel\(R\) MPI Library.*?Version (\S+)", re.DOTALL), "hydra", "Intel MPI"),
    (re.compile(r"HYDRA build details:.*?Version:\s+(\S+)", re.DOTALL), "hydra", "MPICH"),
    (re.compile(r"\((?:Open MPI|OpenRTE)\) (\S+)"), "orterun", "Open MPI"),
    (re.compile(r"\(PRRTE\) (\S+)"), "prterun", "Open MPI"),
    (re.compile(r"^slurm(?:-wlm)? (\S+)", re.MULTILINE), "srun", "Slurm"),
)


def identify(word: str) -> Launcher | None:
    """The launcher that a word names; `None` if it is no launcher known here."""
    if not _ASKED.match(os.path.basename(word)):
        return None
    path = shutil.which(word)
    if path is None:
        return None
    return _ask(word, path, os.stat(path).st_mtime_ns)


@functools.lru_cache
def _ask(word: str, path: str, modified_ns: int) -> Launcher | None:
    said = _version_text(path)
    for pattern, kind, vendor in _SAYINGS:
        match = pattern.search(said)
        if match:
            if kind == "orterun" and int(match[1].split(".")[0]) >= 5:
                kind = "prterun"
            return Launcher(kind, word, path, match[1], vendor)
    # Without its help files, as in the wheels, prterun cannot even say its version.
    by_name = {"prterun": "prterun", "prun": "prterun", "orterun": "orterun", "srun": "srun"}
    named = by_name.get(os.path.basename(os.path.realpath(path)))
    vendor = "Slurm" if named == "srun" else "Open MPI"
    return Launcher(named, word, path, None, vendor) if named else None


def _version_text(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
