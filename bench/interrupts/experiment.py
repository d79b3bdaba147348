# SPDX-License-Identifier: BSD-3-Clause
"""The experiment on the interrupt core: one lab, whose second node receives on one core, then on the other."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from interrupts.by_core import ByCore, count, record
from interrupts.predicted import predict
from interrupts.result import CONFIGURATIONS, RECORDED, SIZES, Result, Scan, costs
from rankwise.errors import RankwiseError
from rankwise.lab.choose_mpi import first_on_path
from rankwise.lab.network import send_single_frames, steer_receiving
from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.run import launching, place, prepare
from rankwise.lab.site import LabSite
from rankwise.lab.state import Lab
from rankwise.lab.up import plan_lab
from rankwise.launchers.library import expected_library
from rankwise.launchers.line import Launcher, LaunchLine, Segment
from rankwise.measure.measurement import Measurement
from rankwise.measure.outcome import write
from rankwise.measure.steps import effort
from rankwise.run.limited import run_limited
from rankwise.scratch import scratch

LAB_NAME = own_name("interrupts")
RATE_BYTES_PER_S = 1.25e9  # above what the machine's cores carry: these are the limit
WINDOW_S, LAUNCH_LIMIT_S, MEASURE_S = 0.1, 40.0, 15.0
_PROGRAM = Path(__file__).with_name("ranks.py")
Say = Callable[[str], None]


@dataclass
class Experiment:
    """Scans and jobs with both cores in turn.

    Args:
        launcher: `mpiexec` of the MPI.
        directory: Where the machine file and recordings go.
        say: Called with what happens.
    """

    launcher: Launcher
    directory: Path
    say: Say
    result: Result = field(default_factory=Result)

    def run(self, repetitions: int) -> Result:
        """Do all of it.

        Raises:
            RankwiseError: There are fewer than two PUs, steering is not allowed, or a launch failed.
        """
        with own_lab(plan_lab(LAB_NAME, 2, 2, RATE_BYTES_PER_S)) as lab:
            if len(set(lab.nodes[1].cores)) < 2:
                raise RankwiseError(
                    "this machine has one PU, so no core is beside the interrupt core",
                    "try it on a machine that has two",
                )
            self.result.shared = bool(set(lab.nodes[0].cores) & set(lab.nodes[1].cores))
            for node in lab.nodes:
                why_not = send_single_frames(node.pid)
                if why_not:
                    raise RankwiseError(f"the kernel does not let frames be sent one by one ({why_not})")
            # Beside the ranks that are measured, so that their overheads are their own.
            self._steer(lab, 1)
            machine = self._measure(lab)
            for _ in range(repetitions):
                for at, name in enumerate(CONFIGURATIONS):
                    self._steer(lab, at)
                    self.result.scans.append(Scan(name, self._scan(lab)))
                self.say(f"{len(self.result.scans) // 2} of {repetitions} rounds")
        for core in range(2):
            with own_lab(plan_lab(LAB_NAME, 2, 2, RATE_BYTES_PER_S, irq_core=core)) as lab:
                pu = lab.nodes[1].cores[core]
                self.result.by_core += [self._by_core(pu, size) for size in RECORDED]
        self.result.cost = costs(self.result.scans)
        self.result.predicted = {size: predict(machine, self.result.cost, size) for size in SIZES}
        return self.result

    def _by_core(self, pu: int, size: int) -> ByCore:
        words = [sys.executable, str(_PROGRAM), str(WINDOW_S), str(size)]
        path = self.directory / f"{pu}.{size}.rw"
        with first_on_path(self.launcher):
            return count(record(LAB_NAME, words, path, self.launcher.family), pu, size)

    def _measure(self, lab: Lab) -> Path:
        measurement = Measurement(LabSite(lab, [self.launcher.path]), effort(True, MEASURE_S))
        measurement.prepare()
        measurement.measure()
        if measurement.interrupted:
            raise KeyboardInterrupt
        path = self.directory / "lab.machine.toml"
        write(measurement, path, anyway=True)
        return path

    def _steer(self, lab: Lab, at: int) -> None:
        """What the second node receives goes to its core `at`; what the first does always to its second core."""
        for node, core in ((lab.nodes[0], 1), (lab.nodes[1], at)):
            why_not = steer_receiving(node.pid, node.cores[core])
            if why_not:
                raise RankwiseError(
                    f"the kernel does not let the interrupt core be chosen ({why_not})",
                    "run it as root on a machine of your own",
                )

    def _scan(self, lab: Lab) -> list[dict]:
        """What one launch of `ranks.py` says."""
        line = LaunchLine(self.launcher, (Segment((), sys.executable, (), None),))
        library = expected_library(line, [self.launcher.path or ""], self.launcher.family)
        variables = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        variables |= {"MPI4PY_LIBMPI": library} if library else {}
        words = [sys.executable, str(_PROGRAM), str(WINDOW_S), *map(str, SIZES)]
        with first_on_path(self.launcher):
            prepared = prepare(lab, words, place(lab, None, "blocked"), self.launcher.family)
        with (
            launching(replace(prepared, launcher=self.launcher), variables) as launch,
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        ):
            try:
                status = run_limited(launch, LAUNCH_LIMIT_S, output)
            except subprocess.TimeoutExpired:
                raise RankwiseError(f"a launch did not finish in {LAUNCH_LIMIT_S:.0f} s") from None
            output.seek(0)
            said = output.read()
        rows = [line for line in said.splitlines() if line.startswith("[{")]
        if status or not rows:
            last = said.strip().splitlines()[-1:] or ["it said nothing"]
            raise RankwiseError(f"a launch ended with status {status}", causes=tuple(last))
        return json.loads(rows[0])


def experiment(launcher: Launcher, repetitions: int, say: Say) -> Result:
    """The whole experiment, in a scratch directory."""
    with scratch("interrupts") as directory:
        return Experiment(launcher, directory, say).run(repetitions)
