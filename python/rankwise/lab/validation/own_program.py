# SPDX-License-Identifier: BSD-3-Clause
"""A user's own program as the one case of a validation: in a lab made for it, or on the cluster that a line reaches."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rankwise.errors import RankwiseError
from rankwise.lab.state import Lab
from rankwise.lab.validation.state import CasePlan, Setting
from rankwise.lab.validation.validation import TRACED_LIMIT_S, Case, Progress, Validation
from rankwise.launchers import parse
from rankwise.launchers.line import Launcher
from rankwise.machine.file import load
from rankwise.machine.machine import topology_of
from rankwise.machine.placement import Placement
from rankwise.measure.measurement import Measurement
from rankwise.measure.outcome import write
from rankwise.measure.site import Site
from rankwise.measure.steps import effort
from rankwise.placement.file import PlacementFile, loads, save, to_dict
from rankwise.placement.simple import allocate
from rankwise.record import recording_run as recorder
from rankwise.record.library import What
from rankwise.replay.uncertainty import has_intervals
from rankwise.run import placed_run
from rankwise.run.timed_run import Made, run_placed

PLACEMENTS = 6  # blocked, cyclic, optimised, worst, one at random, plane=2
WINDOW_S = 300.0
MOST_REPETITIONS = 5
# Of the window: for measuring the machine, and at most for the traced run.
_MEASURE_SHARE, _TRACED_SHARE = 0.2, 0.3
_RUNS_SHARE = 0.75  # of what is left then, for runs as long as expected
_RATE = 0.0  # of a cluster's interfaces: not chosen
_EXAMPLE = '`rankwise lab validate --on "mpiexec -n 64 -hosts n01,n02" -- ./app args`'


def traced_limit_s(window_s: float) -> float:
    """Most time for the launch of the traced run."""
    return max(TRACED_LIMIT_S, _TRACED_SHARE * window_s)


def short_name(words: Sequence[str]) -> str:
    """What files and tables call a program: of an interpreter's script, the script."""
    script = next((word for word in words if re.search(r"\.(py|sh|pl|R|jl)$", word)), words[0])
    return re.sub(r"[^\w.-]", "_", Path(script).name) or "app"


def check_on(on: Sequence[str], words: Sequence[str]) -> int:
    """The number of ranks of a launch line that has no program yet.

    Raises:
        RankwiseError: It is no launch line, has a program or several, or does not say how many ranks.
    """
    line = parse(list(on)) if on else None
    if line is None or line.launcher.kind == "none":
        raise RankwiseError(
            f"`--on` takes a launch line without its program, not `{' '.join(on)}`", f"for example {_EXAMPLE}"
        )
    if len(line.segments) > 1 or line.program is not None:
        raise RankwiseError(
            f"`{line.program or ':'}` is more than a launch line: the program follows `--`",
            f"for example {_EXAMPLE}",
        )
    ranks = parse([*on, *words]).ranks
    if ranks is None or ranks < 2:
        raise RankwiseError(
            "`--on` does not say how many ranks there are, two or more", f"for example {_EXAMPLE}"
        )
    return ranks


@dataclass
class InLab(Validation):
    """The program in a lab made for it.

    Args:
        words: The program and its arguments, with what a state does not keep.
        fit: Choose how many runs each placement has by the time that is left when all is predicted.
    """

    words: tuple[str, ...] = ()
    fit: bool = False

    def programs(self) -> dict[str, Case]:
        """The program by its name."""
        (name,) = self.options.programs
        return {name: Case(name, " ".join(self.options.command), self.words)}

    def _measure_s(self) -> float:
        usual = super()._measure_s()
        return min(usual, _MEASURE_SHARE * self.window_s) if self.window_s else usual

    def _record_and_predict(self, lab: Lab | None, setting: Setting, case: Case) -> None:
        super()._record_and_predict(lab, setting, case)
        plan = self.state.plan.case(setting)
        if self.fit and plan and plan.predicted and plan.launch_s:
            self.state.settle(repetitions=self._repetitions(plan))

    def _repetitions(self, plan: CasePlan) -> int:
        """How many rounds of all placements fit in what is left of the window, with a quarter to spare."""
        start_s = max((plan.launch_s or 0.0) - (plan.recorded_s or 0.0), 0.0)
        round_s = sum(each.makespan_s + start_s for each in plan.predicted)
        fitting = (self._end - time.monotonic()) * _RUNS_SHARE / max(round_s, 1e-3)
        return int(max(1, min(MOST_REPETITIONS, fitting)))


@dataclass
class OnCluster(InLab):
    """The program on the hosts that the user's own launch line reaches."""

    def _find_launcher(self) -> Launcher:
        return parse(list(self.options.on)).launcher

    def go_on(self, progress: Progress = lambda done, total: None) -> bool:
        """As in a lab, but that the machine is measured before all: nodes and cores are what is found."""
        if not self.state.plan.machine_sha256 and self._time_left():
            self._measure(_RATE, None)
        return super().go_on(progress)

    def take_machine(self, path: Path) -> None:
        """Freeze a machine file that was measured on this cluster before; or check that it is the frozen one."""
        if self.state.plan.machine_sha256:
            self.state.check_machine(_RATE, path)
            return
        machine = load(path)
        if machine.node.host_cores is not None:
            raise RankwiseError(
                f"`{path}` describes an emulated machine, whose nodes exist in the lab only",
                "leave `--machine` out to measure the cluster",
            )
        if not has_intervals(machine):
            raise RankwiseError(
                f"no number of `{path}` has a confidence interval, so predictions would have none",
                "leave `--machine` out to measure the cluster",
            )
        files = [machine.node.topology_xml, *(each.topology_xml for each in machine.node.others)]
        for xml in filter(None, files):
            shutil.copyfile(path.parent / xml, self.state.directory / xml)
        shutil.copyfile(path, self.state.machine_path(_RATE))
        self._freeze(_RATE)

    def _lab(self, rate: float) -> AbstractContextManager[None]:
        return nullcontext(None)

    def _measure(self, rate: float, lab: Lab | None) -> None:
        measurement = Measurement(Site(list(self.options.on)), effort(self.options.quick, self._measure_s()))
        measurement.prepare()
        measurement.measure()
        if measurement.interrupted:
            raise KeyboardInterrupt
        write(measurement, self.state.machine_path(rate), anyway=True)
        self._freeze(rate)

    def _freeze(self, rate: float) -> None:
        path = self.state.machine_path(rate)
        machine = load(path)
        kinds = topology_of(machine, self.state.directory).nodes
        if len({node.sha256 for node in kinds}) > 1:
            raise RankwiseError(
                "the nodes of this cluster are of several kinds, and a validation compares placements on equal ones",
                "name hosts of one kind in `--on`",
            )
        (ranks,), nodes = self.options.ranks, len(kinds)
        each = -(-ranks // nodes)
        if each > kinds[0].cores:
            raise RankwiseError(
                f"{ranks} ranks do not have a core each on {nodes} nodes of {kinds[0].cores} cores",
                "name more hosts, or start fewer ranks, in `--on`",
            )
        self.state.settle(nodes=nodes, cores=each)
        super()._freeze(rate)

    def _can_run(self, lab: Lab | None, case: Case, placement: Placement) -> bool:
        try:
            self._prepared(case, msgspec.convert(to_dict(placement), PlacementFile), None).close()
        except RankwiseError:
            return False
        return True

    def _make(
        self, lab: Lab | None, case: Case, where: int | PlacementFile, path: Path, trace: bool, limit_s: float
    ) -> Made:
        """One run by the user's launch line, placed as by `rankwise run` and recorded as by `rankwise record`."""
        asked = recorder.Request(str(path), True, What(trace=trace))
        session = self._prepared(case, self._blocked(where) if isinstance(where, int) else where, asked)
        return run_placed(session, path, limit_s)

    def _blocked(self, ranks: int) -> PlacementFile:
        machine = load(self.state.machine_path(_RATE))
        node = topology_of(machine, self.state.directory).nodes[0]
        placement, _ = allocate(ranks, self.options.nodes, self.options.cores, node, "blocked")
        return msgspec.convert(to_dict(placement), PlacementFile)

    def _prepared(
        self, case: Case, where: PlacementFile, request: recorder.Request | None
    ) -> placed_run.PlacedRun:
        """A placed run that was checked."""
        path = self.state.directory / "run.placement.json"
        save(loads(msgspec.json.encode(where)), path)
        machine = self.state.machine_path(_RATE)
        words = [*self.options.on, *case.words]
        return placed_run.prepare(words, str(path), None, str(machine), None, request)
