# SPDX-License-Identifier: BSD-3-Clause
"""What the interfaces count of a known stream of messages: the messages, headers of frames, and what libraries add."""

import mpis
import pytest
from accuracy.state import HEADER_BYTES

pytestmark = [pytest.mark.root, pytest.mark.mpi]

BYTES, COUNT = 1000, 200
# UCX: 5 bytes of its TCP and 8 of the tag; Open MPI: 8 of its TCP and 14 to match.
ADDED = {"mpich-5.0.2": 13, "openmpi-5.0.11": 22}
AGAIN = 0.05  # TCP sends again what it takes for lost where a machine is busy


@pytest.mark.parametrize("name", ADDED)
def test_interfaces_count_messages_headers_and_what_the_library_adds(lab, compiled, name):
    library = mpis.named(name)
    # WHEN a rank sends messages to another node, and reads the interface's counters before and after
    program = compiled(library, "stream_between_nodes.c")
    done = lab("run", "-n", 2, "--allocation", "cyclic", "--", program, BYTES, COUNT)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    told = {(rank, when): [int(number) for number in numbers] for rank, when, *numbers in lines}
    before, after = told["0", "first"], told["0", "sent"]
    sent, frames = after[0] - before[0], after[1] - before[1]
    # THEN all is accounted for: the messages, a header a frame, and the library's own (of the barrier's message too)
    least = COUNT * BYTES + HEADER_BYTES * frames + ADDED[name] * COUNT
    assert least <= sent <= least + ADDED[name] + AGAIN * COUNT * BYTES
