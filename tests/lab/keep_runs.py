# SPDX-License-Identifier: BSD-3-Clause
"""Keep runs of a validation for test_kept_runs.py: `keep_runs.py STATE CASE...`.

Of each case the recording of its traced run, a machine file of its lab, and all placements with
the times that count.
"""

import json
import sys
from pathlib import Path

import msgspec
from accuracy.state import State
from lab.kept import archive, hidden, sealed_anew, unpack

from rankwise.lab.validation.prediction import DRAWS
from rankwise.machine.file import load
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement
from rankwise.replay.prediction import Prediction
from rankwise.replay.predictor import Predictor
from rankwise.replay.switches import Switches
from rankwise.schedule.source import Source
from rankwise.schedule.source import load as load_source

KEPT = Path(__file__).with_name("validated")


class Kept(msgspec.Struct):
    """A placement of a case: node and core of each rank, and the times of its valid runs."""

    node: list[int]
    core: list[int]
    times_s: list[float]


def placements(name: str) -> dict[str, Kept]:
    """All placements of a case."""
    return msgspec.json.decode((KEPT / f"{name}.json").read_bytes(), type=dict[str, Kept])


def machine_of(name: str) -> Machine:
    """The machine file of its lab."""
    return load(KEPT / f"{name}.machine.toml")


def source_of(name: str, directory: Path) -> Source:
    """The recording of the traced run, unpacked into a directory."""
    return load_source(unpack(KEPT / f"{name}.rw.tar.xz", directory / f"{name}.rw"))


def predictions(
    name: str, source: Source, machine: Machine | None = None, switches: Switches | None = None
) -> dict[str, Prediction]:
    """What is predicted of each placement, for the machine as it was measured or another."""
    measured = machine_of(name)
    topology = topology_of(measured, KEPT)
    predictor = Predictor.of(
        source, machine or measured, topology, draws=DRAWS, switches=switches, measured=measured
    )
    found = {}
    for key, kept in placements(name).items():
        cores = [(node, (core,)) for node, core in zip(kept.node, kept.core, strict=True)]
        found[key] = predictor.predict_with_interval(Placement.explicit(topology, cores))
    return found


def keep(state: State, name: str) -> None:
    """Write the three files of a case."""
    (case,) = [each for each in state.plan.cases if each.name == name]
    assert not case.invalid, case.invalid
    called = f"{state.plan.options.mpi}.{name}"
    recording = state.directory / f"{name}.rw"
    raw = sorted((recording / "raw").glob("*.rwn"))
    files = {f"raw/{path.name}": sealed_anew(path.read_bytes()) for path in raw}
    # Topologies of a lab's nodes are in it.
    about = json.loads((recording / "recording.json").read_text()) | {"command": [called], "directory": "/"}
    files["recording.json"] = hidden(json.dumps(about).encode())
    (KEPT / f"{called}.rw.tar.xz").write_bytes(archive(files))
    frozen = state.machine_path(case.setting.rate_bytes_per_s)
    (KEPT / f"{called}.machine.toml").write_bytes(frozen.read_bytes())
    runs = [
        run
        for run in state.runs()
        if run.case == name and run.time_s and not run.invalid and not state.disturbed(run)
    ]
    lines = []
    for each in case.predicted:
        kept = Kept(
            [rank.node for rank in each.placement.ranks],
            [rank.cores[0] for rank in each.placement.ranks],
            [round(run.time_s, 6) for run in runs if run.placement == each.name],
        )
        lines.append(f' "{each.name}": {json.dumps(msgspec.to_builtins(kept))}')
    (KEPT / f"{called}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for each in sys.argv[2:]:
        keep(State.resume(Path(sys.argv[1])), each)
