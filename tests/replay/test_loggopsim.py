# SPDX-License-Identifier: BSD-3-Clause
"""Finish times of every host as LogGOPSim gives them (`loggopsim/`, which says where they come from)."""

import json
from pathlib import Path

import pytest
from rankwise._core.schedule import Schedule

FILES = Path(__file__).parent / "loggopsim"
VECTORS = json.loads((FILES / "finish_times.json").read_text())


def finish_ns(schedule, parameters: dict) -> list[float]:
    result = schedule.replay_loggops(
        L_s=parameters["L"] * 1e-9,
        o_s=parameters["o"] * 1e-9,
        g_s=parameters["g"] * 1e-9,
        G_s_per_byte=parameters["G"] * 1e-9,
        O_s_per_byte=parameters["O"] * 1e-9,
        S_bytes=parameters["S"],
    )
    return [round(time * 1e12) / 1000 for time in result.finish_s]


@pytest.mark.parametrize("parameters", VECTORS["parameters_ns"])
@pytest.mark.parametrize("name", VECTORS["finish_ns"])
def test_finish_times_are_those_of_loggopsim(name, parameters):
    # GIVEN a GOAL file that LogGOPSim replayed with these parameters
    schedule = Schedule.read_goal((FILES / f"{name}.goal").read_text(), name)
    expected = VECTORS["finish_ns"][name][parameters]
    # THEN every host ends at the same nanosecond, from text and from binary
    assert finish_ns(schedule, VECTORS["parameters_ns"][parameters]) == expected
    again = Schedule.read_goal_binary(schedule.write_goal_binary(), name)
    assert finish_ns(again, VECTORS["parameters_ns"][parameters]) == expected


def test_every_file_has_finish_times():
    assert {path.stem for path in FILES.glob("*.goal")} == set(VECTORS["finish_ns"])
