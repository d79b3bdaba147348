# SPDX-License-Identifier: BSD-3-Clause
"""What a validation has done so far, kept in a directory so that it can be done in parts.

plan.json           what was asked for, the frozen machine file's hash, placements and their predictions
RATE.machine.toml   the machine file of the lab with that interface rate
PROGRAM.RANKS.RATE.rw   the one traced recording of each case
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
from rankwise.lab.rate import show_rate
from rankwise.lab.validation.cases import LONG
from rankwise.lab.validation.described import Described
from rankwise.lab.validation.other_load import TOLERATED
from rankwise.machine.file import fingerprint
from rankwise.placement.file import PlacementFile

SCHEMA = "rankwise.validation-plan/2"
# Of a frame: Ethernet 14, IP 20, TCP 20 and its time stamps 12. Frames that are not cut before the counter (GSO) have
# one header there, as they have where they are not cut at all.
HEADER_BYTES = 66
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
        programs: Names, see `rankwise.lab.validation.cases`.
        placements: How many of `rankwise.lab.validation.placements.NAMES`.
        repetitions: Measured runs of each placement.
        seed: Of random placements, searches and resampling.
        quick: Whether the machine is measured in the short way.
        not_run: Programs that could not be run, and why.
        described: Programs of a file that the user named, instead of those that come along.
        frozen: The commit before whose end none of these was ever run against a prediction; empty for programs that
            the model was developed with.
        command: The user's own program and its arguments, as typed but for what looks like a secret; then it is the
            only one of `programs`.
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
    not_run: dict[str, str] = {}
    described: tuple[Described, ...] = ()
    frozen: str = ""
    command: tuple[str, ...] = ()
    on: tuple[str, ...] = ()

    def settings(self) -> list[Setting]:
        """All cases, those of one lab together.

        Fewer ranks are tried at the lowest rate only, long programs with most ranks there only: time is limited.
        """
        every = (
            Setting(program, ranks, rate)
            for rate in self.rates_bytes_per_s
            for program in self.programs
            for ranks in self.ranks
        )
        return [each for each in every if self._is_tried(each)]

    def _is_tried(self, setting: Setting) -> bool:
        has_most = setting.ranks == max(self.ranks)
        is_lowest = setting.rate_bytes_per_s == min(self.rates_bytes_per_s)
        return has_most and is_lowest if setting.program in LONG else has_most or is_lowest


class Setting(msgspec.Struct, frozen=True):
    """What makes a case: a program, its number of ranks, and the rate of the lab's interfaces."""

    program: str
    ranks: int
    rate_bytes_per_s: float

    @property
    def key(self) -> str:
        """Its name, as in files: `cg.16.200mbit`."""
        return f"{self.program}.{self.ranks}.{rate_name(self.rate_bytes_per_s)}"


class Sent(msgspec.Struct, frozen=True):
    """Bytes that each node's interface sent in the traced run: as recorded, and as the kernel counted them.

    Attributes:
        host: The node.
        recorded_bytes: Of the messages to other nodes.
        counted_bytes: Frames with their headers.
        counted_packets: Frames.
        recorded_messages: To other nodes.
        startup_bytes: Of `counted_bytes`, what a run of as many ranks sends that only starts and ends MPI.
        startup_packets: Of `counted_packets`, the same.
    """

    host: str
    recorded_bytes: int
    counted_bytes: int
    counted_packets: int
    recorded_messages: int = 0
    startup_bytes: int = 0
    startup_packets: int = 0

    @property
    def own_bytes(self) -> int:
        """What the MPI library adds to the messages: all but them, the headers of frames, and what startup sends."""
        frames = self.counted_packets - self.startup_packets
        return self.counted_bytes - self.startup_bytes - HEADER_BYTES * frames - self.recorded_bytes


class Monitored(msgspec.Struct, frozen=True):
    """Messages between pairs of ranks in one more run: as recorded, and as Open MPI's component counted them.

    `equal` of `pairs` have the same number of messages and of bytes. `alike` have the same difference in a run of twice
    as many steps: what is different there is sent once; null where there was no such run.
    """

    pairs: int
    equal: int
    recorded_messages: int
    counted_messages: int
    recorded_bytes: int
    counted_bytes: int
    alike: int | None = None


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
        simgrid_s: What SimGrid's replay says; null where it is not installed or did not say.
        plain_s: The replay's time, where `makespan_s` is anchored at the traced run; null in states of before.
    """

    name: str
    placement: PlacementFile
    makespan_s: float
    low_s: float
    high_s: float
    network_bytes: int
    busiest_interface_s: float
    simgrid_s: float | None = None
    plain_s: float | None = None


class CasePlan(msgspec.Struct, frozen=True):
    """One case: its traced run with one placement, and predictions for all.

    Attributes:
        setting: Program, ranks and rate.
        title: What it is.
        recorded_s: Time of the traced run.
        launch_s: Time of its launch, start of the ranks included.
        sent: Of each node's interface in the traced run.
        omitted: What the schedule leaves out of the trace: sentence -> how often.
        predicted: All placements.
        failure: Why there is no trace or no prediction; empty if there is.
        monitored: What Open MPI's monitoring component says of its messages.
        not_monitored: Why it says nothing, or nothing of a longer run, where it was asked; empty if it does, and in
            states of before.
        recorded_others: Part of all cores' time that others used during the traced run; null in states of before.
        compute_s: Of `rankwise.lab.validation.pace`, before and after the traced run; null in states of before.
        code: SHA-256 of the code that predicted; empty in states of before, where it is that of the plan's context.
        steps: What the program was told, chosen by how long it takes in this lab (`rankwise.lab.validation.steps`); 0
            where there is nothing to choose, and in states of before, whose programs had fixed ones.
        invalid: Why the lab does not let the traced run count, nor what was predicted from it; empty if it does, and in
            states of before.
    """

    setting: Setting
    title: str
    recorded_s: float | None = None
    launch_s: float | None = None
    sent: list[Sent] = []
    omitted: dict[str, int] = {}
    predicted: list[Predicted] = []
    failure: str = ""
    monitored: Monitored | None = None
    recorded_others: float | None = None
    compute_s: float | None = None
    not_monitored: str = ""
    code: str = ""
    steps: int = 0
    invalid: str = ""

    @property
    def name(self) -> str:
        """The setting's key."""
        return self.setting.key


class Plan(msgspec.Struct):
    """All that is fixed before the first measured run.

    Attributes:
        options: What was asked for.
        context: Versions and machine: Rankwise and its code, MPI, kernel, processor.
        machine_sha256: Of the frozen machine file of each rate, once it is there.
        cases: One after the other, as they are recorded and predicted.
        pace_s: Of messages (`rankwise.lab.validation.pace`) while the machine of each rate was measured; none in states
            of before.
        measured_others: Part of all cores' time that others used meanwhile; none in states of before.
    """

    schema: Literal["rankwise.validation-plan/2"]
    options: Options
    context: dict[str, str | int]
    machine_sha256: dict[str, str] = {}
    cases: list[CasePlan] = []
    pace_s: dict[str, float] = {}
    measured_others: dict[str, float] = {}

    def case(self, setting: Setting) -> CasePlan | None:
        """What is known of a case, `None` before it was recorded."""
        return next((case for case in self.cases if case.setting == setting), None)


class Run(msgspec.Struct, frozen=True):
    """One measured run: `time_s`, or why there is none.

    `other_load` is the part of all cores' time that others used meanwhile, `pace_s` and `compute_s` are what
    `rankwise.lab.validation.pace` said just before of messages and of computing. `at` is when it began, in seconds
    since the epoch: runs that are added later may be hours behind the others. Null where it was not begun, and in
    states of before. `invalid` says why the lab does not let it count; empty if it does, and in states of before.
    """

    case: str
    placement: str
    repetition: int
    time_s: float | None = None
    failure: str | None = None
    other_load: float | None = None
    pace_s: float | None = None
    compute_s: float | None = None
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

    def settle(self, **options) -> None:
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
        return msgspec.json.Decoder(type=Run).decode_lines(path.read_bytes())

    def disturbed(self, run: Run) -> bool:
        """Whether a run shared the machine."""
        return run.other_load is not None and run.other_load > self.tolerated

    def slowness(self, run: Run) -> float | None:
        """Time of the exercise with messages just before a run over what it took while the machine was measured."""
        case = self._case(run)
        then = self.plan.pace_s.get(rate_name(case.setting.rate_bytes_per_s)) if case else None
        return run.pace_s / then if then and run.pace_s else None

    def compute_slowness(self, run: Run) -> float | None:
        """Time of the exercise that computes just before a run over what it took at the traced run."""
        case = self._case(run)
        then = case.compute_s if case else None
        return run.compute_s / then if then and run.compute_s else None

    def _case(self, run: Run) -> CasePlan | None:
        return next((case for case in self.plan.cases if case.name == run.case), None)

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
