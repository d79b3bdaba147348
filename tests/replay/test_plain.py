# SPDX-License-Identifier: BSD-3-Clause
"""Plain LogGOPS parameters as typed, and what each of them costs."""

from dataclasses import asdict

import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.replay.plain import LogGOPS, gains, predict_plain

SCHEDULE = _core.schedule.Schedule.read_goal(
    "num_ranks 2\nrank 0 {\nsend 11b to 1\n}\nrank 1 {\nrecv 11b from 0\n}\n", "x.goal"
)


def test_units_and_plain_nanoseconds_are_the_same():
    with_units = asdict(LogGOPS.parse("L=2us, o=1.5us,g=1us,G=6ns/B,O=0.5ns/B,S=64KiB"))
    assert asdict(LogGOPS.parse("L=2000,o=1500,g=1000,G=6,O=0.5,S=65536")) == pytest.approx(with_units)
    assert LogGOPS.parse("L=1") == LogGOPS(L_s=1e-9, S_bytes=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L", "`` in `--loggops L` is not a value of L"),
        ("L=1us,l=2", "`l=2` in `--loggops L=1us,l=2` is not one of L, o, g, G, O, S"),
        ("L=1us,L=2us", "says `L` twice"),
        ("G=1us", "`1us` in `--loggops G=1us` is not a value of G"),
        ("S=-1", "is not a value of S"),
        ("S=1e400", "is not a value of S"),
        ("S=1.5", "`1.5` in `--loggops S=1.5` is no whole number of bytes"),
    ],
)
def test_what_is_none_is_refused(text, expected):
    with pytest.raises(RankwiseError) as error:
        LogGOPS.parse(text)
    assert expected in str(error.value)
    assert error.value.status == 2


def test_one_message_takes_two_overheads_latency_and_bytes():
    prediction = predict_plain(SCHEDULE, LogGOPS.parse("L=2us,o=1us,g=0,G=6,O=0"))
    assert prediction.makespan_s == pytest.approx(4e-6 + 10 * 6e-9)
    assert prediction.finish_s.tolist() == [1e-6, prediction.makespan_s]
    assert gains(SCHEDULE, prediction) == pytest.approx({"L": 2e-6, "o": 2e-6, "G": 60e-9})
