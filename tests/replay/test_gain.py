# SPDX-License-Identifier: BSD-3-Clause
"""The demo's table of what a placement gained beside what was predicted: known answers."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from machines import machine, text
from raw_writer import Rank, write_recording

from rankwise import _core
from rankwise.placement.file import save
from rankwise.placement.placement import Placement
from rankwise.recording.span import Span
from rankwise.replay.layout import topology_of
from rankwise.replay.source import Source

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "gain.py"
GOAL = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"
LINKS = {"network": {"L_s": 3.0}, "node": {"L_s": 1.0}}  # a message takes 3 s between nodes, 1 s within one


@pytest.fixture
def gain():
    spec = importlib.util.spec_from_file_location("gain", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runs_and_predictions_stand_side_by_side_and_gains_are_taken_of_pairs(
    gain, tmp_path, monkeypatch, capsys
):
    # GIVEN a message recorded between two nodes, and a placement that has both ranks on one, as blocked has
    topology = topology_of(machine(**LINKS), ".")
    apart = Placement.explicit(topology, [(0, [0]), (1, [0])])
    together = Placement.explicit(topology, [(0, [0]), (0, [1])])
    (tmp_path / "m.machine.toml").write_text(text(**LINKS))
    save(together, tmp_path / "p.placement.json")
    schedule = _core.replay.Schedule.read_goal(GOAL, "x.goal")
    source = Source(schedule, "recording", library="mpich", recorded=apart, span=Span(np.array([3.0, 3.0])))
    monkeypatch.setattr(gain, "load_source", lambda _: source)
    opened = SimpleNamespace(open=lambda _: SimpleNamespace(placement=together))
    monkeypatch.setattr(gain, "Recording", opened)
    # AND runs in turn: the second pair was disturbed, both alike
    measured = {"before": (3.0, 6.0), "blocked": (1.0, 2.0), "placed": (1.5, 3.0)}
    for name, times in measured.items():
        for run, time_s in enumerate(times, 1):
            ranks = [Rank(me, 2, run_ns=int(time_s * 1e9)) for me in range(2)]
            write_recording(tmp_path / f"{name}-{run}.rw", ranks)
    # WHEN
    gain.main("x.rw", str(tmp_path / "m.machine.toml"), str(tmp_path / "p.placement.json"), str(tmp_path))
    # THEN medians have their range, which two runs have instead of an interval of 95 %
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "median of 2 runs (their range) predicted (interval)"
    assert lines[1].startswith("as recorded 4.50 s (3.00 to 6.00) 3.00 s (")
    assert lines[2].startswith("blocked 1.50 s (1.00 to 2.00) 1.00 s (")
    assert lines[3].startswith("as placed 2.25 s (1.50 to 3.00) 1.00 s (")
    # AND gains are those of pairs, which the disturbance does not move
    assert lines[4].startswith("gained 50% (50% to 50%) 67% (")
    assert lines[5].startswith("gained, blocked -50% (-50% to -50%) 0% (")
