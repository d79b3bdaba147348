# SPDX-License-Identifier: BSD-3-Clause
"""A run that Open MPI's monitoring component counts beneath the recorder: whether both have the same messages.

The component counts what passes between Open MPI's point-to-point layer and the network, so that it has the messages
of collectives as the library really sends them.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rankwise.lab.validation.state import Monitored
from rankwise.recording.recording import Recording

# Sent by the program, or beneath its collectives.
_LINE = re.compile(r"^([EI])\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", re.MULTILINE)


def variables(directory: Path) -> dict[str, str]:
    """What makes the component count into `directory`."""
    return {
        "OMPI_MCA_pml": "ob1,monitoring",
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(directory / "counts"),
    }


def compare(path: Path, directory: Path) -> Monitored | None:
    """The recording and what the component wrote of the same run; `None` if it wrote nothing, because it is missing."""
    counted: Counter = Counter()
    for file in directory.glob("counts*.prof"):
        for _, source, destination, sent, messages in _LINE.findall(file.read_text()):
            counted[int(source), int(destination), "messages"] += int(messages)
            counted[int(source), int(destination), "bytes"] += int(sent)
    if not counted:
        return None
    recorded: Counter = Counter()
    for row in Recording.open(path).messages.iter_rows(named=True):
        for what in ("messages", "bytes"):
            recorded[row["source"], row["destination"], what] += row[what]
    pairs = {key[:2] for key in [*counted, *recorded]}
    equal = sum(
        all(counted[(*pair, what)] == recorded[(*pair, what)] for what in ("messages", "bytes"))
        for pair in pairs
    )

    def total(of: Counter, what: str) -> int:
        return sum(value for key, value in of.items() if key[2] == what)

    return Monitored(
        pairs=len(pairs),
        equal=equal,
        recorded_messages=total(recorded, "messages"),
        counted_messages=total(counted, "messages"),
        recorded_bytes=total(recorded, "bytes"),
        counted_bytes=total(counted, "bytes"),
    )
