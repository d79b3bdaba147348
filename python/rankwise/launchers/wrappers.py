# SPDX-License-Identifier: BSD-3-Clause
"""Commands that start another one as it stands: `timeout 60 mpiexec -n 4 ./app`."""

from __future__ import annotations

import os
import re
import shutil

from rankwise.launchers.adapters import parse
from rankwise.launchers.identify import identify
from rankwise.launchers.line import LaunchLine

WRAPPERS = (
    "timeout",
    "env",
    "nice",
    "ionice",
    "time",
    "taskset",
    "numactl",
    "nohup",
    "setsid",
    "stdbuf",
    "chrt",
)
_NO_PROGRAM = re.compile(r"-|\w+=|[\d.,:-]+[smhd]?$")


def behind_wrappers(line: LaunchLine) -> LaunchLine:
    """The launch line that a wrapper starts; the line itself if it starts with none."""
    words = line.words()
    while line.launcher.kind == "none" and os.path.basename(words[0]) in WRAPPERS:
        starts = [at for at in range(1, len(words)) if not _NO_PROGRAM.match(words[at])]
        start = next((at for at in starts if identify(words[at])), None)
        if start is None:
            start = next((at for at in starts if shutil.which(words[at])), None)
        if start is None:
            return line
        words = words[start:]
        line = parse(words)
    return line
