# SPDX-License-Identifier: BSD-3-Clause
"""Plain LogGOPS (formats/plain_loggops.md): one set of parameters for all messages, nothing shared, no machine."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.machine.quantities import size, time, time_per_byte

_UNLIMITED = 2**64 - 1
_PARTS = ("computation", "overhead", "waiting")
_KEYS = {
    "L": ("L_s", time),
    "o": ("o_s", time),
    "g": ("g_s", time),
    "G": ("G_s_per_byte", time_per_byte),
    "O": ("O_s_per_byte", time_per_byte),
    "S": ("S_bytes", size),
}


@dataclass(frozen=True)
class LogGOPS:
    """Parameters of Hoefler, Schneider, Lumsdaine: LogGOPSim (2010).

    Attributes:
        L_s: Latency.
        o_s: Processor time of a message at each end.
        g_s: Gap between messages of an interface.
        G_s_per_byte: Gap per byte after the first.
        O_s_per_byte: Processor time per byte after the first.
        S_bytes: Largest eager message; `None`: all are eager.
    """

    L_s: float = 0.0
    o_s: float = 0.0
    g_s: float = 0.0
    G_s_per_byte: float = 0.0
    O_s_per_byte: float = 0.0
    S_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> LogGOPS:
        """Parameters from `L=2us,o=1.5us,g=1us,G=6,S=64KiB`: a number without unit is nanoseconds, or bytes.

        Raises:
            RankwiseError: A key that is none of L, o, g, G, O, S or comes twice, or a value that is none.
        """
        values: dict[str, float] = {}
        for part in text.split(","):
            key, _, value = (word.strip() for word in part.partition("="))
            if key not in _KEYS:
                raise RankwiseError(
                    f"`{part.strip()}` in `--loggops {text}` is not one of L, o, g, G, O, S with its value",
                    "for example `--loggops L=2us,o=1us,g=0,G=0.1ns/B,O=0,S=64KiB`",
                    status=2,
                )
            field, parse = _KEYS[key]
            if field in values:
                raise RankwiseError(f"`--loggops {text}` says `{key}` twice", "leave one out", status=2)
            number = parse(value if parse is size or not _is_number(value) else f"{value}{_ns(key)}")
            if number is None or not math.isfinite(number):
                raise RankwiseError(
                    f"`{value}` in `--loggops {text}` is not a value of {key}",
                    "for example `L=2us`, `G=0.1ns/B`, `S=64KiB`; without unit it is nanoseconds, or bytes",
                    status=2,
                )
            if parse is size and not number.is_integer():
                raise RankwiseError(
                    f"`{value}` in `--loggops {text}` is no whole number of bytes",
                    "S is the largest message that is sent without waiting for its receive, as `S=64KiB`",
                    status=2,
                )
            values[field] = min(int(number), _UNLIMITED) if field == "S_bytes" else number
        size_bytes = values.pop("S_bytes", None)
        return cls(**values, S_bytes=None if size_bytes is None else int(size_bytes))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _ns(key: str) -> str:
    return "ns/B" if key in ("G", "O") else "ns"


@dataclass(frozen=True)
class PlainPrediction:
    """What plain LogGOPS says.

    Attributes:
        parameters: Those that were used.
        makespan_s: When the last rank ends.
        finish_s: When each rank ends.
        parts_s: What each rank's time consists of, by part (as `Prediction.parts_s`).
        ended_sends: As `Prediction.ended_sends`.
    """

    parameters: LogGOPS
    makespan_s: float
    finish_s: np.ndarray
    parts_s: dict[str, np.ndarray]
    ended_sends: int = 0

    @property
    def waiting_s(self) -> np.ndarray:
        """Of each rank."""
        return self.parts_s["waiting"]


def predict_plain(schedule: _core.schedule.Schedule, parameters: LogGOPS) -> PlainPrediction:
    """Replay with plain LogGOPS: finish times are LogGOPSim's of the same schedule.

    Raises:
        RankwiseError: Deadlock, or messages that no wildcard took.
    """
    arguments = asdict(parameters)
    if parameters.S_bytes is None:
        arguments["S_bytes"] = _UNLIMITED
    result = schedule.replay_loggops(**arguments)
    parts_s = {part: times for part, times in result.parts_s.items() if part in _PARTS}
    return PlainPrediction(parameters, result.makespan_s, result.finish_s, parts_s, result.ended_sends)


def gains(schedule: _core.schedule.Schedule, prediction: PlainPrediction) -> dict[str, float]:
    """By how much the makespan falls, in seconds, if one parameter were 0, each by itself; by parameter."""
    changes: dict[str, dict[str, Any]] = {
        "L": {"L_s": 0.0},
        "o": {"o_s": 0.0},
        "g": {"g_s": 0.0},
        "G": {"G_s_per_byte": 0.0},
        "O": {"O_s_per_byte": 0.0},
        "S": {"S_bytes": None},
    }
    found = {}
    for key, change in changes.items():
        parameters = replace(prediction.parameters, **change)
        if parameters != prediction.parameters:
            found[key] = prediction.makespan_s - predict_plain(schedule, parameters).makespan_s
    return found
