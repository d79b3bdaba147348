# SPDX-License-Identifier: BSD-3-Clause
"""Packing events: what is packed is read again, also where shapes are too many or too long to be remembered."""

import numpy as np
import pytest
from rankwise._core import trace
from raw_writer import CALL_NUMBERS, u, z

from rankwise.errors import RankwiseError
from rankwise.recording.layouts import MODEL_SHAPES

SEND = u(CALL_NUMBERS["MPI_Send"])


def packed(shapes: list[bytes], of: list[int], gaps: list[int], durations: list[int]) -> bytes:
    columns = (np.array(gaps, np.uint64), np.array(durations, np.uint64))
    return trace.pack(shapes, np.array(of, np.uint32), *columns)


def test_events_come_back_as_they_were():
    # GIVEN sends of three sizes with times of any length
    shapes = [SEND + u(0) + z(peer) + z(7) + u(size) for peer, size in ((1, 8), (2, 300), (3, 1 << 40))]
    of, gaps, durations = [0, 1, 0, 2, 2], [5, 0, 1 << 50, 127, 128], [3, 2**63, 0, 1, 2]
    # WHEN packed and read
    found = trace.decode(packed(shapes, of, gaps, durations))
    # THEN
    assert found["problem"] == ""
    assert found["send_peer"].tolist() == [1, 2, 1, 3, 3]
    assert found["send_bytes"].tolist() == [8, 300, 8, 1 << 40, 1 << 40]
    assert found["gap_ticks"].tolist() == gaps
    assert found["duration_ticks"].tolist() == durations


def test_the_bytes_are_those_of_the_format():
    # GIVEN one send twice THEN it is new, then known by its number
    shape = SEND + u(0) + z(1) + z(0) + u(8)
    assert packed([shape], [0, 0], [5, 6], [3, 4]) == b"\xf0" + shape + b"\x05\x03" + b"\xf1\x00\x06\x04"


def test_more_shapes_than_are_remembered():
    # GIVEN more shapes than the format numbers, twice in a row
    count = MODEL_SHAPES + 10
    shapes = [SEND + u(0) + z(1) + z(0) + u(size) for size in range(count)]
    of = [*range(count), *range(count)]
    # WHEN packed and read
    found = trace.decode(packed(shapes, of, [1] * len(of), [2] * len(of)))
    # THEN
    assert found["problem"] == ""
    assert found["send_bytes"].tolist() == of


def test_a_shape_too_long_to_be_remembered():
    # GIVEN an MPI_Waitall of 600 sends
    begun = u(CALL_NUMBERS["MPI_Isend"]) + u(0) + z(1) + z(0) + u(8)
    waitall = u(CALL_NUMBERS["MPI_Waitall"]) + u(600) + b"".join(u(back) + u(0) for back in range(600, 0, -1))
    # WHEN packed and read twice
    of = ([0] * 600 + [1]) * 2
    found = trace.decode(packed([begun, waitall], of, [0] * len(of), [1] * len(of)))
    # THEN all completions are there
    assert found["problem"] == ""
    assert found["completion_request"].tolist() == list(range(1200))


@pytest.mark.parametrize(("of", "gaps"), [([0, 0], [1]), ([1], [1])])
def test_what_is_no_table_is_refused(of, gaps):
    with pytest.raises(RankwiseError):
        packed([SEND + u(0) + z(1) + z(0) + u(8)], of, gaps, [1] * len(of))
