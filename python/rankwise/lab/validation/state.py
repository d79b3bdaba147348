# SPDX-License-Identifier: BSD-3-Clause
"""What a validation has done so far, kept in a directory so that it can be done in parts.

plan.json           what was asked for, the frozen machine file's hash, placements and their predictions
RATE.machine.toml   the machine file of the lab with that interface rate; `cluster` where rates are not chosen
PROGRAM.RANKS.RATE.rw   the traced recording
runs.jsonl          one line a measured run, in the order of the runs
validation.json     the result, rewritten whenever the command ends
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, get_args, get_type_hints

import msgspec

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.lab.rate import show_rate
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.machine.file import fingerprint
from rankwise.placement.file import PlacementFile

if TYPE_CHECKING:
    from typing_extensions import Self

_OTHER_PLACE = "choose another place with `--state` or `-o`"


def rate_name(bytes_per_s: float) -> str:
    """What files and tables call a lab by the rate of its interfaces; those of a cluster are not chosen."""
    return show_rate(bytes_per_s) if bytes_per_s else "cluster"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was asked for; the same on every resumption.

    Attributes:
        nodes: Nodes of the lab.
        cores: Cores of each.
        rates_bytes_per_s: Of each interface, one lab after the other.
        ranks: Numbers of ranks that each program is run with.
        mpi: `mpich` or `openmpi`.
        launcher: Its `mpiexec`.
        programs: Names.
        placements: How many of `rankwise.lab.validation.placements.NAMES`.
        repetitions: Measured runs of each placement.
        seed: Of random placements, searches and resampling.
        quick: Whether the machine is measured in the short way.
        command: The user's own program and its arguments, as typed but for what looks like a secret.
        on: The launch line without the program where that is run on a cluster, not in a lab: the rate is then 0, nodes
            and cores are what was measured.
    """

    nodes: int
    cores: int
    rates_bytes_per_s: tuple[float, ...]
    ranks: tuple[int, ...]
    mpi: Literal["mpich", "openmpi"]
    launcher: str
    programs: tuple[str, ...]
    placements: int
    repetitions: int
    seed: int
    quick: bool
    command: tuple[str, ...] = ()
    on: tuple[str, ...] = ()

    def settings(self) -> list[Setting]:
        """All cases, those of one lab together."""
        return [
            Setting(program, ranks, rate)
            for rate in self.rates_bytes_per_s
            for program in self.programs
            for ranks in self.ranks
        ]


class Setting(msgspec.Struct, frozen=True):
    """What makes a case: a program, its number of ranks, and the rate of the lab's interfaces."""

    program: str
    ranks: int
    rate_bytes_per_s: float

    @property
    def key(self) -> str:
        """Its name, as in files: `cg.16.200mbit`."""
        return f"{self.program}.{self.ranks}.{rate_name(self.rate_bytes_per_s)}"


class Predicted(msgspec.Struct, frozen=True):
    """A placement with what was predicted of it before its first run.

    Attributes:
        name: Its name.
        placement: The placement.
        makespan_s: Predicted time.
        low_s: Lower end of its interval.
        high_s: Upper end.
        network_bytes: Bytes of all messages between nodes.
    """

    name: str
    placement: PlacementFile
    makespan_s: float
    low_s: float
    high_s: float
    network_bytes: int


class CasePlan(msgspec.Struct, frozen=True):
    """One case: its traced run with one placement, and predictions for all.

    Attributes:
        setting: Program, ranks and rate.
        title: What it is.
        recorded_s: Time of the traced run.
        launch_s: Time of its launch, start of the ranks included.
        omitted: What the schedule leaves out of the trace: sentence -> how often.
        predicted: All placements.
        failure: Why there is no trace or no prediction; empty if there is.
        recorded_others: Part of all cores' time that others used during the traced run; null where it is not known.
        invalid: Why the lab does not let the traced run count, nor what was predicted from it; empty if it does.
    """

    setting: Setting
    title: str
    recorded_s: float | None = None
    launch_s: float | None = None
    omitted: dict[str, int] = {}
    predicted: list[Predicted] = []
    failure: str = ""
    recorded_others: float | None = None
    invalid: str = ""

    @property
    def name(self) -> str:
        """The setting's key."""
        return self.setting.key


class Plan(msgspec.Struct):
    """All that is fixed before the first measured run.

    Attributes:
        options: What was asked for.
        context: Versions and machine: Rankwise, MPI, kernel, processor.
        machine_sha256: Of the frozen machine file of each rate, once it is there.
        cases: One after the other, as they are recorded and predicted.
        measured_others: Part of all cores' time that others used while the machine of each rate was measured.
    """

    schema: Literal["rankwise.validation-plan/3"]
    options: Options
    context: dict[str, str | int]
    machine_sha256: dict[str, str] = {}
    cases: list[CasePlan] = []
    measured_others: dict[str, float] = {}

    def case(self, setting: Setting) -> CasePlan | None:
        """What is known of a case, `None` before it was recorded."""
        return next((case for case in self.cases if case.setting == setting), None)


class Run(msgspec.Struct, frozen=True):
    """One measured run: `time_s`, or why there is none.

    `other_load` is the part of all cores' time that others used meanwhile. `at` is when it began, in seconds since the
    epoch: runs that are added later may be hours behind the others; null where it was not begun. `invalid` says why the
    lab does not let it count; empty if it does.
    """

    case: str
    placement: str
    repetition: int
    time_s: float | None = None
    failure: str | None = None
    other_load: float | None = None
    at: float | None = None
    invalid: str = ""


class State:
    """The directory of one validation.

    Attributes:
        directory: Where it is.
        plan: What was fixed.
        tolerated: Runs during which others used more than this part of all cores' time are repeated, whatever their
            time was, and count for nothing.
    """

    plan_type: ClassVar[type[Plan]] = Plan
    case_type: ClassVar[type[CasePlan]] = CasePlan
    run_type: ClassVar[type[Run]] = Run

    def __init__(self, directory: Path, plan: Plan):
        self.directory = directory
        self.plan = plan
        self.tolerated = TOLERATED

    @classmethod
    def create(cls, directory: Path, options: Options, context: dict[str, str | int]) -> Self:
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
        (schema,) = get_args(get_type_hints(cls.plan_type)["schema"])
        state = cls(directory, cls.plan_type(schema, options, context))
        state.save()
        return state

    @classmethod
    def resume(cls, directory: Path) -> Self:
        """One that was begun before.

        Raises:
            RankwiseError: There is none, it is damaged, or its machine file is not the one that was frozen.
        """
        path = directory / "plan.json"
        try:
            plan = msgspec.json.decode(path.read_bytes(), type=cls.plan_type)
        except OSError:
            raise RankwiseError(
                f"`{directory}` holds no validation to go on with", "leave `--resume` out to begin one"
            ) from None
        except msgspec.DecodeError as error:
            reason = str(error)[0].lower() + str(error)[1:]
            raise RankwiseError(f"`{path}`: {reason}", "begin again with another `--state`") from None
        state = cls(directory, plan)
        for rate in plan.options.rates_bytes_per_s:
            if rate_name(rate) in plan.machine_sha256:
                state.check_machine(rate, state.machine_path(rate))
        return state

    def check_machine(self, rate_bytes_per_s: float, path: Path) -> None:
        """Raise unless a machine file is the one that was frozen for a rate."""
        found = fingerprint(path) if path.is_file() else "nothing"
        frozen = self.plan.machine_sha256.get(rate_name(rate_bytes_per_s))
        if found != frozen:
            raise RankwiseError(
                f"`{path}` is not the machine file that this validation began with "
                f"(SHA-256 {found[:12]}, frozen {(frozen or 'nothing')[:12]})",
                "begin another validation with `--state`: numbers of two machine files do not mix",
            )

    def machine_path(self, rate_bytes_per_s: float) -> Path:
        """The machine file of a rate."""
        return self.directory / f"{rate_name(rate_bytes_per_s)}.machine.toml"

    def repeat_more(self, repetitions: int) -> None:
        """Plan so many runs of all placements, if that is more than now."""
        if repetitions > self.plan.options.repetitions:
            self.settle(repetitions=repetitions)

    def settle(self, **options: int) -> None:
        """Keep options that are known only now."""
        self.plan.options = msgspec.structs.replace(self.plan.options, **options)
        self.save()

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
        return msgspec.json.Decoder(type=self.run_type).decode_lines(path.read_bytes())

    def disturbed(self, run: Run) -> bool:
        """Whether a run shared the machine."""
        return run.other_load is not None and run.other_load > self.tolerated

    def add(self, run: Run) -> None:
        """Keep one more run."""
        with open(self.directory / "runs.jsonl", "ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")

    def missing(self, name: str | None = None) -> list[tuple[int, str, str]]:
        """(repetition, case, placement) of the runs that are still to be made, in their order.

        Placements take turns, and each round begins with another one, so that slow changes of the machine and
        effects of the run before meet all alike.

        Args:
            name: Those of this case only.
        """
        done = {(run.repetition, run.case, run.placement) for run in self.runs() if not self.disturbed(run)}
        order = []
        for case in self.plan.cases:
            if name not in (None, case.name):
                continue
            names = [each.name for each in case.predicted]
            for repetition in range(self.plan.options.repetitions):
                at = repetition % max(len(names), 1)
                order += [(repetition, case.name, each) for each in [*names[at:], *names[:at]]]
        return [each for each in order if each not in done]


def _text(document: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
