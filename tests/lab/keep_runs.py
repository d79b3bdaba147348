# SPDX-License-Identifier: BSD-3-Clause
"""Keep runs of a validation for test_kept_runs.py: `keep_runs.py STATE CASE...`.

Of each case the recording of its traced run, a machine file of its lab, and all placements with
the times that count.
"""

import io
import json
import lzma
import re
import sys
import tarfile
from pathlib import Path

import msgspec
import numpy as np
from accuracy.state import State
from raw_writer import CHUNK_BYTES, CHUNK_MAGIC, HEADER_BYTES, RANK, crc32c, pack

from rankwise.lab.validation.prediction import DRAWS
from rankwise.machine.file import load
from rankwise.machine.machine import Machine, topology_of
from rankwise.machine.placement import Placement
from rankwise.recording import layouts
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
    # Not all versions of Python 3.10 and 3.11 have filters, later ones want one.
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(KEPT / f"{name}.rw.tar.xz") as archive:
        archive.extractall(directory / f"{name}.rw", **safe)
    return load_source(directory / f"{name}.rw")


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


def hidden(content: bytes) -> bytes:
    """Where files lie is nobody's business; as long as it was, because positions are counted."""
    return re.sub(rb'(?<![\w.])/[^\0"\s]*/', lambda found: b"/" + b"x" * (len(found[0]) - 2) + b"/", content)


def sealed_anew(raw: bytes) -> bytes:
    """A raw file with no directories in its ranks' records, and checksums that fit (formats/recording.h)."""
    found, at = bytearray(raw), HEADER_BYTES
    while at < len(found):
        header = np.frombuffer(found, layouts.CHUNK_HEADER, 1, at)[0].copy()
        if header["magic"] == CHUNK_MAGIC and header["kind"] == RANK:
            state, begin = int(header["seal"]) & 0xFFFFFFFF, at + header.nbytes
            end = begin + (state & layouts.SEAL_BYTES)
            found[begin:end] = hidden(bytes(found[begin:end]))
            same = ("kind", "chunks", "rank_chunk", "sequence", "first_chunk", "run")
            sealed = pack(layouts.SEALED, checked=state, **{name: header[name] for name in same})
            header["seal"] = crc32c(found[begin:end] + sealed) << 32 | state
            found[at:begin] = header.tobytes()
        at += CHUNK_BYTES * (int(header["chunks"]) if header["magic"] == CHUNK_MAGIC else 1)
    return bytes(found)


def archive(files: dict[str, bytes]) -> bytes:
    """An archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(packed.getvalue(), preset=9)


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
