# SPDX-License-Identifier: BSD-3-Clause
"""Where an MPI program's messages go, what its ranks share, and where they should run instead.

What is named here is for users (docs/python.md), and is imported when it is first asked for; all else is private.

Example:
    >>> import rankwise
    >>> prediction = rankwise.predict("app.rw", "site.machine.toml")
    >>> prediction.makespan_s
"""

from __future__ import annotations

TYPE_CHECKING = False  # to checkers it is true; `typing` would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from rankwise.api import build_report, load_machine, measure_machine, place, predict, record_program
    from rankwise.errors import RankwiseError
    from rankwise.machine.machine import Machine
    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology
    from rankwise.placement.file import load as load_placement
    from rankwise.placement.file import save as save_placement
    from rankwise.recording.recording import Recording
    from rankwise.replay.prediction import Prediction
    from rankwise.replay.predictor import Predictor
    from rankwise.schedule.source import Source
    from rankwise.schedule.source import load as load_program

try:
    from rankwise._built import VERSION as __version__
except ImportError:  # sources that were not built, of which the build makes the manual pages
    __version__ = "0+unknown"

_HOMES = {
    "Machine": "machine.machine",
    "Placement": "machine.placement",
    "Prediction": "replay.prediction",
    "Predictor": "replay.predictor",
    "RankwiseError": "errors",
    "Recording": "recording.recording",
    "Source": "schedule.source",
    "Topology": "machine.topology",
    "build_report": "api",
    "load_machine": "api",
    "load_placement": "placement.file:load",
    "load_program": "schedule.source:load",
    "measure_machine": "api",
    "place": "api",
    "predict": "api",
    "record_program": "api",
    "save_placement": "placement.file:save",
}

__all__ = [
    "Machine",
    "Placement",
    "Prediction",
    "Predictor",
    "RankwiseError",
    "Recording",
    "Source",
    "Topology",
    "__version__",
    "build_report",
    "load_machine",
    "load_placement",
    "load_program",
    "measure_machine",
    "place",
    "predict",
    "record_program",
    "save_placement",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `rankwise` has no attribute `{name}`")
    from importlib import import_module

    module, _, there = _HOMES[name].partition(":")
    found = globals()[name] = getattr(import_module(f"rankwise.{module}"), there or name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
