# SPDX-License-Identifier: BSD-3-Clause
"""What a validation has done so far, kept in a directory so that it can be done in parts.

plan.json           what was asked for, the frozen machine file's hash, placements and their predictions
lab.machine.toml    the machine file
CASE.rw             the one traced recording of each case
runs.jsonl          one line a measured run, in the order of the runs
validation.json     the result, rewritten whenever the command ends
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.machine.file import fingerprint
from rankwise.placement.file import PlacementFile

SCHEMA = "rankwise.validation-plan/1"
MACHINE = "lab.machine.toml"
_OTHER_PLACE = "choose another place with `--state` or `-o`"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked for; the same on every resumption.

    Attributes:
        nodes: Nodes of the lab.
        cores: Cores of each.
        rate_bytes_per_s: Of each interface.
        mpi: `mpich` or `openmpi`.
        launcher: Its `mpiexec`.
        cases: Names, see `rankwise.lab.validation.cases`.
        placements: How many of `rankwise.lab.validation.placements.NAMES`.
        repetitions: Measured runs of each placement.
        seed: Of random placements, searches and resampling.
        quick: Whether the machine is measured in the short way.
    """

    nodes: int
    cores: int
    rate_bytes_per_s: float
    mpi: Literal["mpich", "openmpi"]
    launcher: str
    cases: tuple[str, ...]
    placements: int
    repetitions: int
    seed: int
    quick: bool


class Predicted(msgspec.Struct, frozen=True):
    """A placement with what was predicted of it before its first run.

    Attributes:
        name: Its name.
        placement: The placement.
        makespan_s: Predicted time.
        low_s: Lower end of its interval.
        high_s: Upper end.
        network_bytes: Bytes of all messages between nodes.
        busiest_interface_s: Time of the busiest interface in one direction.
    """

    name: str
    placement: PlacementFile
    makespan_s: float
    low_s: float
    high_s: float
    network_bytes: int
    busiest_interface_s: float


class CasePlan(msgspec.Struct, frozen=True):
    """One case: its traced run with one placement, and predictions for all.

    Attributes:
        name: Its name.
        title: What it is.
        recorded_s: Time of the traced run.
        omitted: What the schedule leaves out of the trace: sentence -> how often.
        predicted: All placements.
        failure: Why there is no trace or no prediction; empty if there is.
    """

    name: str
    title: str
    recorded_s: float | None = None
    omitted: dict[str, int] = {}
    predicted: list[Predicted] = []
    failure: str = ""


class Plan(msgspec.Struct):
    """All that is fixed before the first measured run.

    Attributes:
        options: What was asked for.
        context: Versions and machine: Rankwise, MPI, kernel, processor.
        machine_sha256: Of the frozen machine file, once it is there.
        cases: One after the other, as they are recorded and predicted.
    """

    schema: Literal["rankwise.validation-plan/1"]
    options: Options
    context: dict[str, str | int]
    machine_sha256: str | None = None
    cases: list[CasePlan] = []

    def case(self, name: str) -> CasePlan | None:
        """What is known of a case, `None` before it was recorded."""
        return next((case for case in self.cases if case.name == name), None)


class Run(msgspec.Struct, frozen=True):
    """One measured run: `time_s`, or why there is none.

    `other_load` is the part of all cores' time that others used meanwhile.
    """

    case: str
    placement: str
    repetition: int
    time_s: float | None = None
    failure: str | None = None
    other_load: float | None = None


class State:
    """The directory of one validation.

    Attributes:
        directory: Where it is.
        plan: What was fixed.
        tolerated: Runs during which others used more than this part of all cores' time are repeated, whatever their
            time was, and count for nothing.
    """

    def __init__(self, directory: Path, plan: Plan):
        self.directory = directory
        self.plan = plan
        self.tolerated = TOLERATED

    @classmethod
    def create(cls, directory: Path, options: Options, context: dict[str, str | int]) -> State:
        """A new one in a directory that is not there yet.

        Raises:
            RankwiseError: It is there, or cannot be made.
        """
        if os.path.lexists(directory):
            raise RankwiseError(
                f"`{directory}` is there already",
                "add `--resume` to go on with the validation in it, or name another directory with `--state`",
            )
        try:
            directory.mkdir(parents=True)
        except OSError as error:
            raise RankwiseError(
                f"`{directory}` cannot be made: {(error.strerror or str(error)).lower()}",
                "name another directory with `--state`",
            ) from None
        state = cls(directory, Plan(SCHEMA, options, context))
        state.save()
        return state

    @classmethod
    def resume(cls, directory: Path) -> State:
        """One that was begun before.

        Raises:
            RankwiseError: There is none, it is damaged, or its machine file is not the one that was frozen.
        """
        path = directory / "plan.json"
        try:
            plan = msgspec.json.decode(path.read_bytes(), type=Plan)
        except OSError:
            raise RankwiseError(
                f"`{directory}` holds no validation to go on with", "leave `--resume` out to begin one"
            ) from None
        except msgspec.DecodeError as error:
            reason = str(error)[0].lower() + str(error)[1:]
            raise RankwiseError(f"`{path}`: {reason}", "begin again with another `--state`") from None
        state = cls(directory, plan)
        if plan.machine_sha256 is not None:
            state.check_machine(state.machine_path)
        return state

    def check_machine(self, path: Path) -> None:
        """Raise unless a machine file is the one that was frozen."""
        found = fingerprint(path) if path.is_file() else "nothing"
        frozen = self.plan.machine_sha256
        if found != frozen:
            raise RankwiseError(
                f"`{path}` is not the machine file that this validation began with "
                f"(SHA-256 {found[:12]}, frozen {(frozen or 'nothing')[:12]})",
                "begin another validation with `--state`: numbers of two machine files do not mix",
            )

    @property
    def machine_path(self) -> Path:
        """The machine file."""
        return self.directory / MACHINE

    def save(self) -> None:
        """Write the plan in one piece."""
        whole_files.write(self.directory / "plan.json", _text(self.plan), _OTHER_PLACE)

    def write_result(self, document: msgspec.Struct) -> None:
        """Write the result so far."""
        whole_files.write(self.directory / "validation.json", _text(document), _OTHER_PLACE)

    def runs(self) -> list[Run]:
        """All measured runs so far."""
        path = self.directory / "runs.jsonl"
        if not path.exists():
            return []
        return msgspec.json.Decoder(type=Run).decode_lines(path.read_bytes())

    def disturbed(self, run: Run) -> bool:
        """Whether a run shared the machine."""
        return run.other_load is not None and run.other_load > self.tolerated

    def add(self, run: Run) -> None:
        """Keep one more run."""
        with open(self.directory / "runs.jsonl", "ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")

    def missing(self) -> list[tuple[int, str, str]]:
        """(repetition, case, placement) of the runs that are still to be made, in their order.

        Placements take turns, and each round begins with another one, so that slow changes of the machine and
        effects of the run before meet all alike.
        """
        done = {(run.repetition, run.case, run.placement) for run in self.runs() if not self.disturbed(run)}
        order = []
        for repetition in range(self.plan.options.repetitions):
            for case in self.plan.cases:
                names = [each.name for each in case.predicted]
                at = repetition % max(len(names), 1)
                order += [(repetition, case.name, name) for name in [*names[at:], *names[:at]]]
        return [each for each in order if each not in done]


def _text(document: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
