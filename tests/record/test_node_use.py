# SPDX-License-Identifier: BSD-3-Clause
"""What happens on the node: as this kernel counts it, and as files of other machines would have it."""

import re
import subprocess
from pathlib import Path

import mpis
import polars as pl
import pytest

from rankwise.recording import Recording
from rankwise.recording.check import check
from rankwise.report import use_words
from rankwise.report.build import build
from rankwise.report.html import render as render_html
from rankwise.report.text import render as render_text

pytestmark = pytest.mark.mpi

PACKETS = 3000
ONE = [mpi for mpi in mpis.installed() if mpi.name == "mpich-5.0.2"]
one_mpi = pytest.mark.parametrize("mpi", ONE, ids=lambda mpi: mpi.name)
has_interrupts = pytest.mark.skipif(not Path("/proc/interrupts").exists(), reason="no /proc/interrupts here")


def counts(path: str) -> dict[tuple[str, int], int]:
    """By row and CPU."""
    head, *lines = Path(path).read_text().splitlines()
    cpus = [int(word[3:]) for word in head.split()]
    found = {}
    for line in lines:
        name, _, rest = line.partition(":")
        numbers = rest.split()[: len(cpus)]
        found |= {
            (name.strip(), cpu): int(number)
            for cpu, number in zip(cpus, numbers, strict=False)
            if number.isdecimal()
        }
    return found


def retransmitted() -> int:
    names, numbers = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if "Tcp:" in line
    )
    return int(numbers[names.index("RetransSegs")])


@has_interrupts
def test_interrupts_and_softirqs_by_core_lie_between_what_is_read_inside_and_outside(
    mpi, compiled, record, tmp_path
):
    # GIVEN what the kernel says before and after the whole run, and inside of it
    program = compiled(mpi, "node_use.c")
    before = counts("/proc/interrupts"), counts("/proc/softirqs"), retransmitted()
    done = record(mpi, 1, program, "udp", PACKETS).run
    after = counts("/proc/interrupts"), counts("/proc/softirqs"), retransmitted()
    received, timer = map(int, re.findall(r"\d+", done.stdout))
    recording = Recording.open(tmp_path)
    # THEN by line and core, no more came than outside, and all of what came inside
    lines = recording.table("interrupts")
    assert len(lines) > 0
    for line, pu, count in lines.select("line", "pu", "count").iter_rows():
        assert 0 < count <= after[0][line, pu] - before[0].get((line, pu), 0)
    assert lines.filter(line="LOC")["count"].sum() >= timer
    # AND so it is by core over time, with softirqs
    cores = recording.table("core_samples").group_by("pu").last()
    for pu, net_rx, interrupts in cores.select("pu", "net_rx", "interrupts").iter_rows():
        assert 0 <= net_rx <= after[1]["NET_RX", pu] - before[1]["NET_RX", pu]
        assert interrupts >= lines.filter(pu=pu)["count"].sum() * 0.5
    assert cores["net_rx"].sum() >= received >= PACKETS * 0.5
    # AND the packets went through `lo`
    lo = recording.table("interface_samples").filter(interface="lo")
    assert lo["tx_packets"].max() >= PACKETS and lo["rx_packets"].max() >= PACKETS
    assert 0 <= recording.context["nodes"][0]["tcp"]["retransmitted_segments"] <= after[2] - before[2]


@one_mpi
@pytest.mark.parametrize("samples", ["50", "off"])
def test_each_job_of_a_recording_has_what_came_while_it_ran(mpi, compiled, record, tmp_path, samples):
    # GIVEN a job that sends packets, packets of nobody, and a job of two ranks that sends none, in one recording
    program = compiled(mpi, "node_use.c")
    one_run = {"RANKWISE_RUN": "0123456789abcdef" * 2, "RANKWISE_SAMPLES": samples}
    record(mpi, 1, program, "udp", PACKETS, environment=one_run)
    subprocess.run([program, "udp", str(2 * PACKETS)], check=True, stdout=subprocess.DEVNULL)
    record(mpi, 2, program, "turns", 100, environment=one_run)
    # THEN each has its own
    packets = {}
    for job in ("1", "2"):
        recording = Recording.open(tmp_path, job)
        lo = recording.table("interface_samples").filter(interface="lo")
        packets[job] = lo["tx_packets"].max()
        assert lo["time_s"].min() == 0 and lo["tx_packets"].min() == 0
        # AND by line, where the copies are of both, it is not known
        assert len(recording.table("interrupts")) == 0
        absent = {each["source"]: each["why"] for each in recording.context["nodes"][0]["absent"]}
        assert "several jobs" in absent["interrupts by line, counters of ports"]
    assert PACKETS <= packets["1"] < 1.5 * PACKETS
    assert packets["2"] < 0.5 * PACKETS


@pytest.mark.slow
@one_mpi
def test_another_rank_samples_where_the_one_that_did_makes_no_calls(mpi, compiled, record, tmp_path):
    record(mpi, 2, compiled(mpi, "node_use.c"), "turns", 1500, environment={"RANKWISE_SAMPLES": "50"})
    times = Recording.open(tmp_path).table("core_samples").filter(pu=0)["time_s"]
    # THEN there is no gap as long as one of the turns
    assert times.max() > 2.5 and times.diff().max() < 1.0


def interrupts_text(cpus: list[int], lines: dict[str, tuple[str, dict[int, int]]]) -> str:
    rows = ["      " + "".join(f"{f'CPU{cpu}':>11}" for cpu in cpus)]
    for name, (what, counted) in lines.items():
        rows.append(f"{name:>5}:" + "".join(f"{counted.get(cpu, 0):>11}" for cpu in cpus) + f"  {what}")
    return "\n".join([*rows, "  ERR:          7", "  MIS:          0"]) + "\n"


def stat_text(cpus: list[int], user: int) -> str:
    rows = [f"cpu{cpu} {user} 0 {user} {user} 0 10 20 {cpu} 0 0" for cpu in cpus]
    return "\n".join(["cpu  1 2 3 4 5 6 7 8 0 0", *rows, "intr 12 0", "ctxt 1"]) + "\n"


class Machine:
    """Trees in place of /proc and /sys, and what is put into them while the program runs."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.swaps: list[Path] = []
        self.environment = {
            "RANKWISE_PROC": str(directory / "proc"),
            "RANKWISE_SYS": str(directory / "sys"),
            "RANKWISE_COUNTERS": "none",
            "RANKWISE_SAMPLES": "50",
        }

    def file(self, name: str, before: str, after: str | None = None) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
        if after is not None:
            later = self.directory / f"later{len(self.swaps)}"
            later.write_text(after)
            self.swaps += [path, later]

    def record(self, mpi, compiled, record, ranks=1) -> Recording:
        program = compiled(mpi, "node_use.c")
        done = record(mpi, ranks, program, "swap", *self.swaps, environment=self.environment)
        return Recording.open(done.directory)


@pytest.fixture
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.mark.slow
@one_mpi
def test_a_machine_of_a_thousand_cores_and_4096_interrupts(mpi, compiled, record, machine):
    # GIVEN 4096 lines of 1000 CPUs, of which one interrupt of eth0 comes to CPU 997
    cpus = list(range(1000))
    lines = {str(i): (f"PCI-MSI {i}-edge eth0-TxRx-{i}", {i % 1000: 5}) for i in range(4096)}
    after = lines | {"77": (lines["77"][0], {77: 5, 997: 4_000_000}), "78": (lines["78"][0], {78: 6})}
    machine.file("proc/interrupts", interrupts_text(cpus, lines), interrupts_text(cpus, after))
    machine.file("proc/stat", stat_text(cpus, 100), stat_text(cpus, 150))
    machine.file("proc/net/dev", "Inter-|\n face |\n  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n")
    recording = machine.record(mpi, compiled, record)
    # THEN both lines that had some are there, with their cores
    found = recording.table("interrupts").select("line", "pu", "count").rows()
    assert found == [("77", 997, 4_000_000), ("78", 78, 1)]
    cores = recording.table("core_samples").group_by("pu").last().sort("pu")
    assert len(cores) == 1000 and cores["user_s"].to_list() == [0.5] * 1000
    assert cores["interrupts"][997] == 4_000_000 and cores["interrupts"].sum() == 4_000_001
    # AND the interrupt core is named
    report = build(recording)
    assert any("PU 997 of" in each and "took 100 %" in each and "eth0" in each for each in report.use.notable)
    assert "PU 997" in render_text(report, verbose=True) and "PU 997" in render_html(report)


@one_mpi
def test_cores_that_go_away_and_come_are_not_known_meanwhile(mpi, compiled, record, machine):
    # GIVEN four CPUs that are present, of which 3 is off first, and 1 and 2 later
    machine.file("sys/devices/system/cpu/present", "0-3\n")
    lines = {"LOC": ("Local timer interrupts", {0: 10, 1: 10, 2: 10, 3: 50})}
    later = {"LOC": ("Local timer interrupts", {0: 30, 1: 10, 2: 10, 3: 51})}
    machine.file("proc/interrupts", interrupts_text([0, 1, 2], lines), interrupts_text([0, 3], later))
    machine.file("proc/stat", stat_text([0, 1, 2], 10), stat_text([0, 3], 20))
    machine.file("proc/softirqs", "  CPU0 CPU1 CPU2\n  NET_RX: 1 2 3\n", "  CPU0 CPU3\n  NET_RX: 5 9\n")
    recording = machine.record(mpi, compiled, record)
    cores = recording.table("core_samples")
    first, last = cores.filter(time_s=cores["time_s"].min()), cores.filter(time_s=cores["time_s"].max())
    # THEN what is known at one time only says nothing: CPUs 1 and 2 after the first sample, 3 before the last ones
    assert first.filter(pl.col("pu") < 3).select("pu", "net_rx").rows() == [(0, 0)]
    assert last.filter(pl.col("pu") < 3).select("pu", "net_rx", "interrupts").rows() == [(0, 4, 20)]
    assert first.filter(pu=3)["net_rx"].drop_nulls().is_empty()
    assert {core.pu: core.interrupts for core in build(recording).use.cores if core.pu < 3} == {0: 20}


def softnet_text(rows: list[dict[int, int]], fields: int) -> str:
    """Numbers by column, in hexadecimal as the kernel has them."""
    return "".join(" ".join(f"{row.get(at, 0):08x}" for at in range(fields)) + "\n" for row in rows)


@one_mpi
@pytest.mark.parametrize("fields", [15, 11], ids=["linux-5.10", "linux-4.18"])
def test_packets_by_core(mpi, compiled, record, machine, fields):
    # GIVEN CPU 1 that took in 0xabc0 packets, dropped 2 and was handed 0xab00 by an interrupt; kernels number the
    # lines since 5.10
    machine.file("proc/stat", stat_text([0, 1], 10), stat_text([0, 1], 20))
    before = [{0: 1, 12: 0}, {0: 0x1000, 1: 3, 9: 0x10, 12: 1}]
    after = [{0: 1, 12: 0}, {0: 0xBBC0, 1: 5, 2: 7, 9: 0xAB10, 12: 1}]
    machine.file("proc/net/softnet_stat", softnet_text(before, fields), softnet_text(after, fields))
    cores = machine.record(mpi, compiled, record).table("core_samples").group_by("pu").last().sort("pu")
    names = ("packets", "packets_dropped", "polls_cut", "rps_interrupts")
    assert cores.select(names).rows() == [(0, 0, 0, 0), (0xABC0, 2, 7, 0xAB00)]


@one_mpi
def test_packets_of_unnumbered_lines_are_nobodys_where_a_cpu_is_off(mpi, compiled, record, machine):
    machine.file("proc/stat", stat_text([0, 1, 2], 10))
    machine.file("proc/net/softnet_stat", softnet_text([{0: 1}, {0: 2}], 11))
    recording = machine.record(mpi, compiled, record)
    assert recording.table("core_samples")["packets"].drop_nulls().is_empty()
    absent = {each["source"]: each["why"] for each in recording.context["nodes"][0]["absent"]}
    assert absent["packets by core"] == "/proc/net/softnet_stat does not tell whose its lines are"


@one_mpi
def test_what_a_container_hides_is_said(mpi, compiled, record, machine):
    # GIVEN a /proc without interrupts, softirqs and networks
    machine.file("proc/stat", stat_text([0, 1], 10), stat_text([0, 1], 20))
    recording = machine.record(mpi, compiled, record)
    absent = {each["source"]: each["why"] for each in recording.context["nodes"][0]["absent"]}
    assert {
        "interrupts",
        "softirqs",
        "packets by core",
        "interfaces",
        "tcp",
        "interrupts by line",
    } <= absent.keys()
    assert all("ENOENT" in absent[name] for name in ("interrupts", "softirqs", "interfaces", "tcp"))
    cores = recording.table("core_samples").group_by("pu").last().sort("pu")
    assert cores["user_s"].to_list() == pytest.approx([0.1, 0.1]) and cores["interrupts"].null_count() == 2
    # AND so is memory by NUMA node, and all that an empty /sys has not; peak memory is known otherwise
    of_ranks = {each["source"]: each for each in recording.context["samples"]["absent"]}
    assert "ENOENT" in of_ranks["numa"]["why"] and of_ranks["numa"]["remedy"]
    assert recording.table("rank_use").select("memory_bytes", "peak_memory_bytes").row(0)[0] is None
    assert recording.table("rank_use")["peak_memory_bytes"][0] > 0
    assert any("queues of interfaces" in source for source in absent)
    text = render_text(build(recording), verbose=True)
    assert "absent: " in text and "\n  idle:" not in text
    # AND each says what would give it
    for each in recording.context["nodes"][0]["absent"]:
        assert each["remedy"] or "ENOENT" not in each["why"], each


@one_mpi
def test_ports_queues_and_the_cores_that_serve_them(mpi, compiled, record, machine):
    # GIVEN an Ethernet interface with two queues, an InfiniBand port that is used and one that is not, and Slingshot
    machine.file("proc/stat", stat_text([0, 1], 10), stat_text([0, 1], 20))
    lines = {"77": ("PCI-MSI eth7-rx", {1: 1}), "90": ("PCI-MSI mlx5_comp0", {})}
    later = {"77": ("PCI-MSI eth7-rx", {0: 100, 1: 900_001}), "90": ("PCI-MSI mlx5_comp0", {0: 12})}
    machine.file("proc/interrupts", interrupts_text([0, 1], lines), interrupts_text([0, 1], later))
    net = "Inter-|   Receive\n face |bytes packets\n  eth7: {} {} {} 3 0 0 0 0 {} {} 0 0 0 0 0 0\n"
    net += " idle0: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
    machine.file("proc/net/dev", net.format(10, 1, 0, 20, 2), net.format(1010, 11, 4, 2020, 22))
    snmp = (
        "Ip: A B\nIp: 1 2\nTcp: Algo InSegs OutSegs RetransSegs InErrs\nTcp: 1 {} {} {} 0\nUdp: X\nUdp: 1\n"
    )
    machine.file("proc/net/snmp", snmp.format(5, 10, 1), snmp.format(105, 1010, 31))
    netstat = "TcpExt: SyncookiesSent TCPTimeouts TCPLostRetransmit\nTcpExt: 0 {} {}\nIpExt: A\nIpExt: 1\n"
    machine.file("proc/net/netstat", netstat.format(3, 1), netstat.format(15, 3))
    machine.file("sys/class/net/eth7/operstate", "up\n")
    machine.file("sys/class/net/eth7/queues/rx-0/rps_cpus", "3\n")
    machine.file("sys/class/net/eth7/queues/tx-0/xps_cpus", "00000001,00000002\n")
    machine.file("sys/class/net/eth7/device/msi_irqs/77", "msix\n")
    machine.file("sys/class/net/idle0/operstate", "down\n")
    machine.file("proc/irq/77/effective_affinity_list", "1\n")
    machine.file("proc/irq/77/smp_affinity_list", "0-1\n")
    port = "sys/class/infiniband/mlx5_0/ports/{}/{}"
    machine.file(port.format(1, "counters/port_xmit_data"), "1000\n", "251000\n")
    machine.file(port.format(1, "counters/port_xmit_packets"), "7\n", "1007\n")
    machine.file(port.format(1, "hw_counters/out_of_sequence"), "0\n", "3\n")
    machine.file(port.format(1, "counters/port_xmit_discards"), "0\n", "2\n")
    machine.file(port.format(2, "counters/port_xmit_data"), "5\n")
    machine.file("sys/class/infiniband/mlx5_0/device/msi_irqs/90", "msix\n")
    machine.file("sys/class/cxi/cxi0/device/telemetry/hni_pkts_sent", "10@1.5\n", "30@2.5\n")
    machine.file("sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets", "100@1.5\n", "5100@2.5\n")
    recording = machine.record(mpi, compiled, record, ranks=2)
    report = build(recording)
    use = {each.interface: each for each in report.use.interfaces}
    # THEN each has what went through it
    eth7 = use["eth7"]
    assert (eth7.rx_bytes, eth7.tx_bytes, eth7.rx_packets, eth7.tx_packets, eth7.lost) == (
        1000,
        2000,
        10,
        20,
        4,
    )
    assert eth7.state == "up" and eth7.interrupt_pus == "1" and not eth7.idle
    assert use["idle0"].idle and use["idle0"].state == "down"
    assert use["mlx5_0/1"].tx_bytes == 1_000_000 and use["mlx5_0/1"].tx_packets == 1000
    assert use["mlx5_0/1"].counters["out_of_sequence"] == 3 and use["mlx5_0/1"].lost == 2
    assert use["mlx5_0/2"].idle and use["cxi0"].counters == {
        "hni_pkts_sent": 20,
        "hni_sts_tx_ok_octets": 5000,
    }
    assert use["cxi0"].tx_bytes == 5000 and use["cxi0"].rx_bytes is None
    # AND which cores serve it
    queues = {
        (device, queue, how): pus for _, device, queue, how, pus in recording.table("interface_queues").rows()
    }
    assert queues["eth7", "rx-0", "rps"] == [0, 1] and queues["eth7", "tx-0", "xps"] == [1, 32]
    assert queues["eth7", "irq 77", "interrupt"] == [1] and queues["eth7", "irq 77", "allowed"] == [0, 1]
    devices = {line.line: line.device for line in report.use.interrupts}
    assert devices == {"77": "eth7", "90": "mlx5_0"}
    # AND what stands out is said
    assert any(
        "took 100 % of the 900 k interrupts of eth7" in each and "PU 1 of" in each
        for each in report.use.notable
    )
    again = "sent 30 of 1 k segments again (12 timeouts, 2 lost again)"
    assert any(again in each.sentence for each in report.findings)
    for page in (render_text(report, verbose=True), render_html(report)):
        assert "idle0 (down)" in page and "eth7" in page


@one_mpi
def test_ports_over_time(mpi, compiled, record, machine):
    # GIVEN two ports of InfiniBand, one of which is used and set back, and Slingshot
    port = "sys/class/infiniband/mlx5_0/ports/{}/counters/{}"
    machine.file(port.format(1, "port_xmit_data"), "1000\n", "251000\n")
    machine.file(port.format(1, "port_xmit_packets"), "7\n", "1007\n")
    machine.file(port.format(1, "port_rcv_data"), "9000\n", "0\n")
    machine.file(port.format(2, "port_xmit_data"), "5\n")
    cxi = "sys/class/cxi/cxi0/device/telemetry"
    machine.file(f"{cxi}/hni_sts_tx_ok_octets", "100@1.5\n", "5100@2.5\n")
    machine.file("sys/class/cxi/cxi1/device/telemetry/other", "1@1.5\n")
    recording = machine.record(mpi, compiled, record, ranks=2)
    # THEN they are there over time, in bytes, but for what was set back
    ports = recording.table("port_samples").sort("time_s")
    assert ports["port"].unique().sort().to_list() == ["cxi0", "mlx5_0/1", "mlx5_0/2"]
    one = ports.filter(port="mlx5_0/1")
    assert len(one) >= 4 and one["tx_bytes"][0] == 0 and one["tx_bytes"].is_sorted()
    last = {row["port"]: row for row in ports.group_by("port").last().iter_rows(named=True)}
    assert last["mlx5_0/1"]["tx_bytes"] == 1_000_000 and last["mlx5_0/1"]["tx_packets"] == 1000
    assert last["mlx5_0/1"]["rx_bytes"] is None and one["rx_bytes"][0] == 0
    assert last["mlx5_0/2"]["tx_bytes"] == 0 and last["cxi0"]["tx_bytes"] == 5000
    # AND one without such counters is absent for a reason
    absent = {each["source"]: each["why"] for each in recording.context["nodes"][0]["absent"]}
    assert "ENOENT" in absent["port cxi1"]


def links(directory: Path, targets: list[str]) -> None:
    """Open files, as /proc/PID/fd has them."""
    directory.mkdir(parents=True)
    for number, target in enumerate(targets):
        (directory / str(number)).symlink_to(target)


@one_mpi
def test_adapters_that_ranks_have_open_and_those_that_nobody_has(mpi, compiled, record, machine):
    # GIVEN ranks with two adapters open, and two others, one of which is busy
    machine.file("proc/stat", stat_text([0, 1], 10), stat_text([0, 1], 20))
    links(
        machine.directory / "proc/self/fd",
        ["/dev/null", "/dev/infiniband/uverbs1", "/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm", "/dev/hfi1_0",
         "/dev/infiniband/uverbs7", "socket:[5]"],
    )  # fmt: skip
    machine.file("sys/class/infiniband_verbs/uverbs1/ibdev", "mlx5_bond_0\n")
    for adapter, later in (("mlx5_bond_0", 900), ("hfi1_0", 7), ("mlx5_1", 507), ("mlx5_2", 7)):
        machine.file(f"sys/class/infiniband/{adapter}/ports/1/counters/port_xmit_data", "7\n", f"{later}\n")
    recording = machine.record(mpi, compiled, record, ranks=2)
    devices = recording.table("rank_devices").filter(how="open")
    # THEN each is there once by the adapter's name, or by the file's where the kernel does not say it
    for rank in (0, 1):
        assert devices.filter(rank=rank)["device"].to_list() == ["hfi1_0", "mlx5_bond_0", "uverbs7"]
    report = build(recording)
    use = {each.interface: each for each in report.use.interfaces}
    assert use["mlx5_bond_0/1"].ranks == "0-1" and use["hfi1_0/1"].ranks == "0-1" and use["hfi1_0/1"].idle
    assert use["mlx5_1/1"].ranks == "" and not use["mlx5_1/1"].idle and use["mlx5_2/1"].idle
    said = use_words.idle_interfaces(report.use, ["vm"])
    assert said == ["idle: hfi1_0/1; mlx5_2/1", "no rank used: mlx5_1/1 (2 kB)"]
    page = render_html(report)
    assert "no rank used: mlx5_1/1" in page.lower() and "<td>0-1</td>" in page


@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11"))
def test_the_interface_that_a_ranks_connections_go_through(mpi, compiled, record, tmp_path):
    # GIVEN a rank that sends 28 bytes to itself, through `lo`
    record(mpi, 1, compiled(mpi, "sockets.c"))
    recording = Recording.open(tmp_path)
    devices = recording.table("rank_devices").filter(device="lo")
    row = devices.row(0, named=True)
    assert row["how"] == "address" and row["rank"] == 0
    assert row["sent_bytes"] >= 28 and row["received_bytes"] >= 28
    if mpi.family == "mpich":
        assert (row["sent_bytes"], row["received_bytes"]) == (28, 28)
    report = build(recording)
    (lo,) = [each for each in report.use.interfaces if each.interface == "lo"]
    assert lo.ranks == "0" and lo.rank_bytes == row["sent_bytes"] + row["received_bytes"]
    # AND no other interface is said to be used
    assert {each.ranks for each in report.use.interfaces if each.interface != "lo"} <= {""}


@one_mpi
def test_without_network_time_nobody_says_which_interfaces_are_used(mpi, compiled, record, tmp_path):
    record(mpi, 1, compiled(mpi, "sockets.c"), environment={"RANKWISE_NETWORK": "0"})
    report = build(Recording.open(tmp_path))
    assert {(each.ranks, each.rank_bytes) for each in report.use.interfaces} == {(None, None)}
    assert "no rank used" not in render_text(report, verbose=True)


@one_mpi
def test_without_an_end_there_are_no_interrupts_by_line_and_that_is_said(mpi, compiled, record, tmp_path):
    program = compiled(mpi, "use.c")
    record(mpi, 1, program, 10, 1, 3, 0, 0, "kill", expect=None)
    recording = Recording.open(tmp_path)
    assert recording.table("interrupts").is_empty()
    (absent,) = [e for e in recording.context["nodes"][0]["absent"] if e["source"] == "interrupts by line"]
    assert "MPI_Finalize" in absent["why"]
    assert recording.table("core_samples")["time_s"].max() > 0


@one_mpi
def test_a_run_that_is_killed_has_its_interrupts_by_line_until_the_last_copy(
    mpi, compiled, record, machine, tmp_path
):
    # GIVEN a run of more than two seconds without an end, on a machine whose interrupts grow meanwhile
    machine.file("proc/stat", stat_text([0, 1], 10))
    machine.file("proc/interrupts", interrupts_text([0, 1], {"77": ("PCI-MSI eth7", {1: 5})}))
    program = compiled(mpi, "node_use.c")
    later = machine.directory / "later"
    later.write_text(interrupts_text([0, 1], {"77": ("PCI-MSI eth7", {1: 30})}))
    swap = [machine.directory / "proc/interrupts", later]
    record(mpi, 1, program, "killed", *swap, environment=machine.environment, expect=None)
    recording = Recording.open(tmp_path)
    # THEN what came until the last copy is there, and said to be a part
    assert recording.table("interrupts").select("line", "pu", "count").rows() == [("77", 1, 25)]
    absent = recording.context["nodes"][0]["absent"]
    (said,) = [each for each in absent if each["source"].startswith("interrupts by line")]
    number, unit = re.search(r"after (\d[.\d]*) (s|ms)$", said["source"]).groups()
    until_s = float(number) * {"s": 1, "ms": 1e-3}[unit]
    assert 0.5 <= until_s <= 1.01 * recording.ranks["time_s"][0] and "meanwhile" in said["why"]
    # AND all copies are as they were written, with nothing left beside them
    found = {".".join(each.file.rsplit(".", 2)[-2:]): each.state for each in check(tmp_path)}
    assert {name: state for name, state in found.items() if name.endswith("tar")} == {
        "start.tar": "whole", "end.tar": "whole", "topology.tar": "whole"
    }  # fmt: skip
    assert not [file for file in (tmp_path / "raw").iterdir() if file.suffix not in (".tar", ".rwn")]


def controller(machine: Machine, name: str, pmu_type: int, cpumask: str, formats: dict, events: dict) -> None:
    """A PMU of a memory controller in /sys, with events of 64 bytes."""
    pmu = f"sys/bus/event_source/devices/{name}"
    machine.file(f"{pmu}/type", f"{pmu_type}\n")
    machine.file(f"{pmu}/cpumask", f"{cpumask}\n")
    for term, bits in formats.items():
        machine.file(f"{pmu}/format/{term}", f"{bits}\n")
    for event, (terms, scale) in events.items():
        machine.file(f"{pmu}/events/{event}", f"{terms}\n")
        machine.file(f"{pmu}/events/{event}.scale", f"{scale}\n")
        machine.file(f"{pmu}/events/{event}.unit", "MiB\n")


@one_mpi
def test_memory_bandwidth_of_a_pmu_that_counts_what_is_known(mpi, compiled, record, machine):
    # GIVEN the kernel's own clock of a CPU, which counts nanoseconds, as a controller that counts bytes
    machine.file("proc/stat", stat_text([0, 1], 10))
    byte = 1 / 1048576
    events = {"cas_count_read": ("clock=0x0", byte), "cas_count_write": ("clock=0", 2 * byte)}
    for name in ("uncore_imc_0", "uncore_imc_1"):
        controller(machine, name, 1, "0,1", {"clock": "config:0-7,32-55"}, events)
    recording = machine.record(mpi, compiled, record, ranks=2)
    if any(each["source"] == "memory bandwidth" for each in recording.context["nodes"][0]["absent"]):
        pytest.skip("counters of all programs are not allowed here")
    # THEN both of a socket add up, in bytes, sample by sample
    samples = recording.table("memory_samples")
    assert samples["pu"].unique().sort().to_list() == [0, 1]
    for pu in (0, 1):
        rows = samples.filter(pu=pu).drop_nulls()
        assert len(rows) >= 3 and rows["read_bytes"][0] == 0 and rows["read_bytes"].is_sorted()
        spent_ns = (rows["time_s"][-1] - rows["time_s"][1]) * 1e9
        read, written = (rows[name].diff().drop_nulls() for name in ("read_bytes", "written_bytes"))
        assert read[1:].sum() == pytest.approx(2 * spent_ns, rel=0.1)
        # A sampler that loses its core between the two readings has some samples apart: not most of them.
        assert (written / read).median() == pytest.approx(2, rel=0.01)
    report = build(recording)
    assert [each.pu for each in report.use.memory] == [0, 1]
    assert report.use.memory[0].read_bytes_per_s == pytest.approx(2e9, rel=0.15)
    (said, _) = use_words.memory_use(report.use, ["vm"])
    # Both count the same: which is said to be the busier one is chance.
    assert re.match(r"memory of the socket of PU [01]: ", said) and said in render_html(report).replace(
        "Memory", "memory"
    )


# As the kernel has them: arch/x86/events/intel/uncore_snbep.c (Skylake, Ice Lake and Sapphire Rapids servers), and
# arch/x86/events/amd/uncore.c with umc_cas_cmd of tools/perf/pmu-events/arch/x86/amdzen4.
INTEL = {"event": "config:0-7", "umask": "config:8-15"}
AMD = {"event": "config:0-7", "rdwrmask": "config:8-9"}
CONTROLLERS = {
    "skx": ("uncore_imc_0", INTEL, ("event=0x04,umask=0x03", "event=0x04,umask=0x0c")),
    "icx": ("uncore_imc_0", INTEL, ("event=0x04,umask=0x0f", "event=0x04,umask=0x30")),
    "spr": ("uncore_imc_0", INTEL, ("event=0x05,umask=0xcf", "event=0x05,umask=0xf0")),
    "zen4": ("amd_umc_0", AMD, None),
}


@one_mpi
@pytest.mark.parametrize("processor", CONTROLLERS)
def test_memory_controllers_of_other_processors_are_found_and_not_opened_here(
    mpi, compiled, record, machine, processor
):
    # GIVEN the files of a processor that this machine has not WHEN it is recorded
    machine.file("proc/stat", stat_text([0, 1], 10))
    name, formats, terms = CONTROLLERS[processor]
    scale = "6.103515625e-5"
    events = dict(zip(("cas_count_read", "cas_count_write"), ((t, scale) for t in terms or ()), strict=False))
    controller(machine, name, 7777, "0", formats, events)
    recording = machine.record(mpi, compiled, record)
    # THEN it was tried, and the kernel knows no such PMU
    absent = {each["source"]: each for each in recording.context["nodes"][0]["absent"]}["memory bandwidth"]
    assert "ENOENT" in absent["why"] and "counters of all programs" in absent["why"]
    assert recording.table("memory_samples").is_empty()


@one_mpi
@pytest.mark.parametrize(
    "spoil", ["events/cas_count_read.unit", "events/cas_count_write.scale", "format/umask", "cpumask"]
)
def test_a_controller_that_cannot_be_understood_is_named(mpi, compiled, record, machine, spoil):
    machine.file("proc/stat", stat_text([0, 1], 10))
    events = {f"cas_count_{way}": ("event=0x04,umask=0x03", "6.1e-5") for way in ("read", "write")}
    controller(machine, "uncore_imc_0", 1, "0", INTEL, events)
    (machine.directory / "sys/bus/event_source/devices/uncore_imc_0" / spoil).unlink()
    recording = machine.record(mpi, compiled, record)
    absent = {each["source"]: each for each in recording.context["nodes"][0]["absent"]}["memory bandwidth"]
    assert absent["why"].startswith("the kernel does not say what a PMU of a memory controller counts")
