# SPDX-License-Identifier: BSD-3-Clause
"""A node of a lab whose interrupt core is loaded, and the node's daemon that tunes the ranks there."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rankwise.lab import enter
from rankwise.lab.choose_mpi import first_on_path
from rankwise.lab.network import send_single_frames
from rankwise.lab.own_lab import own_lab, own_name
from rankwise.lab.run import launching, prepare
from rankwise.lab.state import Lab
from rankwise.lab.up import plan_lab
from rankwise.launchers.identify import identify
from rankwise.machine.placement import Placement
from rankwise.tune.preload import tune_environment
from tune.cases import Case, Way
from tune.runs import Failed, Run, count

NAME = own_name("tune")
RATE_BYTES_PER_S = 1.25e9  # above what the processing units carry: these are the limit
PAGES = "/dev/shm/rankwise"
_START_S = 10.0


@contextlib.contextmanager
def lab_host(programs: Path, mpiexec: str, directory: Path) -> Iterator[LabHost]:
    """Two nodes of two cores, up inside the block.

    Raises:
        Failed: The interrupt core cannot be chosen here.
        RankwiseError: A lab cannot be made here.
    """
    with own_lab(plan_lab(NAME, 2, 2, RATE_BYTES_PER_S, irq_core=0, switch="receiving")) as lab:
        if lab.receive_steering != "on":
            raise Failed(f"the interrupt core of a lab cannot be chosen: {lab.receive_steering}")
        for node in lab.nodes:
            # As small interfaces do, whose core has an interrupt for each frame.
            if why_not := send_single_frames(node.pid):
                raise Failed(f"frames cannot be sent one by one: {why_not}")
        yield LabHost(lab, programs, mpiexec, directory)


@dataclass(frozen=True)
class LabHost:
    """Such a lab.

    Attributes:
        lab: It.
        programs: Directory of `feed`.
        mpiexec: MPICH's.
        directory: For what the daemon leaves behind.
    """

    lab: Lab
    programs: Path
    mpiexec: str
    directory: Path

    def run(self, case: Case, way: Way, seconds: float) -> Run:
        """Run a case once.

        Raises:
            Failed: It cannot be counted.
        """
        chosen = case.mappings[way.mapping]
        # Without a binding each rank may be on both cores of its node.
        cores = [[core] for core in chosen] if chosen else [[0, 1], [0, 1]]
        hosts = [node.host for node in self.lab.nodes]
        # The sender on its own node's interrupt core: what the network takes is then all on the first PU, of which a
        # rank that computes there loses a third. On the other core it took as much from the better mapping.
        seats = [(0, cores[0]), (0, cores[1]), (1, [0])]
        placement = Placement.explicit(self.lab.topology(), seats, hosts, "explicit")
        words = [
            str(self.programs / "feed"), *map(str, (seconds, case.work[0], case.messages, case.message_bytes)),
        ]  # fmt: skip
        launcher = identify(self.mpiexec)
        if launcher is None:
            raise Failed(f"`{self.mpiexec}` is no launcher that is known")
        with first_on_path(launcher):
            prepared = prepare(self.lab, words, placement, launcher.family)
        pages = f"{PAGES}/ranks"
        given = tune_environment(Path(pages), prepared.mpi_library) if way.tuned else {}
        with (
            self._daemon(pages) if way.tuned else contextlib.nullcontext() as daemon,
            launching(prepared, given) as launch,
        ):
            environment = {name: value for name, value in os.environ.items() if name not in launch.without}
            return count(
                launch.words,
                seconds,
                self._events if daemon else None,
                environment | launch.environment,
                daemon,
            )

    @property
    def _events(self) -> Path:
        return self.directory / "daemon.jsonl"

    def _inside(self, *words: str | Path) -> list[str | Path]:
        """What runs these words on the first node."""
        state = self.lab.directory / "lab.json"
        return [sys.executable, "-I", "-S", enter.__file__, state, "exec", self.lab.nodes[0].host, *words]

    @contextlib.contextmanager
    def _daemon(self, pages: str) -> Iterator[int]:
        """The node's daemon; gives its process."""
        config, socket = self.directory / "tune.toml", self.directory / "tune.sock"
        config.write_text(
            f'act = true\npages = "{PAGES}"\nstate = "/dev/shm/rankwise-state"\n'
            f'socket = "{socket}"\nevents = "{self._events}"\n'
        )
        self._events.unlink(missing_ok=True)
        socket.unlink(missing_ok=True)
        said = self.directory / "daemon.log"
        with said.open("wb") as log:
            line = self._inside("rankwise", "tune", "--daemon", "--config", config)
            daemon = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until = time.monotonic() + _START_S
            while not socket.exists():
                if daemon.poll() is not None or time.monotonic() > until:
                    raise Failed(f"the daemon did not start in a lab: {said.read_text()[-300:]}")
                time.sleep(0.02)
            subprocess.run(self._inside("mkdir", "-p", "-m", "700", pages), check=True)
            yield daemon.pid
        finally:
            daemon.terminate()
            try:
                daemon.wait(15)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
