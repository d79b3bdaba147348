# SPDX-License-Identifier: BSD-3-Clause
"""The report's data and its terminal view, on recordings with known answers."""

import io
import json
import re

import jsonschema
import msgspec
import numpy as np
import pytest
from raw_writer import MANIFEST, Rank, write_recording
from rich.console import Console

from rankwise.errors import RankwiseError
from rankwise.findings.place_words import place_text, short_function
from rankwise.placement import file as placement_file
from rankwise.placement.distribution import CommMatrix
from rankwise.placement.simple import allocate
from rankwise.recording import Recording
from rankwise.report import data
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.matrix import coarser, detailed
from rankwise.report.placements import Asked, asked_placements
from rankwise.report.text import distribution, render
from rankwise.report.text.matrix import digit
from rankwise.report.text.tables import table


def report_of(path, **asked):
    recording = Recording.open(path)
    return build(recording, asked_placements(recording, Asked(**asked)))


def shares(placed, part=None):
    part = part or placed.distribution.total
    return {share.channel: share.message_share for share in part.channels}


def test_the_placement_it_ran_with_gives_the_even_distribution(record):
    # GIVEN a pairwise exchange of 16 ranks bound to the cores of 4 nodes, and 3 allreduces of 8 bytes
    report = report_of(record())
    # THEN the exchange, which is all there is above 256 bytes, is distributed 1/15, 2/15, 12/15
    (ran,) = report.distributions
    (exchange,) = [part for part in ran.distribution.ranges if part.up_to_bytes == 4096]
    assert exchange.messages == 16 * 15
    assert shares(ran, exchange) == pytest.approx({"package": 1 / 15, "node": 2 / 15, "network": 12 / 15})
    assert {each.channel: each.share for each in ran.distribution.even} == pytest.approx(
        shares(ran, exchange)
    )
    assert ran.distribution.unbound_ranks == 0


def test_it_says_that_times_of_threads_are_added_up(tmp_path):
    # GIVEN two threads of a rank that were in MPI_Wait at once, most of the run
    threads = [Rank(0, 1), Rank(0, 1, thread=1, flags=0)]
    for thread in threads:
        thread.count("MPI_Wait", ns=800_000_000)
    report = report_of(write_recording(tmp_path / "threads.rw", threads))
    # THEN the function's share of the run is that of both, and the report says why
    assert report.calls[0].share > 1
    assert [note for note in report.notes if note.startswith("Up to 2 threads of a rank called MPI: ")]


def test_times_and_counts_are_those_recorded(record):
    report = report_of(record())
    # Rank r was in MPI_Wait for (r + 1) * 10 ms of its 2 s, in 15 sends of 1 us, and in 3 us of allreduce.
    assert report.program.elapsed_s == pytest.approx(2)
    assert report.ranks.mpi_s[15] == pytest.approx(0.160018)
    assert report.summary.mpi_share == pytest.approx((8.5e-2 + 18e-6) / 2)
    wait, send = report.calls[0], next(call for call in report.calls if call.call == "MPI_Send")
    assert (wait.call, wait.count, wait.max_s) == ("MPI_Wait", 16, pytest.approx(0.16))
    assert (send.count, send.bytes) == (240, 240 * 1024)
    (allreduce,) = report.collectives
    assert (allreduce.call, allreduce.calls, allreduce.ranks_min, allreduce.bytes_max) == (
        "MPI_Allreduce",
        48,
        16,
        8,
    )
    assert allreduce.messages == report.summary.collective_messages > 0
    assert report.gaps == []


def test_the_matrix_has_every_message_once(record):
    report = report_of(record())
    matrix = report.matrix
    assert sum(matrix.bytes) == report.summary.bytes
    assert sum(matrix.messages) == report.summary.messages
    small = coarser(matrix, 4)
    assert (small.groups, small.ranks_per_group) == (4, 4)
    assert sum(small.bytes) == report.summary.bytes


def test_asked_allocations_follow_the_description(record):
    # GIVEN the node of the paper in OS core order
    report = report_of(
        record(), nodes="4x4", node="package:2 core:2(indexes=0,2,1,3)", allocations=["blocked", "cyclic"]
    )
    # THEN each allocation is there, with cores in OS order because the description numbers them
    assert [placed.name for placed in report.distributions] == ["as it ran", "4x4 blocked", "4x4 cyclic"]
    assert [placed.core_order for placed in report.distributions] == [None, "os", "os"]


def test_the_recordings_own_nodes_are_the_default(record):
    path = record()
    report = report_of(path, allocations=["cyclic"])
    assert report.distributions[1].name == "4x4 cyclic"
    assert report.distributions[1].nodes == report.distributions[0].nodes
    assert report_of(path, nodes="8x2").distributions[1].name == "8x2 blocked"
    assert report_of(path, node="core:8").distributions[1].name == "2x8 blocked"


def test_a_placement_file_is_shown_on_the_recordings_nodes(record, tmp_path):
    # GIVEN a placement made for the recording's own nodes
    path = record()
    node = Recording.open(path).topology.nodes[0]
    placement, _ = allocate(16, 4, 4, node, "cyclic")
    placement_file.save(placement, tmp_path / "p.placement.json")
    # THEN it gives what the allocation gives
    by_file = report_of(path, placement=str(tmp_path / "p.placement.json")).distributions[1]
    by_name = report_of(path, nodes="4x4", allocations=["cyclic"]).distributions[1]
    assert by_file.distribution == by_name.distribution


def test_a_placement_for_other_nodes_or_ranks_is_refused(record, tmp_path):
    from rankwise.machine.topology import from_synthetic

    path = record()
    others = r"`node0`, `node1`, `node2` and 1 more: .* \(in the recording: 2 packages, 4 cores\)"
    for ranks, words in ((16, others), (8, "places 8 ranks, the recording has 16")):
        placement, _ = allocate(ranks, 4, 4, from_synthetic("package:4 core:1"))
        placement_file.save(placement, tmp_path / "p.placement.json")
        with pytest.raises(RankwiseError, match=words):
            report_of(path, placement=str(tmp_path / "p.placement.json"))


def test_it_says_which_ranks_are_where(record):
    # GIVEN 16 ranks on 4 nodes, and the same dealt to 16 nodes with one rank each
    report = report_of(record(), nodes="16x1", node="core:1")
    ran, dealt = report.distributions
    # THEN all nodes are in the data, and the terminal has the first four
    assert [(seat.node, seat.ranks, seat.cores) for seat in ran.seats] == [
        (f"n{node}", f"{4 * node}-{4 * node + 3}", "0-3") for node in range(4)
    ]
    assert len(dealt.seats) == 16
    text = render(report, verbose=True)
    assert "\n  n3: ranks 12-15 on cores 0-3\n" in text
    assert "\n  node3: rank 3 on core 0\n  and 12 more nodes; HTML and JSON have all\n" in text
    assert '<td>node15</td><td class="text numbers-text">15</td>' in render_html(report)


def test_ranks_that_may_use_several_cores_are_said_to(record):
    report = report_of(record(bound=False))
    assert report.distributions[0].seats[0] == data.Seat("n0", "0-3", "any of 0-3")


def test_unbound_ranks_are_said_and_not_guessed(record):
    report = report_of(record(bound=False))
    (ran,) = report.distributions
    exchange = ran.distribution.ranges[1]
    assert shares(ran, exchange) == pytest.approx({"package": 0, "node": 0, "network": 0.8, "unbound": 0.2})
    assert report.notes[0].startswith("The ranks were not bound to cores: ")
    assert "not known" in render(report, verbose=True)


def test_what_is_not_recorded_is_on_the_first_screen(record):
    report = report_of(record(broken=True))
    assert [gap.what for gap in report.gaps] == ["the end of rank 3", "the end of ranks 5, 6"]
    first_screen = render(report).splitlines()[:24]
    hung = "the last call was MPI_Recv, which did not return (entered 1.5 s after MPI_Init)"
    assert hung in report.gaps[1].why
    assert any("rank 3 called MPI_Abort" in line for line in first_screen[1:])


def test_without_topology_the_report_says_how_to_get_a_distribution(record):
    path = record()
    for file in (path / "raw").glob("*.topology.tar"):
        file.unlink()
    report = report_of(path)
    assert report.distributions == []
    assert "--nodes 4x4 --node 'package:2 core:2'" in render(report, verbose=True)
    with pytest.raises(RankwiseError, match="`--node` is needed"):
        report_of(path, nodes="4x4")
    assert len(report_of(path, nodes="4x4", node="package:2 core:2").distributions) == 1


@pytest.mark.parametrize("ranks", [1, 2, 16, 33, 100])
def test_the_terminal_view_keeps_to_80_columns(record, ranks):
    report = report_of(record(ranks, per_node=4, bound=False), node="package:2 l3:2 core:4")
    for text in (render(report), render(report, verbose=True)):
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text
        assert "\033[" not in text
    assert "\033[" in render(report, colour=True)


def test_digits_halve():
    assert [digit(size, 1024) for size in (1024, 513, 512, 257, 256, 3, 2, 1)] == [9, 9, 8, 8, 7, 1, 0, 0]


def test_json_comes_back_as_the_types_and_fits_the_schema(record):
    report = report_of(record(), nodes="4x4")
    content = data.to_dict(report)
    assert next(iter(content)) == "schema"
    jsonschema.validate(content, data.json_schema())
    assert msgspec.convert(content, data.ReportData) == report


def test_few_pairs_of_many_ranks_are_not_aggregated():
    rank, ones = np.arange(1000), np.ones(1000, np.int64)
    whole = detailed(CommMatrix(rank, (rank + 1) % 1000, ones, ones, ones), [0] * 1000)
    assert (whole.groups, whole.ranks_per_group, len(whole.source), whole.members) == (1000, 1, 1000, [])


@pytest.mark.parametrize(
    ("nodes", "groups", "members"),
    [
        # Nodes of 50 ranks are in parts, of which none is of two nodes,
        (20, 200, {5}),
        # nodes of 4 are whole,
        (250, 250, {4}),
        # and of more nodes than rows some are together.
        (500, 250, {4}),
    ],
)
def test_groups_end_where_nodes_end(nodes, groups, members):
    # GIVEN more pairs than a page has, and ranks dealt to nodes in turn
    hosts = [rank % nodes for rank in range(1000)]
    source, step = (each.ravel() for each in np.indices((1000, 500)))
    ones = np.ones(len(source), np.int64)
    # WHEN
    found = detailed(CommMatrix(source, (source + step) % 1000, ones, ones, ones), hosts)
    # THEN
    assert (found.groups, {len(each) for each in found.members}) == (groups, members)
    assert sorted(sum(found.members, [])) == list(range(1000))
    assert sum(found.messages) == 500_000
    if nodes <= groups:
        assert all(len({hosts[rank] for rank in each}) == 1 for each in found.members)
    # AND fewer, larger groups are of neighbours, and the terminal has them
    small = coarser(found, 32)
    assert small.groups <= 32 and sum(small.messages) == 500_000
    assert small.members[0][: len(found.members[0])] == found.members[0]


def test_rows_of_digits_that_are_of_two_nodes_are_not_said_to_be_by_node(record):
    # GIVEN three nodes in 85 parts each, and rows of eight parts
    hosts = [rank % 3 for rank in range(1020)]
    source, step = (each.ravel() for each in np.indices((1020, 500)))
    ones = np.ones(len(source), np.int64)
    found = detailed(CommMatrix(source, (source + step) % 1020, ones, ones, ones), hosts)
    rows = coarser(found, 32).members
    assert any(len({hosts[rank] for rank in row}) == 2 for row in rows)
    # WHEN
    text = render(msgspec.structs.replace(report_of(record()), matrix=found), section="matrix")
    # THEN
    assert "bytes sent, up to 32 ranks a row, to whom by column" in text and "by node" not in text
    assert "node after node; a row may have ranks of two" in text


def test_the_widest_distribution_is_not_cut():
    # GIVEN two cache channels and ranks that are not bound
    import numpy as np

    from rankwise.machine.placement import Placement
    from rankwise.machine.topology import Topology, from_synthetic
    from rankwise.placement.distribution import CommMatrix, message_distribution

    nodes = Topology.of(from_synthetic("package:2 l3:2 l2:2 core:2"), 2)
    placement = Placement.from_bindings(nodes, [0, 0, 0, 1], [[0], [1], range(16), [0]])
    source, destination = (each.ravel() for each in np.indices((4, 4)))
    sizes = np.full(16, 262144)
    messages = CommMatrix(source, destination, sizes, source + 1, sizes * (source + 1))
    found = message_distribution(messages, placement.locations(nodes), unbound_ranks=1)
    placed = data.PlacedDistribution("as it ran", "recorded", "2 nodes", None, [], found)
    # WHEN shown
    console = Console(width=80, file=io.StringIO(), highlight=False)
    for part in distribution.one(placed):
        console.print(part)
    text = console.file.getvalue()
    # THEN every number is whole, and ranks together are given where averages differ from them
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for words in (
        "by L2 by L3",
        "not known",
        "64-256 KiB",
        "ranks together",
        "1 of 4 ranks had several cores",
    ):
        assert words in text


def test_where_all_is_in_one_channel_there_is_one_sentence(record):
    # GIVEN 4 ranks on one node, asked for on one package of it
    for node, way in (
        ("package:1 core:4", "stayed inside a package (intra-CMP)"),
        ("package:1 l3:2 core:4", "went between cores sharing L3"),
    ):
        report = report_of(record(ranks=4, name=f"{len(node)}.rw"), nodes="1x4", node=node)
        sentence = f"ll 12.5 kB, in 36 messages, {way}"
        # THEN neither the terminal nor the page has a table of it
        placed = report.distributions[1]
        only = msgspec.structs.replace(report, distributions=[placed])
        text = render(only, section="distribution")
        assert f"a{sentence}" in " ".join(text.split()) and "if even" not in text
        page = render_html(only)
        assert f"A{sentence}" in page and "Share of messages" not in page
    # AND where it is not, there is
    assert "if even" in render(report_of(record()), section="distribution")


def test_the_page_explains_what_it_shows_and_no_more(record):
    # GIVEN ranks on four nodes, and the same on two; one size of arguments
    page = render_html(report_of(record(ranks=4, per_node=1), nodes="2x2"))
    # THEN channels are explained where there are several, once, and no sizes below others
    assert page.count("Which channel messages travel") == 1
    assert page.index("Which channel messages travel") > page.index("Message distribution, 2x2 blocked")
    assert "Where the arguments of its calls are of several sizes" not in page


def test_collectives_are_shown_by_the_size_of_their_arguments(tmp_path):
    # GIVEN reductions of a size with one algorithm, and of two sizes with another one
    ranks = [Rank(me, 4) for me in range(4)]
    for rank in ranks:
        rank.collective("MPI_Allreduce", 8, times=3, ns=1000)
        rank.collective("MPI_Allreduce", 1024, times=1, ns=5000)
        rank.collective("MPI_Allreduce", 1 << 20, times=1, ns=90_000)
    path = write_recording(tmp_path / "sizes.rw", ranks)
    setting = {"settings": {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"}}
    (path / "recording.json").write_text(json.dumps(MANIFEST | setting))
    report = report_of(path)
    # THEN each has its calls and their time by size
    large, small = report.collectives
    assert large.algorithm != small.algorithm
    assert [(each.over_bytes, each.up_to_bytes, each.calls, each.bytes) for each in large.sizes] == [
        (256, 4096, 4, 4096),
        (262144, None, 4, 4 << 20),
    ]
    assert [(each.over_bytes, each.up_to_bytes, each.calls) for each in small.sizes] == [(None, 256, 12)]
    assert [each.time_s for each in large.sizes] == pytest.approx([20e-6, 360e-6])
    # AND so do the views, which say what the algorithm is told from
    text = " ".join(render(report, section="collectives").split())
    assert "256 B-4 KiB 4 5 us" in text and "over 256 KiB 4 90 us" in text and "0-256 B" not in text
    for said in (text, " ".join(render_html(report).split())):
        assert "MPI does not tell which one it took" in said
        assert "ALGORITHM=ring" in said and "of MPI_Allreduce are those without it" in said


def test_call_sites_are_shown_the_longest_first(tmp_path):
    # GIVEN two ranks that sent from a place in a program, and once from code that belongs to no file
    made = []
    for me in range(2):
        rank = Rank(me, 2, modules=["/nowhere/app"])
        rank.sites = [
            (0, "MPI_Send", 0x40, 3, 300_000_000, 3000),
            (0xFFFFFFFF, "MPI_Send", 0x7F00, 1, 50, 8),
            (0, "MPI_Irecv", 0xC0, 1, 20, 0),
            (0, "MPI_Finalize", 0x80, 1, 10, 0),
        ]
        made.append(rank)
    report = report_of(write_recording(tmp_path / "sites.rw", made))
    # THEN both places are there with what all ranks spent
    first, second, posted, last = report.call_sites
    assert (first.call, first.module, first.offset, first.count) == ("MPI_Send", "/nowhere/app", 0x40, 6)
    assert (first.time_s, first.share) == pytest.approx((0.6, 0.3))
    assert (second.module, second.count) == (None, 2)
    # AND what they sent; what a receive got says the call that completes it
    assert (first.bytes, second.bytes, posted.bytes) == (6000, 16, None)
    # AND what is no part of the run has no share of it
    assert (last.call, last.share) == ("MPI_Finalize", None)
    assert "MPI_Send 300 ms 30.0 % 6 6 kB app +0x40" in " ".join(render(report, verbose=True).split())
    page = render_html(report)
    assert 'title="/nowhere/app"><code>app</code>' in page
    assert "<code>MPI_Send</code> <small>app +0x40</small>" in page
    assert "<b>6 kB</b>" in page
    assert "Bytes of <code>MPI_Irecv</code> are not here: another call completes" in page


def test_call_sites_recorded_before_their_bytes_were_counted_are_read(tmp_path):
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [(0, "MPI_Send", 0x40, 3, 300, None)]
    report = report_of(write_recording(tmp_path / "old.rw", [rank]))
    (site,) = report.call_sites
    assert (site.offset, site.count, site.bytes) == (0x40, 3, None)
    assert "No place has bytes: this recording was made before" in render_html(report)


def test_a_place_is_named_by_function_file_and_line():
    known = data.CallSite(
        "MPI_Send", "/a/app", 64, "exchange", "exchange", "/src/halo.c", 42, 1, None, None, None
    )
    assert place_text(known) == place_text(known, 40) == "exchange, halo.c:42"
    # AND two calls of a function without lines by where they are
    other = msgspec.structs.replace(known, file=None, line=None)
    assert place_text(other) == place_text(other, 40) == "exchange, app +0x40"
    # AND lines and offsets are whole however little room there is
    assert place_text(known, 16) == "exchange, ha…:42"
    nameless = msgspec.structs.replace(other, function=None, module="/lib/libverylong.so.0")
    assert place_text(nameless, 12) == "libve… +0x40"
    # AND without a limit nothing is cut, however long it is
    long = msgspec.structs.replace(known, function="f" * 9000)
    assert place_text(long) == "f" * 9000 + ", halo.c:42"
    assert place_text(nameless) == "libverylong.so.0 +0x40"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("exchange", "exchange"),
        ("LAMMPS_NS::CommBrick::reverse_comm()", "LAMMPS_NS::CommBrick::reverse_comm"),
        ("void ns::sum<std::pair<int, int> >(std::vector<int> const&)", "ns::sum"),
        ("(anonymous namespace)::step(int)", "(anonymous namespace)::step"),
        ("Vector<double>::operator<(Vector<double> const&) const", None),
    ],
)
def test_a_function_is_short_without_what_it_is_given(name, short):
    assert short_function(name) == (short or name)


@pytest.mark.parametrize("times", [1, 10**9])
def test_numbers_and_headings_of_call_sites_are_never_cut(tmp_path, times):
    # GIVEN call sites in a C++ program with long names
    long = "void solver::Multigrid<solver::Stencil<double, 27>, solver::Jacobi>::exchange_all_halos(int, int)"
    module = "/opt/lib/libsolver_of_a_very_long_name_indeed.so.0"
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [(0, "MPI_Neighbor_alltoallw_init", 0x40, times, 123_456_789, 0)]
    report = report_of(write_recording(tmp_path / "sites.rw", [rank]))
    sites = [
        msgspec.structs.replace(
            report.call_sites[0], function=long, symbol="_Z", module=module, offset=0x6912345 + at
        )
        for at in range(2)
    ]
    # WHEN shown in 80 columns
    text = render(msgspec.structs.replace(report, call_sites=sites), section="call-sites")
    # THEN all but the names is whole
    assert max(map(len, text.splitlines())) <= 80
    heading, *rows = text.splitlines()
    assert heading.split("  ")[0] == "Call sites"
    for name in ("time a rank", "of run", "calls", "bytes"):
        assert name in heading
    for at, (row, place) in enumerate(zip(rows[::2], rows[1::2], strict=True)):
        for number in ("123 ms", "12.3 %", "1 G" if times > 1 else " 1 "):
            assert number in row
        assert re.fullmatch(
            rf" +…?\S*Multigrid::exchange_all_halos, libsolver_\S+ \+{0x6912345 + at:#x}", place
        )


def test_of_a_table_only_the_free_text_is_cut():
    console = Console(width=40, file=io.StringIO())
    headings, row = ("Title", "calls", "free text", "share"), ("MPI_Allreduce", "12345", "x" * 60, "99.9 %")
    console.print(table(headings, [row], left=(0, 2)))
    first, second = console.file.getvalue().splitlines()
    assert first.split() == ["Title", "calls", "free", "text", "share"]
    assert second.split()[:2] == ["MPI_Allreduce", "12345"] and second.rstrip().endswith("…  99.9 %")
    assert len(second) <= 40


def test_a_call_site_that_ends_mpi_has_no_part_of_the_run(tmp_path):
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [(0, "MPI_Finalize", 0x80, 1, 700_000_000, 0), (0, "MPI_Barrier", 0x40, 1, 300_000_000, 0)]
    report = report_of(write_recording(tmp_path / "sites.rw", [rank]))
    shares = {site.call: site.share for site in report.call_sites}
    assert shares == {"MPI_Finalize": None, "MPI_Barrier": pytest.approx(0.3)}
    assert "MPI_Finalize 700 ms - 1 -" in " ".join(render(report, verbose=True).split())


def test_a_recording_without_call_sites_says_nothing_of_them(record):
    report = report_of(record())
    assert report.call_sites == []
    assert "Call sites" not in render(report, verbose=True) and "Call sites" not in render_html(report)


def test_call_sites_are_in_the_terminal_up_to_some_screens_of_them(tmp_path):
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [(0, "MPI_Send", 16 * at, 1, 1000 * at, 8) for at in range(1, 31)]
    report = report_of(write_recording(tmp_path / "sites.rw", [rank]))
    rows = render(report, section="call-sites").splitlines()[1:]
    assert [row.split()[-1] for row in rows] == [f"+{16 * at:#x}" for at in range(30, 0, -1)]
    assert render_html(report).count("<code>MPI_Send</code> <small>app +0x") == 30
    # AND of very many it says where the others are
    many = msgspec.structs.replace(report, call_sites=report.call_sites * 6)
    last = render(many, section="call-sites").splitlines()[-1]
    assert last == "  30 more are in the HTML report and in `rankwise report --json`"


def test_places_that_are_too_long_for_a_row_stand_below_it(tmp_path):
    # GIVEN a function of C++ whose name is longer than what a row has left
    rank = Rank(0, 1, modules=["/nowhere/app"])
    rank.sites = [(0, "MPI_Send", 16 * at, 1, 1000, 8) for at in (1, 2)]
    report = report_of(write_recording(tmp_path / "sites.rw", [rank]))
    name = "void LAMMPS_NS::Communicator<std::pair<int, int> >::forward_comm_of_pairs(double*, int)"
    sites = [
        msgspec.structs.replace(site, function=name, file=file, line=7)
        for site, file in zip(report.call_sites, ("/src/comm_brick_direct.cpp", "/src/a.cpp"), strict=True)
    ]
    heading, first, place, _, other = render(
        msgspec.structs.replace(report, call_sites=sites), section="call-sites"
    ).splitlines()
    # THEN it is whole, with its file, but for what is of no use there
    assert first.split()[:3] == ["MPI_Send", "1", "us"] and heading.startswith("Call sites")
    assert place.strip() == "LAMMPS_NS::Communicator::forward_comm_of_pairs, comm_brick_direct.cpp:7"
    assert other.strip() == "LAMMPS_NS::Communicator::forward_comm_of_pairs, a.cpp:7"
    assert len(place) <= 80


def test_ranks_that_stood_still_outside_mpi_are_noted(tmp_path):
    # GIVEN a rank that of 5 s neither ran nor waited for a core for 2 s, and was in MPI for 0.5 s; and one that ran
    ranks = [Rank(me, 2, run_ns=5 * 10**9, still_ns=2 * 10**9 * (1 - me)) for me in range(2)]
    for rank in ranks:
        rank.count("MPI_Barrier", 5 * 10**8)
    report = report_of(write_recording(tmp_path / "app.rw", ranks))
    # THEN the first is noted with what cannot have been in MPI
    (note,) = [each for each in report.notes if "did not run" in each]
    assert note.startswith("Rank 0 did not run for 1.5 s or more outside MPI, and did not wait for a core")
