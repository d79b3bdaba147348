# SPDX-License-Identifier: BSD-3-Clause
"""The table of network time from raw files with known contents, and recordings that have none."""

import pytest
from raw_writer import Rank, RawFile, write_recording

from rankwise.recording import Recording
from rankwise.recording.layouts import (
    FORMAT_OLDEST,
    NETWORK_PROGRESS,
    NETWORK_RECEIVE,
    NETWORK_SEND,
    NETWORK_WAIT,
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
        (0, "a", "127.0.0.1", "send", False, 2, 20, pytest.approx(1e-7)),
        (0, "b", "10.0.0.2", "send", True, 7, 700, pytest.approx(2e-6)),
        (0, "b", "10.1.0.2", "send", True, 1, 50, pytest.approx(5e-7)),
        (0, None, "10.0.0.9", "receive", True, 1, 9, pytest.approx(9e-8)),
        (0, None, None, "wait", False, 3, 0, pytest.approx(5e-6)),
        (1, "a", "10.0.0.1", "progress", True, 4, 0, pytest.approx(4e-7)),
        (1, "a", "10.0.0.1", "receive", True, 10, 750, pytest.approx(3.6e-6)),
        (1, None, None, "wait", False, 3, 0, pytest.approx(5e-6)),
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
    lines = render(report).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("Network time"))
    assert lines[at + 1].split() == ["b", "-", "a", "0", "s", "3.6", "us", "0", "B", "750", "B", "10"]


def test_a_recording_of_the_format_before_is_read_and_has_none(tmp_path):
    file = RawFile(version=FORMAT_OLDEST)
    rank = Rank(0, 1)
    rank.send(0, 10)
    file.add(rank)
    file.write(tmp_path / "raw" / "n0.rwn")
    recording = Recording.open(tmp_path)
    assert (recording.messages["bytes"].sum(), len(recording.network_time)) == (10, 0)
    assert recording.context["network"] == {"ranks": 0, "why": "it was recorded by an older Rankwise"}
    assert "not known of any rank: it was recorded by an older Rankwise" in render(build(recording))
