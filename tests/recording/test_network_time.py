# SPDX-License-Identifier: BSD-3-Clause
"""The table of network time from raw files with known contents, and recordings that have none."""

import polars as pl
import pytest
from raw_writer import Rank, RawFile, write_recording

from rankwise.recording import Recording
from rankwise.recording.layouts import (
    FORMAT_OLDEST,
    NETWORK_PROGRESS,
    NETWORK_RECEIVE,
    NETWORK_SEND,
    NETWORK_WAIT,
    TRANSPORT_LIBFABRIC,
    TRANSPORT_UCX,
)
from rankwise.report.build import build
from rankwise.report.text import render


def two_nodes():
    """Ranks 0 and 1 of two nodes, of which the second has two addresses."""
    ranks = [Rank(0, 2, host="a"), Rank(1, 2, host="b")]
    for rank in ranks:
        rank.sockets(None, None, NETWORK_WAIT, 3, 0, 5_000, inside=False)
    ranks[0].sockets("10.0.0.1", "10.0.0.2", NETWORK_SEND, 7, 700, 2_000)
    ranks[0].sockets("10.0.0.1", "10.1.0.2", NETWORK_SEND, 1, 50, 500)
    ranks[0].sockets("127.0.0.1", "127.0.0.1", NETWORK_SEND, 2, 20, 100, inside=False)
    ranks[0].sockets("10.0.0.1", "10.0.0.9", NETWORK_RECEIVE, 1, 9, 90)
    ranks[1].sockets("10.0.0.2", "10.0.0.1", NETWORK_RECEIVE, 9, 700, 3_000)
    ranks[1].sockets("10.0.0.2", "10.0.0.1", NETWORK_PROGRESS, 4, 0, 400)
    ranks[1].sockets("10.1.0.2", "10.0.0.1", NETWORK_RECEIVE, 1, 50, 600)
    return ranks


def test_peers_are_the_nodes_whose_addresses_they_are(tmp_path):
    # GIVEN two nodes WHEN their table is made
    recording = Recording.open(write_recording(tmp_path, two_nodes()))
    # THEN each address is that of the node that has it as its own, the loopback that of the rank's own, others none
    assert recording.network_time.rows() == [
        (0, "sockets", "a", "127.0.0.1", "send", False, 2, 20, pytest.approx(1e-7), 0),
        (0, "sockets", "b", "10.0.0.2", "send", True, 7, 700, pytest.approx(2e-6), 0),
        (0, "sockets", "b", "10.1.0.2", "send", True, 1, 50, pytest.approx(5e-7), 0),
        (0, "sockets", None, "10.0.0.9", "receive", True, 1, 9, pytest.approx(9e-8), 0),
        (0, "sockets", None, None, "wait", False, 3, 0, pytest.approx(5e-6), 0),
        (1, "sockets", "a", "10.0.0.1", "progress", True, 4, 0, pytest.approx(4e-7), 0),
        (1, "sockets", "a", "10.0.0.1", "receive", True, 10, 750, pytest.approx(3.6e-6), 0),
        (1, "sockets", None, None, "wait", False, 3, 0, pytest.approx(5e-6), 0),
    ]
    assert recording.context["network"] == {"ranks": 2, "why": None}


def test_the_report_has_it_by_rank_and_between_nodes(tmp_path):
    report = build(Recording.open(write_recording(tmp_path, two_nodes())))
    between = [(pair.host, pair.peer_host, pair.address) for pair in report.network.pairs]
    assert between == [(1, 0, None), (0, 1, None), (0, 0, None), (0, None, "10.0.0.9")]
    to_b = report.network.pairs[1]
    assert (to_b.send_calls, to_b.send_bytes, to_b.receive_calls) == (8, 750, 0)
    assert [(rank.sent_bytes, rank.received_bytes) for rank in report.network.ranks] == [(770, 9), (0, 750)]
    assert [rank.wait_s for rank in report.network.ranks] == pytest.approx([5e-6, 5e-6])
    lines = render(report, verbose=True).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("Network time"))
    assert lines[at + 2].split() == [
        "b",
        "-",
        "a",
        "sockets",
        "0",
        "s",
        "3.6",
        "us",
        "0",
        "B",
        "750",
        "B",
        "10",
    ]


def test_an_address_that_several_hosts_have_is_no_nodes(tmp_path):
    # GIVEN two hosts with the bridge's address, that each uses to itself, and a third that reaches one of them
    ranks = [Rank(0, 3, host="a"), Rank(1, 3, host="b"), Rank(2, 3, host="c")]
    for rank in ranks[:2]:
        rank.sockets("172.17.0.1", "172.17.0.1", NETWORK_SEND, 1, 10, 100)
    ranks[2].sockets("10.0.0.3", "172.17.0.1", NETWORK_SEND, 11, 110, 100)
    # WHEN their table is made
    table = Recording.open(write_recording(tmp_path, ranks)).network_time
    # THEN what goes to itself is its own host's, and of the third it is not known whose it is
    assert table.select("rank", "node", "address").rows() == [
        (0, "a", "172.17.0.1"),
        (1, "b", "172.17.0.1"),
        (2, None, "172.17.0.1"),
    ]


def over_ucx():
    """Ranks 0 and 1 of two nodes that know each other's workers; rank 0 also reaches one that nobody has."""
    ranks = [Rank(0, 2, host="a"), Rank(1, 2, host="b")]
    for rank, own, peer in ((ranks[0], 0xA, 0xB), (ranks[1], 0xB, 0xA)):
        rank.own_address(TRANSPORT_UCX, own)
        rank.transport(TRANSPORT_UCX, None, NETWORK_RECEIVE, 6, 0, 100, unsized=6)
        rank.transport(TRANSPORT_UCX, None, NETWORK_WAIT, 9, 0, 9_000)
        rank.transport(TRANSPORT_UCX, peer, NETWORK_SEND, 5, 500, 1_000)
        rank.sockets("10.0.0.1", "10.0.0.2", NETWORK_SEND, 5, 565, 0)
    ranks[0].transport(TRANSPORT_UCX, 0xC, NETWORK_SEND, 1, 7, 10)
    # the same hash means another address where the transport is another one
    ranks[0].transport(TRANSPORT_LIBFABRIC, 0xB, NETWORK_SEND, 2, 8, 20)
    return ranks


def test_peers_of_other_transports_are_the_ranks_that_own_their_addresses(tmp_path):
    # GIVEN such ranks WHEN their table is made
    table = Recording.open(write_recording(tmp_path, over_ucx())).network_time
    # THEN an address is the node of the rank that owns it within the transport, others are nobody's
    of_rank_0 = table.filter(pl.col("transport") != "sockets", rank=0).drop("time_s", "inside_mpi").rows()
    assert of_rank_0 == [
        (0, "UCX", "b", "000000000000000b", "send", 5, 500, 0),
        (0, "UCX", None, "000000000000000c", "send", 1, 7, 0),
        (0, "UCX", None, None, "receive", 6, 0, 6),
        (0, "UCX", None, None, "wait", 9, 0, 0),
        (0, "libfabric", None, "000000000000000b", "send", 2, 8, 0),
    ]


def test_the_report_says_which_transport_it_was(tmp_path):
    report = build(Recording.open(write_recording(tmp_path, over_ucx())))
    # what is not known is null, and no sum over transports counts bytes twice
    found = [
        (rank.rank, rank.transport, rank.sent_bytes, rank.received_bytes) for rank in report.network.ranks
    ]
    assert found == [
        (0, "UCX", 507, None),
        (0, "libfabric", 8, 0),
        (0, "sockets", 565, 0),
        (1, "UCX", 500, None),
        (1, "sockets", 565, 0),
    ]
    lines = [line.split() for line in render(report, verbose=True).splitlines()]
    assert ["a", "-", "b", "UCX", "1", "us", "0", "s", "500", "B", "0", "B", "5"] in lines
    assert ["a", "-", "any", "UCX", "0", "s", "100", "ns", "0", "B", "-", "6"] in lines


def test_a_recording_of_the_format_before_is_read_and_has_none(tmp_path):
    file = RawFile(version=FORMAT_OLDEST)
    rank = Rank(0, 1)
    rank.send(0, 10)
    file.add(rank)
    file.write(tmp_path / "raw" / "n0.rwn")
    recording = Recording.open(tmp_path)
    assert (recording.messages["bytes"].sum(), len(recording.network_time)) == (10, 0)
    assert recording.context["network"] == {"ranks": 0, "why": "it was recorded by an older Rankwise"}
    assert "not known of any rank: it was recorded by an older Rankwise" in render(
        build(recording), verbose=True
    )
