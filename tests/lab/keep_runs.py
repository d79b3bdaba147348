# SPDX-License-Identifier: BSD-3-Clause
"""Keep runs of a finished validation for test_kept_runs.py: `keep_runs.py STATE CASE...`.

Of each case the recording of its traced run, the machine file that was frozen before the runs, and all placements with
the times that count and with what is predicted of them now. `keep_runs.py` alone predicts all that is kept anew: how a
model that was changed is accepted.
"""

import io
import json
import lzma
import sys
import tarfile
import tempfile
from pathlib import Path

import msgspec

from rankwise.lab.validation.prediction import DRAWS
from rankwise.lab.validation.state import State
from rankwise.machine.file import Machine, load
from rankwise.placement.placement import Placement
from rankwise.replay.computation import recorded_computation
from rankwise.replay.layout import topology_of
from rankwise.replay.predict import Predictor
from rankwise.replay.recorded_run import recorded_run
from rankwise.replay.source import Source
from rankwise.replay.source import load as load_source
from rankwise.replay.switches import Switches

KEPT = Path(__file__).with_name("validated")
SEED = 1
NAMES = sorted(path.name.removesuffix(".json") for path in KEPT.glob("*.json"))


class Kept(msgspec.Struct):
    """A placement of a case: node and core of each rank, the times of its runs, and what is predicted."""

    node: list[int]
    core: list[int]
    times_s: list[float]
    predicted_s: float = 0.0
    low_s: float = 0.0
    high_s: float = 0.0


def placements(name: str) -> dict[str, Kept]:
    """All placements of a case."""
    return msgspec.json.decode((KEPT / f"{name}.json").read_bytes(), type=dict[str, Kept])


def machine_of(name: str) -> Machine:
    """The machine file that was frozen before the runs."""
    return load(KEPT / f"{name}.machine.toml")


def source_of(name: str, directory: Path) -> Source:
    """The recording of the traced run, unpacked into a directory."""
    # Not all versions of Python 3.10 and 3.11 have filters, later ones want one.
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(KEPT / f"{name}.rw.tar.xz") as archive:
        archive.extractall(directory / f"{name}.rw", **safe)
    return load_source(directory / f"{name}.rw")


def predictor_of(
    source: Source, measured: Machine, machine: Machine, switches: Switches | None = None, draws: int = 0
) -> Predictor:
    """As `rankwise.lab.validation.prediction` has it, for the machine as it was measured or another."""
    topology = topology_of(measured, KEPT)
    predictor = Predictor(
        source.schedule,
        machine,
        topology,
        switches=switches,
        draws=draws,
        seed=SEED,
        computation=recorded_computation(source, topology, measured),
        expand=source.expand,
    )
    if draws:
        predictor.run = recorded_run(source, predictor)
        assert predictor.run is not None
    return predictor


def placed(kept: Kept, predictor: Predictor) -> Placement:
    """Where the ranks were."""
    cores = [(node, (core,)) for node, core in zip(kept.node, kept.core, strict=True)]
    return Placement.explicit(predictor.topology, cores)


def pack(files: dict[str, bytes]) -> bytes:
    """An archive of files, without the directories of this machine that recordings name."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            for place in map(str, (Path(__file__).parents[2], Path.home())):
                # As long as it was: positions in a recording are counted in bytes.
                content = content.replace(place.encode(), b"/" + b"x" * (len(place) - 1))
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(packed.getvalue(), preset=9)


def keep(state: State, name: str) -> str:
    """Write the three files of a case without its predictions; returns the name that it is kept under."""
    (case,) = [each for each in state.plan.cases if each.name == name]
    called = f"{state.plan.options.mpi}.{name}"
    recording = state.directory / f"{name}.rw"
    files = {f"raw/{path.name}": path.read_bytes() for path in sorted((recording / "raw").glob("*.rwn"))}
    # Topologies of a lab's nodes are in it; where it was made is nobody's business.
    about = json.loads((recording / "recording.json").read_text()) | {"command": [called], "directory": "/"}
    files["recording.json"] = json.dumps(about).encode()
    (KEPT / f"{called}.rw.tar.xz").write_bytes(pack(files))
    frozen = state.machine_path(case.setting.rate_bytes_per_s)
    (KEPT / f"{called}.machine.toml").write_bytes(frozen.read_bytes())
    runs = [run for run in state.runs() if run.case == name and run.time_s and not state.disturbed(run)]
    write(
        called,
        {
            each.name: Kept(
                [rank.node for rank in each.placement.ranks],
                [rank.cores[0] for rank in each.placement.ranks],
                [round(run.time_s, 6) for run in runs if run.placement == each.name],
            )
            for each in case.predicted
        },
    )
    return called


def predict(name: str) -> None:
    """Write what is predicted of a case now."""
    with tempfile.TemporaryDirectory() as directory:
        machine = machine_of(name)
        predictor = predictor_of(source_of(name, Path(directory)), machine, machine, draws=DRAWS)
        found = placements(name)
        for kept in found.values():
            prediction = predictor.predict_with_interval(placed(kept, predictor))
            interval = prediction.interval
            kept.predicted_s, kept.low_s, kept.high_s = (
                float(f"{time_s:.6g}") for time_s in (prediction.makespan_s, interval.low_s, interval.high_s)
            )
    write(name, found)


def write(name: str, found: dict[str, Kept]) -> None:
    """Write the placements of a case, a line each."""
    lines = [f' "{key}": {json.dumps(msgspec.to_builtins(kept))}' for key, kept in found.items()]
    (KEPT / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    chosen = NAMES
    if len(sys.argv) > 1:
        validation = State.resume(Path(sys.argv[1]))
        chosen = [keep(validation, each) for each in sys.argv[2:]]
    for each in chosen:
        predict(each)
