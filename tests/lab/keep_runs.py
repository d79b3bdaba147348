# SPDX-License-Identifier: BSD-3-Clause
"""Keep runs of a finished validation for test_kept_runs.py: `keep_runs.py STATE CASE...`.

Of each case the schedule of its traced run, the machine file that was frozen before the runs, and all placements with
the times that count. Programs whose collectives go by the placement cannot be kept: there is one schedule.
"""

import json
import lzma
import shutil
import sys
import tempfile
from pathlib import Path

from rankwise.lab.validation.state import State
from rankwise.replay.source import load, write_goal

KEPT = Path(__file__).with_name("validated")


def keep(state: State, name: str) -> None:
    """Write the three files of a case."""
    (case,) = [each for each in state.plan.cases if each.name == name]
    called = f"{state.plan.options.mpi}.{name}"
    source = load(state.directory / f"{name}.rw")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "schedule.goal.bin"
        write_goal(source.schedule, path)
        (KEPT / f"{called}.goal.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
    shutil.copy(state.machine_path(case.setting.rate_bytes_per_s), KEPT / f"{called}.machine.toml")
    runs = [run for run in state.runs() if run.case == name and run.time_s and not state.disturbed(run)]
    lines = []
    for each in case.predicted:
        placed = {
            "node": [rank.node for rank in each.placement.ranks],
            "core": [rank.cores[0] for rank in each.placement.ranks],
            "times_s": [round(run.time_s, 6) for run in runs if run.placement == each.name],
        }
        lines.append(f' "{each.name}": {json.dumps(placed)}')
    (KEPT / f"{called}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    validation = State.resume(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        keep(validation, name)
