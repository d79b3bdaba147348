# SPDX-License-Identifier: BSD-3-Clause
"""Topologies of nodes that are not this one: the recorder saves what hwloc needs of each node it runs on."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from rankwise import site_build
from rankwise.errors import RankwiseError
from rankwise.machine.topology import xml_of_saved_files
from rankwise.measure import launch as launching
from rankwise.measure.samples import Launch
from rankwise.record import recording_run
from rankwise.record.library import What
from rankwise.scratch import scratch

# raw/HOST.NODE.RUN.topology.tar
SUFFIX = re.compile(r"(\.[0-9a-f]{8}){2}\.topology\.tar$")


def topologies(words: Sequence[str], program: Path, patience_s: float) -> dict[str, bytes]:
    """Topology by host as hwloc's XML, seen on the nodes themselves.

    Args:
        words: The launcher line.
        program: The microbenchmarks, of which one more census is recorded.
        patience_s: After this long the launch is stopped.

    Returns:
        The hosts that could be read; none where programs cannot be recorded.
    """
    # Beside the compiled programs, because all nodes must see that file system anyway.
    home = site_build.programs_home()
    home.mkdir(parents=True, exist_ok=True)
    with scratch("census", home) as directory:
        path = directory / "census.rw"
        try:
            recording = recording_run.prepare(
                [*words, str(program), "census"], str(path), False, What(), None
            )
            environment = recording.launch.environment_of_first(os.environ)
            launching.run(recording.launch.words, Launch(), patience_s, environment=environment)
            saved = sorted(path.glob("raw/*.topology.tar"))
            return {SUFFIX.sub("", tar.name): xml_of_saved_files(tar) for tar in saved}
        except RankwiseError:
            return {}
