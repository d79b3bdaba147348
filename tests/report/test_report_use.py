# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks used, of reports written by hand: bounded, whole in 80 columns, the same in the terminal and HTML."""

import re
from html import unescape
from types import SimpleNamespace

import msgspec
import numpy as np
import polars as pl
import pytest

from rankwise.findings.finding import Finding
from rankwise.recording import Recording
from rankwise.report import use_words
from rankwise.report.build import build
from rankwise.report.data.network import Network, NetworkOfRank, NetworkPair
from rankwise.report.hosts import hosts_text, short_names
from rankwise.report.html import render as render_html
from rankwise.report.nodes import of_machines
from rankwise.report.notable import notable
from rankwise.report.pieces import grown, summed
from rankwise.report.text import render as render_text
from rankwise.report.text.use import view
from rankwise.report.use_data import (
    AbsentSources,
    CoreUse,
    Counter,
    InterfaceUse,
    InterruptLine,
    MaskChange,
    Moment,
    NodeMoment,
    QueueUse,
    RankUse,
    TcpUse,
)

DOMAIN = ".cluster.hpc.example.org"
MLX = "IR-PCI-MSIX-0000:81:00.0 12-edge mlx5_comp12@pci:0000:81:00.0"


def ranks_of(count: int, **columns) -> RankUse:
    made = {
        "rank": list(range(count)), "user_s": [100.25] * count, "system_s": [0.0123] * count,
        "runqueue_wait_s": [0.166] * count, "minor_faults": [123_456] * count, "major_faults": [3] * count,
        "voluntary_switches": [2380] * count, "involuntary_switches": list(range(count)),
        "migrations": [12] * count, "migrations_of": ["all threads"] * count, "moves_seen": [1] * count,
        "peak_memory_bytes": [19_600_000] * count, "memory_bytes": [[10_000_000, 0, 9_600_000]] * count,
        "allowed": ["0-127"] * count, "ran_on": ["0 64"] * count, "threads_ran_on": ["0 64"] * count,
        "threads_busy": [1.0] * count, "threads_crowded": [0.0] * count, "mask_changes": [0] * count,
    }  # fmt: skip
    return RankUse(**(made | columns))


def core(host, pu, **more) -> CoreUse:
    made = {
        "ranks": "3", "user_share": 0.581, "system_share": 0.372, "irq_share": 0.001, "softirq_share": 0.046,
        "idle_share": 0.0, "steal_share": 0.0, "interrupts": 4550,
        "softirqs": {"NET_RX": 6020, "NET_TX": 7, "TIMER": 8}, "packets": 902_000, "packets_dropped": 0,
    }  # fmt: skip
    return CoreUse(host=host, pu=pu, **(made | more))


def interface(host, name, **more) -> InterfaceUse:
    made = {
        "state": "up", "rx_bytes": 8_140_000, "tx_bytes": 8_150_000, "rx_packets": 2000, "tx_packets": 2000,
        "lost": 0, "idle": False, "ranks": "0-3", "rank_bytes": 9, "interrupt_pus": "0-63", "counters": {},
    }  # fmt: skip
    return InterfaceUse(host=host, interface=name, **(made | more))


@pytest.fixture
def made(record):
    """Function (nodes, PUs, more of `use`) -> a report of a job of 16 ranks on hosts with long names."""
    base = build(Recording.open(record()))

    def make(nodes=2, pus=2, **more):
        hosts = [f"nid{node:06}{DOMAIN}" for node in range(nodes)]
        used = {
            "why_not": None,
            "interval_s": 0.1,
            "cost_share": 1e-6,
            "ranks": ranks_of(16),
            "cores": [core(node, pu) for node in range(nodes) for pu in range(pus)],
            "interrupts": [
                InterruptLine(node, "77", MLX, "enp129s0f0np0", 900_000, [1], [900_000])
                for node in range(nodes)
            ],
            "interfaces": [interface(node, "enp129s0f0np0") for node in range(nodes)],
            "queues": [QueueUse(node, "enp129s0f0np0", "rx-0", "rps", "1") for node in range(nodes)],
            "tcp": [
                TcpUse(node, 7000, 30, 2000, 0, {"timeouts": 12, "lost_again": 2}) for node in range(nodes)
            ],
        }
        use = msgspec.structs.replace(base.use, **(used | more))
        program = msgspec.structs.replace(base.program, hosts=hosts)
        ranks = msgspec.structs.replace(base.ranks, host=[rank % nodes for rank in base.ranks.rank])
        return msgspec.structs.replace(base, program=program, use=use, ranks=ranks)

    return make


def recorded(report, time_s=1.0, **tables):
    """What `notable` asks of a recording."""
    hosts = [{"host": host} for host in report.program.hosts]
    given = {
        "core_samples": pl.DataFrame({"time_s": [time_s]}),
        "rank_use": pl.DataFrame({"rank": [0], "ran_on": [[1]]}),
    } | tables
    return SimpleNamespace(
        context={"hosts": hosts, "bindings": [], "run": None},
        ranks=pl.DataFrame({"rank": list(range(16)), "time_s": [time_s] * 16}),
        table=given.__getitem__,
    )


@pytest.mark.parametrize(("nodes", "pus"), [(1, 2), (2, 2), (1000, 4)])
def test_no_line_is_wider_than_80_columns_and_no_number_is_cut(made, nodes, pus):
    # GIVEN hosts with long names
    report = made(nodes, pus)
    for text in (render_text(report, verbose=True), render_text(report, section="use")):
        # THEN nothing is cut, and lines are narrow and not too many
        assert max(map(len, text.splitlines())) <= 80
        assert "…" not in text
        assert DOMAIN not in text.partition("What the ranks used")[2].partition("\nContext")[0]
        assert len(text.splitlines()) < 500
    # AND that is so before the terminal folds what is too wide
    assert all(len(line) <= 80 for part in view(report) for line in part.plain.split("\n"))
    # AND each number of a core and an interface is in the tables, below the short name of its host
    used = report.use
    for cells in (
        use_words.core_use(used.cores[0], {}), use_words.interface_use(used.interfaces[0]),
        use_words.rank_use(used.ranks, 0), use_words.tcp_use(used.tcp[0]),
    ):  # fmt: skip
        for cell in cells:
            assert all(word in text for word in cell.split())
    if nodes > 1:
        assert re.search(r"^  nid000001$", text, re.MULTILINE)
        assert f"{nodes * pus - 32} more" in text or nodes * pus <= 32


def test_an_interrupt_with_a_long_name_keeps_its_count_and_core(made):
    text = render_text(made(), section="use")
    assert "900 k most on PU 1 (100.0 %)" in text
    # The name goes on in the next line: nothing of it is lost.
    assert f"77: enp129s0f0np0: {MLX}" in re.sub(r"\s+", " ", text)


def test_counters_masks_queues_and_memory_by_node_are_in_the_text_as_in_html(made):
    counters = [
        Counter("cycles", [2e9] * 16, 1.0, False),
        Counter("stalled-cycles-backend", [None] * 16, None, True),
    ]
    report = made(
        counters=counters,
        mask_changes=[MaskChange(3, 0.15, "1", "libgomp.so.1"), MaskChange(4, 0.25, "0-1", "")],
    )
    text, page = render_text(report, section="use"), render_html(report)
    for shown in (text, page):
        assert "cycles" in shown and "2 G" in shown and "stalled-cycles-backend (user)" in shown
        assert "0: 10 MB, 2: 9.6 MB" in shown and "0-127" in shown and "166 ms" in shown
        assert re.search(r"RPS(<[^>]*>|\s)+rx-0", shown) and "250 ms" in shown and "NET_TX" in shown
        assert "libgomp.so.1" in shown and "no call seen" in shown
    assert text.count("rank 3") and "timeouts 12, lost again 2" in re.sub(r"\s+", " ", text)


def test_queues_of_an_interface_are_told_once_for_each_way_they_are_served(made):
    # GIVEN four queues in no order, two cores that get their interrupts, and RPS for one of them
    told = (
        ("rx-0", "rps", ""),
        ("rx-0", "interrupt", "0"),
        ("rx-1", "interrupt", "1"),
        ("tx-0", "interrupt", "0"),
    )
    report = made(1, queues=[QueueUse(0, "eth0", queue, how, pus) for queue, how, pus in told])
    ((_, rows),) = use_words.queue_use(report.use, report.program.hosts)
    # THEN the interface and each way stand once, above all that is of them
    assert rows == [
        ("eth0", "interrupt goes to", "rx-0, tx-0", "0"),
        ("", "", "rx-1", "1"),
        ("", "RPS", "rx-0", "none"),
    ]
    text = render_text(report, section="use")
    assert text.count("interrupt goes to") == 1 and "\n                              rx-1" in text


def test_numbers_of_ranks_and_pus_do_not_read_as_how_many(made):
    # GIVEN a core to which rank 0 alone is bound, and one of 60 ranks in 30 pieces; and so an interface
    many = " ".join(f"{first}-{first + 1}" for first in range(0, 90, 3))
    cores = [core(0, 0, ranks="0"), core(0, 1, ranks=many)]
    interfaces = [interface(0, "eth0", ranks="1", interrupt_pus="0"), interface(0, "eth1", ranks=many)]
    report = made(1, cores=cores, interfaces=interfaces)
    # THEN their cells say what is numbered, and the terminal how many there are of a long list
    assert [use_words.core_use(each, {})[-1] for each in cores] == ["rank 0", many]
    assert use_words.interface_use(interfaces[0])[-2:] == ("PU 0", "rank 1")
    text = render_text(report, section="use")
    assert text.count("60 of them") == 2 and many not in text


def test_headings_are_different_and_the_fields_own():
    for headings in (use_words.RANK_USE, use_words.CORE_USE, use_words.INTERFACE_USE):
        assert len(set(headings)) == len(headings)
    assert {"user", "system", "irq", "softirq", "idle", "steal"} <= set(use_words.CORE_USE)
    assert {"voluntary\nswitches", "involuntary\nswitches", "waiting\nfor a core"} <= set(use_words.RANK_USE)


def test_html_has_the_first_400_rows_and_says_how_many_more(made):
    # GIVEN 300 nodes of 4 cores, of which the last core has most time in interrupts
    cores = [core(node, pu) for node in range(300) for pu in range(4)]
    report = made(300, cores=[*cores[:-1], core(299, 3, softirq_share=0.9, interrupts=7_654_321)])
    page = render_html(report)
    assert page.count("<td>902 k</td>") == 400 and "800 more in" in page
    assert "90.0 %" in page and "7.65 M" in page


def test_a_name_of_a_host_keeps_its_letters(made):
    report = made()
    sentences = notable(recorded(report), report.use)
    assert sentences
    page = render_html(
        msgspec.structs.replace(report, use=msgspec.structs.replace(report.use, notable=sentences))
    )
    assert "Nid00" not in page and "nid000000" in page


def test_what_stands_out_is_one_sentence_a_kind_however_many_cores_and_nodes(made):
    # GIVEN 32 nodes of 128 cores, all in interrupts, one more than the others
    cores = [
        core(node, pu, softirq_share=0.39 if (node, pu) == (7, 17) else 0.2)
        for node in range(32)
        for pu in range(128)
    ]
    report = made(32, cores=cores)
    found = notable(recorded(report), report.use)
    assert len(found) <= 8
    (inside,) = [each for each in found if "in interrupts for" in each]
    assert "PU 17 of nid000007 was in interrupts for 39 %" in inside and "4095 more PUs of 32 nodes" in inside


def test_who_waited_longest_for_a_core_is_named_and_comes_first(made):
    # GIVEN many ranks, of which rank 7 lost its core most often, and rank 5 waited longest for one
    count = 500
    ranks = ranks_of(
        count,
        involuntary_switches=[828 if rank == 7 else 200 for rank in range(count)],
        runqueue_wait_s=[0.42 if rank == 5 else 0.166 for rank in range(count)],
    )
    report = made(ranks=ranks)
    (often,) = [each for each in notable(recorded(report, 1.0), report.use) if "lost the core" in each]
    assert often.endswith("rank 7 most, 828 times; rank 5 waited longest for a core, 420 ms")
    assert [ranks.rank[at] for at in use_words.worst_ranks(report.use)[:2]] == [5, 7]
    # AND the table that a finding leads to begins with the ranks that it names
    finding = Finding("busy-cores", "rank 499 waited", [], [499], 1.0, "that", "this", None, "high", "that")
    page = render_html(msgspec.structs.replace(report, findings=[finding]))
    table = page.partition('id="use"')[2].partition("<summary>By rank</summary>")[2].partition("</table>")[0]
    rows = re.findall(r"<tr(| class=\"meant\")><td>(\d+)", table)
    assert rows[:3] == [(' class="meant"', "499"), ("", "5"), ("", "7")]


@pytest.mark.parametrize("count", [17, 400, 500])
def test_ranks_that_a_finding_names_are_in_each_view_and_first(made, count):
    # GIVEN a rank that waited least for a core, and that a finding names
    named = count - 2
    waits = [0.001 if rank == named else 0.166 for rank in range(count)]
    finding = Finding(
        "busy-cores", f"rank {named} waited", [], [named], 1.0, "that", "this", None, "high", "that"
    )
    counters = [Counter("instructions", [1e9] * count, 1.0, False)]
    report = msgspec.structs.replace(
        made(
            ranks=ranks_of(count, runqueue_wait_s=waits, involuntary_switches=[0] * count), counters=counters
        ),
        findings=[finding],
    )
    section = render_html(report).partition('id="use"')[2]
    for summary in ("By rank", "Counters by rank"):
        table = section.partition(f"<summary>{summary}</summary>")[2].partition("</table>")[0]
        assert re.findall(r"<tr[^>]*><td>(\d+)", table)[:2] == [str(named), "0"]
    text = render_text(report, section="use")
    firsts = re.findall(r"^  rank .*\n  (\d+) ", text, re.MULTILINE)
    assert len(firsts) >= 3 and set(firsts) == {str(named)}
    assert ("the 32 ranks: those that findings name, then" in text) == (count > 32)


@pytest.mark.parametrize(
    ("count", "named", "marked"),
    [(400, 400, 0), (400, 17, 0), (400, 16, 16), (30, 15, 0), (30, 14, 14), (2, 1, 0), (3, 1, 1)],
)
def test_ranks_are_marked_where_findings_name_few(made, count, named, marked):
    # GIVEN a finding of so many ranks, the last ones, of which the first waited longest for a core
    finding = Finding(
        "unbound-migrating", "ranks moved", [], list(range(count - named, count)),
        1.0, "that", "this", None, "high", "that",
    )  # fmt: skip
    waits = [1 - rank / count for rank in range(count)]
    report = msgspec.structs.replace(
        made(ranks=ranks_of(count, runqueue_wait_s=waits, involuntary_switches=[0] * count)),
        findings=[finding],
    )
    # THEN
    section = render_html(report).partition('id="use"')[2]
    before, _, table = section.partition("<summary>By rank</summary>")
    table = table.partition("</details>")[0]
    assert table.count('<tr class="meant">') == marked and ("Bold:" in table) == (marked > 0)
    assert before.endswith("<details open>") == (marked > 0 or count <= 16)
    assert re.findall(r"<tr[^>]*><td>(\d+)", table)[0] == str(count - marked if marked else 0)


@pytest.mark.parametrize(
    ("longest", "wait_s", "said"),
    [
        (7, 0.42, "rank 7 most, 828 times, and it waited longest for a core, 420 ms"),
        (5, 0.42, "rank 7 most, 828 times; rank 5 waited longest for a core, 420 ms"),
        (5, 2e-6, "rank 7 most, 828 times"),
        (7, 2e-6, "rank 7 most, 828 times"),
    ],
)
def test_waiting_for_a_core_that_is_nothing_is_not_named_and_no_rank_twice(made, longest, wait_s, said):
    ranks = ranks_of(
        16,
        involuntary_switches=[828 if rank == 7 else 200 for rank in range(16)],
        runqueue_wait_s=[wait_s if rank == longest else 1e-6 for rank in range(16)],
    )
    report = made(ranks=ranks)
    (often,) = [each for each in notable(recorded(report, 1.0), report.use) if "lost the core" in each]
    assert often.endswith(said)


@pytest.mark.parametrize(("count", "stands_out"), [(5, False), (99, False), (100, True), (5000, True)])
def test_little_that_is_often_only_because_the_run_is_short_does_not_stand_out(made, count, stands_out):
    report = made(
        ranks=ranks_of(16, involuntary_switches=[0] * 15 + [count], major_faults=[0] * 15 + [count]),
        interrupts=[], tcp=[], cores=[],
    )  # fmt: skip
    found = notable(recorded(report, 0.017), report.use)
    assert any("lost the core" in each for each in found) == stands_out
    assert any("pages from a disk" in each for each in found) == stands_out


def test_moves_that_follow_a_change_of_the_mask_are_the_programs_own(made):
    changed = ranks_of(16, migrations=[150] * 16, mask_changes=[150] * 15 + [0])
    report = made(ranks=changed, interrupts=[], tcp=[], cores=[])
    (moved,) = [each for each in notable(recorded(report), report.use) if "another core" in each]
    assert moved.startswith("rank 15 came")


@pytest.mark.parametrize(
    ("packets", "said"),
    [([51, 49], False), ([81, 19], True), ([40, 20, 20, 20], False), ([60, 10, 15, 15], True)],
)
def test_receive_work_on_one_core_is_said_where_it_is_far_from_even(made, packets, said):
    cores = [core(0, pu, packets=1000 * count) for pu, count in enumerate(packets)]
    report = made(1, cores=cores, interrupts=[], tcp=[])
    assert any("receive work" in each for each in notable(recorded(report), report.use)) == said


def test_without_packets_by_core_the_time_in_softirqs_says_who_receives(made):
    # GIVEN a core that only hands packets on, with more NET_RX, and one that does the work, which RPS names
    cores = [
        core(0, 0, packets=None, softirqs={"NET_RX": 6020}, softirq_share=0.02),
        core(0, 1, packets=None, softirqs={"NET_RX": 4050}, softirq_share=0.18),
    ]
    report = made(1, cores=cores, interrupts=[], tcp=[])
    (work,) = [each for each in notable(recorded(report), report.use) if "receive work" in each]
    assert work.startswith("PU 1 of nid000000 did 90 %") and "RPS of enp129s0f0np0 hands packets to" in work


def test_the_machine_below_a_lab_is_counted_once():
    # GIVEN two nodes of a lab, whose samples both have the machine's counts
    samples = pl.DataFrame({"host": ["a", "a", "b", "b", "b"], "pu": [0] * 5, "time_s": [0.0, 1, 0, 1, 2]})
    recording = SimpleNamespace(
        context={"hosts": [{"host": "a"}, {"host": "b"}], "nodes": [], "run": {"lab": {}, "placement": {}}},
        table=lambda name: samples,
    )
    recording.context["run"] = {"lab": {"name": "x"}, "placement": {"ranks": []}}
    table, hosts = of_machines(recording, "core_samples")
    # THEN there is one row set, of no node
    assert table["host"].to_list() == ["b"] * 3 and hosts == {"b": None}
    recording.context["run"] = None
    assert len(of_machines(recording, "core_samples")[0]) == 5


def test_a_lab_says_that_its_cores_are_one_machines(made):
    report = made(cores=[core(None, 0)], interrupts=[], emulated=True)
    for shown in (render_text(report, section="use"), render_html(report)):
        shown = unescape(shown)
        assert "the lab's machine" in shown and "share one machine" in re.sub(r"\s+", " ", shown)


def test_what_is_not_known_over_time_is_no_zero_and_a_known_zero_is_there(made):
    moments = [Moment(at, at + 1, share, 0.0, 5.0, None) for at, share in enumerate([0.5, None, 1.0])]
    report = made(
        over_time=moments, nodes_over_time=[NodeMoment(at, at + 1, 10.0, None, None) for at in range(3)]
    )
    text = render_text(report, verbose=True)
    assert re.search(r"system time +5\?9 ", text) or re.search(r"system time +4\?9 ", text)
    assert (
        re.search(r"involuntary switches +··· +none", text)
        and "waiting for a core  " not in text.partition("over time")[2]
    )
    page = render_html(report)
    assert "?: not known" in text and "Nothing was counted of: involuntary switches." in page
    assert "page faults, at most 5 a second" in page and "involuntary switches, at most" not in page


def test_pieces_where_a_source_has_gone_are_not_known_and_others_are_summed():
    time, edges = np.array([0.0, 1, 2]), np.array([0.0, 1, 2])
    gone, whole = grown(time, np.array([0, 3, np.nan]), edges), grown(time, np.array([0.0, 1, 2]), edges)
    never = grown(time, np.array([np.nan, 3, np.nan]), edges)
    assert gone[0] == 3 and np.isnan(gone[1]) and np.isnan(never).all()
    assert summed([gone, whole, never], edges).tolist() == [4, 1] and np.isnan(summed([never], edges)).all()


def test_ranks_that_have_no_samples_are_said_to_beside_those_that_have(made):
    report = made(why_not="no samples of rank 1: the file system had no space")
    for shown in (render_text(report, verbose=True), render_text(report, section="use"), render_html(report)):
        assert "o samples of rank 1: the file system had no space" in shown


@pytest.mark.parametrize(("share", "said"), [(0.0, "< 0.01 %"), (4e-5, "< 0.01 %"), (0.0012, "0.12 %")])
def test_a_cost_is_never_said_to_be_nothing(made, share, said):
    assert f"cost at most {said} of" in " ".join(use_words.sampled_text(made(cost_share=share).use))


def test_idle_interfaces_name_their_hosts(made):
    idle = [interface(node, "eth1", idle=node in (1, 2)) for node in range(4)]
    assert use_words.idle_interfaces(made(4, interfaces=idle).use, ["n0", "n1", "n2", "n3"]) == [
        "idle: eth1 on n1, n2"
    ]


def test_names_of_hosts_are_cut_where_all_have_the_same_domain():
    assert short_names([f"a{DOMAIN}", f"b{DOMAIN}"]) == ["a", "b"]
    assert short_names([f"a{DOMAIN}", "b.other.org"]) == [f"a{DOMAIN}", "b.other.org"]
    assert short_names(["10.0.0.1", "11.0.0.1"]) == ["10.0.0.1", "11.0.0.1"]
    assert hosts_text(["a"], 1) == "" and hosts_text(["a", "b"], 2) == " on all 2 hosts"
    assert hosts_text(list("abcdef"), 9) == " on a, b, c, d, ... (6 of 9 hosts)"


def test_network_time_between_hosts_with_long_names_is_whole_and_html_says_what_it_leaves_out(made):
    # GIVEN 501 pairs, the first with large numbers, and threads outside of MPI
    pair = NetworkPair(
        transport="sockets", host=0, peer_host=1, address=None, send_calls=1_234_000, send_bytes=9_870_000_000,
        send_time_s=123.4, receive_calls=7, receive_bytes=55_500_000, receive_time_s=0.0678,
    )  # fmt: skip
    network = Network(None, [NetworkOfRank(0, "sockets", 1, 1, 1, 1, 1, 1)], [pair] * 501, 0.5, [])
    report = msgspec.structs.replace(made(), network=network)
    text, page = render_text(report, verbose=True), render_html(report)
    # THEN numbers and both names are in one line
    (line, *_) = [line for line in text.splitlines() if "nid000000 - nid000001" in line]
    assert (
        all(word in line for word in ("123 s", "67.8 ms", "9.87 GB", "55.5 MB", "1.23 M")) and len(line) <= 80
    )
    assert page.count("<td>9.87 GB</td>") == 400 and "400 pairs with the most time; 101 more in" in page
    assert "of sending, receiving and looking, 500 ms by threads" in re.sub(r"\s+", " ", text)


def test_what_is_absent_on_some_nodes_says_on_which(made):
    absent = [
        AbsentSources(["tcp"], "ENOENT", "more of /proc", 0, [2]),
        AbsentSources(["ports"], "none", None, 0, [0, 1, 2]),
    ]
    report = made(3, absent=absent)
    assert use_words.absent_sources(report.use, report.program.hosts) == [
        "absent: tcp: ENOENT; more of /proc (on nid000002)",
        "absent: ports: none",
    ]
    assert "absent: tcp: ENOENT; more of /proc (on nid000002)" in render_text(report, verbose=True)
