# SPDX-License-Identifier: BSD-3-Clause
"""What a validation of many programs keeps besides what one of a user's program does."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from accuracy.cases import LONG
from accuracy.described import Described
from rankwise.lab.validation import state
from rankwise.lab.validation.state import Setting, rate_name

# Of a frame: Ethernet 14, IP 20, TCP 20 and its time stamps 12. Frames that are not cut before the counter (GSO) have
# one header there, as they have where they are not cut at all.
HEADER_BYTES = 66


class Options(state.Options, frozen=True, forbid_unknown_fields=True):
    """What was asked for.

    Attributes:
        not_run: Programs that could not be run, and why.
        described: Programs of a file, instead of those of `accuracy.cases`.
        frozen: The commit before whose end none of these was ever run against a prediction; empty for programs that
            the model was developed with.
    """

    not_run: dict[str, str] = {}
    described: tuple[Described, ...] = ()
    frozen: str = ""

    def settings(self) -> list[Setting]:
        """Fewer ranks are tried at the lowest rate only, long programs with most ranks there only: time is limited."""
        return [each for each in super().settings() if self._is_tried(each)]

    def _is_tried(self, setting: Setting) -> bool:
        has_most = setting.ranks == max(self.ranks)
        is_lowest = setting.rate_bytes_per_s == min(self.rates_bytes_per_s)
        return has_most and is_lowest if setting.program in LONG else has_most or is_lowest


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


class Predicted(state.Predicted, frozen=True):
    """A placement with what was predicted of it before its first run.

    Attributes:
        busiest_interface_s: Time of the busiest interface in one direction.
        simgrid_s: What SimGrid's replay says; null where it is not installed or did not say.
        plain_s: The replay's time, where `makespan_s` is anchored at the traced run.
    """

    busiest_interface_s: float
    simgrid_s: float | None = None
    plain_s: float | None = None


class CasePlan(state.CasePlan, frozen=True):
    """One case.

    Attributes:
        sent: Of each node's interface in the traced run.
        predicted: All placements.
        monitored: What Open MPI's monitoring component says of its messages.
        not_monitored: Why it says nothing, or nothing of a longer run, where it was asked; empty if it does.
        compute_s: Of `accuracy.pace`, before and after the traced run.
        code: SHA-256 of the code that predicted; empty where that is known of the whole validation only.
        steps: What the program was told, chosen by how long it takes in this lab (`accuracy.steps`); 0 where there is
            nothing to choose.
    """

    predicted: list[Predicted] = []
    sent: list[Sent] = []
    monitored: Monitored | None = None
    not_monitored: str = ""
    compute_s: float | None = None
    code: str = ""
    steps: int = 0


class Plan(state.Plan):
    """All that is fixed before the first measured run.

    Attributes:
        pace_s: Of messages (`accuracy.pace`) while the machine of each rate was measured.
    """

    schema: Literal["rankwise.accuracy-plan/1"]
    options: Options
    cases: list[CasePlan] = []
    pace_s: dict[str, float] = {}


class Run(state.Run, frozen=True):
    """One measured run; `pace_s` and `compute_s` are what `accuracy.pace` said just before."""

    pace_s: float | None = None
    compute_s: float | None = None


class State(state.State):
    """The directory of one validation."""

    plan_type: ClassVar[type[Plan]] = Plan
    case_type: ClassVar[type[CasePlan]] = CasePlan
    run_type: ClassVar[type[Run]] = Run

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
