# SPDX-License-Identifier: BSD-3-Clause
"""What the interfaces count of a known stream of messages: the messages, headers of frames, and what libraries add."""

import json

import mpis
import polars as pl
import pytest
from accuracy.state import HEADER_BYTES

from rankwise.recording import Recording

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


@pytest.mark.parametrize("name", ["mpich-5.0.2", pytest.param("openmpi-5.0.11", marks=pytest.mark.slow)])
def test_network_time_has_the_bytes_that_interfaces_count(lab, compiled, name):
    # GIVEN two ranks on each of four nodes, and messages from rank 0 to one of another node
    library, count = mpis.named(name), 2000
    program = compiled(library, "stream_between_nodes.c")
    place, said = lab.directory / f"{name}.rw", lab.directory / f"{name}.json"
    # WHEN it is recorded
    words = ["-n", 8, "--allocation", "cyclic", "--record", place, "-o", said]
    done = lab("run", *words, "--", program, BYTES, count)
    assert done.returncode == 0, done.stderr
    nodes = [f"rw-lab-node{at}" for at in (0, 3)]
    recording = Recording.open(place)
    table = recording.network_time.drop_nulls("node")
    of_rank = table.join(recording.ranks.select("rank", "host"), on="rank")
    through, of_rank = of_rank.filter(transport="UCX"), of_rank.filter(transport="sockets")

    def moved(kind, own, peer):
        kept = (pl.col("kind") == kind) & (pl.col("host") == own) & (pl.col("node") == peer)
        return of_rank.filter(kept)["bytes"].sum()

    # THEN what one node sent is what the other received, and the messages with what the library adds to each
    assert moved("send", *nodes) == moved("receive", *reversed(nodes))
    assert moved("send", *reversed(nodes)) == moved("receive", *nodes)
    least = count * (BYTES + ADDED[name])
    assert least <= moved("send", *nodes) <= least + 20_000
    # AND where the library goes through UCX, that was given the messages alone
    given = through.filter(kind="send", host=nodes[0], node=nodes[1])["bytes"].sum()
    assert given == 0 if through.is_empty() else count * BYTES <= given <= count * BYTES + 20_000
    # AND the interface counted that much, without the headers of its frames, and what launching took
    interface = next(each for each in json.loads(said.read_text())["interfaces"] if each["host"] == nodes[0])
    carried = interface["tx_bytes"] - HEADER_BYTES * interface["tx_packets"]
    sent = of_rank.filter(
        (pl.col("kind") == "send") & (pl.col("host") == nodes[0]) & (pl.col("node") != nodes[0])
    )
    assert sent["bytes"].sum() <= carried <= (1 + AGAIN) * sent["bytes"].sum()
