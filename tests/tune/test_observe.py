# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner sees: of real processes, and of trees made up in place of /proc and /sys."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from proc_stat import start_of, stat_line
from tune_page import made_up


def test_threads_are_seen_with_what_they_do(start, driving):
    # GIVEN a process of two threads that sleep and one that computes
    process = start(2, spin=1, pus={0})
    driver = driving(process)
    # WHEN it is looked at again after the kernel gave it a core for a while
    first = driver.sample()["ranks"][0]
    for _ in range(100):
        time.sleep(0.1)
        second = driver.sample()["ranks"][0]
        ran = [
            after["run"] - before["run"]
            for before, after in zip(first["threads"], second["threads"], strict=True)
        ]
        if max(ran) > 0.1:
            break
    # THEN its first thread comes first, one ran, and all are where they may be
    assert [thread["tid"] for thread in second["threads"]][0] == process.pid
    assert len(second["threads"]) == 3
    assert sorted(time_s > 0.02 for time_s in ran) == [False, False, True]
    assert {thread["mask"] for thread in second["threads"]} == {"0"}
    assert second["start"] == start_of(process.pid)


def test_a_rank_that_ended_is_seen_no_more(start, driving):
    process, other = start(), start()
    driver = driving(process, other)
    process.kill()
    time.sleep(0.1)  # it is a zombie now
    assert [rank["pid"] for rank in driver.sample()["ranks"]] == [other.pid]
    process.wait()
    assert [rank["pid"] for rank in driver.sample()["ranks"]] == [other.pid]


def test_a_stopped_rank_is_said_to_be(start, driving):
    process = start(2)
    driver = driving(process)
    assert driver.sample()["ranks"][0]["stopped"] is False
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    assert driver.sample()["ranks"][0]["stopped"] is True
    process.send_signal(signal.SIGCONT)


def test_a_process_of_very_many_threads_is_not_tuned_and_that_is_said(start, driving):
    few, many = start(2), start(1100)
    driver = driving(few, many)
    assert [rank["pid"] for rank in driver.sample()["ranks"]] == [few.pid]
    said = f"too many threads (one rank may have 1024), of process {many.pid}"
    assert said in driver.ask("notes")


@pytest.fixture
def tree(tmp_path):
    """Trees in place of /proc and /sys: a node of two units, one offline, and process 500 of two threads."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    for thread, more in ((500, {"threads": 2}), (501, {"state": "R", "pu": 1})):
        task = proc / f"500/task/{thread}"
        task.mkdir(parents=True)
        (task / "stat").write_text(stat_line(thread, **more))
        (task / "schedstat").write_text("3000000000 250000000 9\n")
        (task / "status").write_text("Name:\ta\nCpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n")
    (proc / "500/stat").write_text(stat_line(500, threads=2))
    (proc / "500/environ").write_bytes(b"A=1\0RANKWISE_LAB_NODE=n3\0B=2\0")
    (proc / "500/comm").write_text("app\n")
    (proc / "500/maps").write_text("7f00-7f10 r-xp 00000000 fe:00 12 /opt/lib/libdlb_mpi.so\n")
    (proc / "500/cgroup").write_text("0::/job\n")
    (proc / "1").mkdir()
    (proc / "1/comm").write_text("init\n")
    (proc / "600").mkdir()
    (proc / "600/comm").write_text("irqbalance\n")
    (proc / "700").mkdir()
    (proc / "700/comm").write_text("numad\n" if os.geteuid() == 0 else "of another user\n")
    if os.geteuid() == 0:
        os.chown(proc / "700", 12345, 12345)
    (proc / "irq/24").mkdir(parents=True)
    (proc / "irq/24/node").write_text("1\n")
    (proc / "stat").write_text("cpu 1 1 1 1\ncpu0 100 20 30 9999 8888 10 15 7 50 0\nintr 1\n")
    head = "           CPU0\n"
    (proc / "interrupts").write_text(
        head + " 24:  11  IO-APIC  x\nLOC:  99  Local timer\nERR:  5\n 25: 6 y\n"
    )
    (proc / "sys/kernel").mkdir(parents=True)
    (proc / "sys/kernel/numa_balancing").write_text("1\n")
    (sys / "kernel/sched_ext").mkdir(parents=True)
    (sys / "kernel/sched_ext/state").write_text("enabled\n")
    clock = sys / "devices/system/cpu/cpu0/cpufreq"
    clock.mkdir(parents=True)
    (clock / "scaling_cur_freq").write_text("1500000\n")
    (clock / "cpuinfo_max_freq").write_text("3000000\n")
    (sys / "fs/cgroup/job").mkdir(parents=True)
    (sys / "fs/cgroup/job/cgroup.events").write_text("populated 1\nfrozen 1\n")
    return proc, sys


def test_a_made_up_node_is_seen_as_it_is(driving, tree):
    # GIVEN trees of a node
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    # WHEN it is looked at again, so that what it ran is known
    sample = driver.sample()
    # THEN all is as it says
    rank = sample["ranks"][0]
    assert rank["group"].endswith("/n3")
    assert [(t["tid"], t["state"], t["pu"], t["mask"]) for t in rank["threads"]] == [
        (500, "S", 0, "0-1"),
        (501, "R", 1, "0-1"),
    ]
    assert (rank["threads"][0]["run"], rank["threads"][0]["queued"], rank["threads"][0]["major_faults"]) == (
        3.0,
        0.25,
        4,
    )
    assert rank["stopped"] is True
    units = {unit["os"]: unit for unit in sample["pus"]}
    assert units[0]["online"] and not units[1]["online"]
    assert units[0]["busy"] == pytest.approx(1.75)
    assert units[0]["interrupt"] == pytest.approx(0.25)
    assert units[0]["stolen"] == pytest.approx(0.07)
    assert units[0]["interrupts"] == 17
    assert (units[0]["clock"], units[0]["capacity"]) == (0.5, 1)
    # THEN another user's process has only the name of a mover, and DLB is its rank's affair
    assert sample["movers"] == ["AutoNUMA", "irqbalance", "sched_ext"]
    assert rank["has_dlb"] is True


def test_a_thread_that_had_no_core_meanwhile_is_not_read_anew(driving, tree):
    # GIVEN a node that was looked at
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    task = proc / "500/task"

    def seen():
        return [(thread["state"], thread["pu"]) for thread in driver.sample()["ranks"][0]["threads"]]

    assert seen() == [("S", 0), ("R", 1)]
    # WHEN the stat of both threads is another one, which the kernel changes only with their schedstat
    (task / "500/stat").write_text(stat_line(500, state="T", threads=2))
    (task / "501/stat").write_text(stat_line(501, state="T"))
    # THEN the main thread's alone, which says how many there are, is read
    assert seen() == [("T", 0), ("R", 1)]
    # WHEN it was given a core, however short, THEN so is the other
    (task / "501/schedstat").write_text("3000000000 250000000 10\n")
    assert seen() == [("T", 0), ("T", 0)]


@pytest.mark.parametrize(
    ("highest", "told", "expected"),
    [
        ((5000000, 4000000), None, [1, 0.8]),
        ((5000000, 4800000), None, [1, 1]),  # a favoured core of the same kind
        ((5000000, 4000000), (512, 1024), [0.5, 1]),
        ((5000000, None), None, [1, 1]),
    ],
)
def test_kinds_of_cores_are_told_apart(driving, tree, highest, told, expected):
    # GIVEN two cores with these highest clocks (kHz), or of which the kernel tells what they can do
    proc, sys = tree
    for pu, clock in enumerate(highest):
        folder = sys / f"devices/system/cpu/cpu{pu}"
        (folder / "cpufreq").mkdir(parents=True, exist_ok=True)
        if clock:
            (folder / "cpufreq/cpuinfo_max_freq").write_text(f"{clock}\n")
        if told:
            (folder / "cpu_capacity").write_text(f"{told[pu]}\n")
    # WHEN they are looked at, THEN each has its part of what the most capable one can do
    sample = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"]).sample()
    assert [unit["capacity"] for unit in sample["pus"]] == pytest.approx(expected)


def test_an_interrupts_share_is_told_by_how_often_it_came(driving, tree):
    # GIVEN a node that was looked at
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    driver.sample()
    # WHEN interrupt 24 comes 30 times, 25 ten times, and timers more often
    head = "           CPU0\n"
    (proc / "interrupts").write_text(head + " 24:  41  IO-APIC  x\nLOC:  9999  Local timer\n 25: 16 y\n")
    # THEN the next time that they are read: the rarer, the longer it takes
    end = time.monotonic() + 60
    while (unit := driver.sample()["pus"][0])["line"] < 0 and time.monotonic() < end:
        time.sleep(0.05)
    assert (unit["line"], unit["line_share"], unit["line_numa"]) == (24, 0.75, 1)


def test_who_serves_a_network_interface_is_seen(driving, tree):
    # GIVEN an interface with two interrupts, one of which the kernel keeps to one of its units, and a queue whose
    # packets are handed on
    proc, sys = tree
    for number, allowed, effective in ((24, "0-1", "0"), (25, "1", "1")):
        (proc / f"irq/{number}").mkdir(exist_ok=True)
        (proc / f"irq/{number}/smp_affinity_list").write_text(f"{allowed}\n")
        (proc / f"irq/{number}/effective_affinity_list").write_text(f"{effective}\n")
    for name, mask in (("rx-0", "00000000,00000000"), ("rx-1", "00000000,00000002")):
        (sys / f"class/net/eth0/queues/{name}").mkdir(parents=True)
        (sys / f"class/net/eth0/queues/{name}/rps_cpus").write_text(f"{mask}\n")
    (sys / "class/net/eth0/device/msi_irqs").mkdir(parents=True)
    for number in (24, 25):
        (sys / f"class/net/eth0/device/msi_irqs/{number}").write_text("msix\n")
    (sys / "class/net/lo").mkdir()
    # WHEN it is looked at
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    # THEN it is said once, and stays in the status
    said = "eth0: interrupt 24 on PU 0 of 0-1, interrupt 25 on PU 1; rx-1 handed on to PU 1 (RPS)"
    assert json.loads(driver.ask("limits"))["queues"] == [said]
    assert driver.ask("notes").count(said) == 1
    assert [unit["steered_to"] for unit in driver.sample()["pus"]] == [False, True]
    assert driver.ask("notes").count(said) == 0


def test_what_hidepid_hides_is_not_said_to_be_absent(driving, tree):
    # GIVEN a /proc in which other users' processes are hidden (hidepid=2), the first one, too
    proc, sys = tree
    for number in (1, 600, 700):
        shutil.rmtree(proc / str(number))
    # WHEN it is looked at
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", "pid 600"])
    # THEN it is said that there may be others, and of a process that is not there that it may be hidden
    notes = driver.ask("notes")
    assert "other movers and jobs: processes of other users cannot be seen" in notes
    assert "process 600 does not run, or cannot be seen" in notes
    assert any("cannot be seen" in each for each in json.loads(driver.ask("limits"))["unknown"])


def test_jobs_are_told_apart_by_their_control_groups(driving, tree):
    # GIVEN processes of one session, whose control groups differ in Slurm's task, and in the job
    proc, sys = tree
    groups = ("job_1/step_0/task_0", "job_1/step_0/task_1", "job_2/step_0/task_0")
    for number, group in enumerate(groups, 500):
        if number > 500:
            shutil.copytree(proc / "500", proc / f"{number}")
            (proc / f"{number}/task/500").rename(proc / f"{number}/task/{number}")
        else:
            shutil.rmtree(proc / "500/task/501")
        for folder in (proc / f"{number}", proc / f"{number}/task/{number}"):
            (folder / "stat").write_text(stat_line(number))
        (proc / f"{number}/cgroup").write_text(f"0::/slurm/{group}\n")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", "pid 501", "pid 502"])
    # WHEN they are seen THEN those of one job are a group
    first, second, third = (rank["group"] for rank in driver.sample()["ranks"])
    assert first == second != third


@pytest.mark.parametrize("name", ["n" * 65, "n 3", 'n"3'])
def test_what_is_no_name_of_a_lab_node_is_none(name, driving, tree):
    proc, sys = tree
    (proc / "500/environ").write_bytes(b"A=1\0RANKWISE_LAB_NODE=" + name.encode() + b"\0")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    assert "n" * 3 not in driver.sample()["ranks"][0]["group"]
    assert '"3' not in driver.sample()["ranks"][0]["group"]
    assert "n 3" not in driver.sample()["ranks"][0]["group"]


def test_a_daemon_asks_no_process_for_its_environment(driving, tree):
    # GIVEN a process whose environment, once it is opened, is not read to its end
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", "daemon 1"])
    # THEN a daemon does not read it
    assert not driver.sample()["ranks"][0]["group"].endswith("/n3")


def test_what_holds_units_back_is_seen(driving, tree):
    # GIVEN a node whose first core has a lower clock allowed and was too hot, with limits of power
    proc, sys = tree
    cpu = sys / "devices/system/cpu/cpu0"
    (cpu / "cpufreq/scaling_max_freq").write_text("2400000\n")
    (cpu / "thermal_throttle").mkdir()
    (cpu / "thermal_throttle/core_throttle_count").write_text("5\n")
    (cpu / "thermal_throttle/package_throttle_count").write_text("7\n")
    zone = sys / "class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "constraint_0_power_limit_uw").write_text("180000000\n")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    # WHEN it is looked at THEN all is as it says, and of the core that says nothing nothing is known
    units = driver.sample()["pus"]
    assert (units[0]["clock_limit"], units[0]["throttled"]) == (0.8, 12)
    assert (units[1]["clock_limit"], units[1]["throttled"]) == (None, None)
    limits = json.loads(driver.ask("limits"))
    assert (limits["clock"], limits["throttled"], limits["power"]) == (0.8, 0, [["package-0", 180]])
    assert [line.split(":")[0] for line in limits["unknown"]] == ["memory traffic"]


def test_what_is_not_known_of_limits_is_said(driving, tree):
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    limits = json.loads(driver.ask("limits"))
    assert (limits["clock"], limits["throttled"], limits["power"]) == (None, None, [])
    assert len(limits["unknown"]) == 4


def test_memory_traffic_is_that_of_each_nodes_caches(driving, tree):
    # GIVEN three caches on two NUMA nodes, whose traffic resctrl counts
    proc, sys = tree
    for unit, (cache, count) in enumerate([(0, 100), (1, 20), (12, 3)]):
        index = sys / f"devices/system/cpu/cpu{unit}/cache/index3"
        index.mkdir(parents=True)
        (index / "id").write_text(f"{cache}\n")
        counters = sys / f"fs/resctrl/mon_data/mon_L3_{cache:02d}"
        counters.mkdir(parents=True)
        (counters / "mbm_total_bytes").write_text(f"{count}\n")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", "pu 2 2 2 2 1 0"])
    # WHEN it is looked at THEN each node has its own caches'
    assert driver.sample()["memory_bytes"] == [120, 3]
    # AND counts that begin anew do not go back, and one that is not there for a moment makes none of another
    (sys / "fs/resctrl/mon_data/mon_L3_12/mbm_total_bytes").write_text("2\n")
    assert driver.sample()["memory_bytes"] == [120, 3]
    (sys / "fs/resctrl/mon_data/mon_L3_12/mbm_total_bytes").write_text("Unavailable\n")
    assert driver.sample()["memory_bytes"] == []
    assert unknown_traffic(driver).endswith("its counters say nothing just now")


ONE_NUMA_NODE_EACH = ["pu 0 0 0 0 0 0", "pu 1 1 1 1 1 1", "memory 2e10 1e10"]


def controllers(sys, name: str, pmu_type: int, cpumask: str, unit: str = "MiB") -> None:
    """A PMU of memory controllers, of whose counts each is a MiB: it has the number of a clock of this machine's."""
    pmu = sys / "bus/event_source/devices" / name
    for directory in ("format", "events"):
        (pmu / directory).mkdir(parents=True)
    (pmu / "type").write_text(f"{pmu_type}\n")
    (pmu / "cpumask").write_text(f"{cpumask}\n")
    (pmu / "format/clock").write_text("config:0-7\n")
    for way in ("read", "write"):
        (pmu / f"events/cas_count_{way}").write_text("clock=0x0\n")
        (pmu / f"events/cas_count_{way}.scale").write_text("1\n")
        (pmu / f"events/cas_count_{way}.unit").write_text(f"{unit}\n")


# Of seccomp, and of the kernel where perf_event_paranoid is above 0.
REFUSALS = ("Operation not permitted", "Permission denied", "Function not implemented", "seccomp")


def unknown_traffic(driver) -> str:
    """What it says of memory traffic that it does not know."""
    unknown = json.loads(driver.ask("limits"))["unknown"]
    return next(line for line in unknown if line.startswith("memory traffic: "))


def test_memory_traffic_is_what_controllers_of_each_node_count(driving, tree, two_pus):
    # GIVEN two NUMA nodes, a controller on one, and two on the other, that count nanoseconds
    proc, sys = tree
    controllers(sys, "uncore_imc_0", 1, "0,1")
    controllers(sys, "uncore_imc_1", 1, "1")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", *ONE_NUMA_NODE_EACH])
    # WHEN it is looked at twice
    first = driver.sample()
    said = " ".join(json.loads(driver.ask("limits"))["unknown"])
    if any(refusal in said for refusal in REFUSALS):
        pytest.skip("counters of all programs are not allowed here")
    time.sleep(0.3)
    second = driver.sample()
    # THEN both ways of all of a node's were added up
    assert "memory traffic" not in said
    assert first["counted_at_memory"] is second["counted_at_memory"] is True
    spent_ns = (second["at"] - first["at"]) * 1e9
    one, other = (
        (after - before) / 2**20 / spent_ns
        for before, after in zip(first["memory_bytes"], second["memory_bytes"], strict=True)
    )
    assert one == pytest.approx(2, rel=0.2) and other == pytest.approx(4, rel=0.2)


@pytest.mark.parametrize(
    ("pmu", "node", "why"),
    [
        ((1, "0,1"), [*ONE_NUMA_NODE_EACH[:2]], "no machine file says what its memory has"),
        ((1, "0,1"), ["memory 2e10 1e10"], "there is only one NUMA node"),
        (
            (1, "0"),
            ["pu 0 0 0 0 0 0", "pu 1 1 1 1 1 0", "memory 2e10 1e10"],
            "they count several NUMA nodes together",
        ),
        # It has a number that no PMU has: no counter of it was opened, as the kernel would have said so.
        ((7777, "0"), ONE_NUMA_NODE_EACH, "not every NUMA node has one"),
        ((1, "7"), ONE_NUMA_NODE_EACH, "the package of CPU 7 is not known"),
        (
            (7777, "0,1"),
            ONE_NUMA_NODE_EACH,
            "the kernel does not allow to open them: No such file or directory",
        ),
        ((1, "0,1", "furlongs"), ONE_NUMA_NODE_EACH, "the kernel does not say what they count"),
        (None, ONE_NUMA_NODE_EACH, "the kernel has no counters of them"),
    ],
)
def test_why_controllers_do_not_count_is_said(driving, tree, pmu, node, why):
    proc, sys = tree
    if pmu:
        controllers(sys, "uncore_imc_0", *pmu)
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", *node])
    assert driver.sample()["memory_bytes"] == []
    if "No such file" in why and any(refusal in unknown_traffic(driver) for refusal in REFUSALS):
        pytest.skip("counters of all programs are not allowed here")
    assert unknown_traffic(driver).endswith(f"memory controllers do not either: {why}")


@pytest.mark.parametrize(
    ("name", "text"),
    [("cas_count_write.unit", ""), ("cas_count_write", "unheard_of=0x1"), ("cas_count_write", "")],
)
def test_a_part_of_the_traffic_is_none(driving, tree, name, text):
    # GIVEN a controller of which it is not known how to count what is written
    proc, sys = tree
    controllers(sys, "uncore_imc_0", 7777, "0,1")
    (sys / "bus/event_source/devices/uncore_imc_0/events" / name).write_text(f"{text}\n")
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", *ONE_NUMA_NODE_EACH])
    # WHEN it is looked at THEN what is read is not taken for all
    assert driver.sample()["memory_bytes"] == []
    assert unknown_traffic(driver).endswith("the kernel does not say what they count")


def test_a_thread_with_the_number_of_one_that_ended_is_read(driving, tree):
    # GIVEN a thread that is seen
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    assert [thread["start"] for thread in driver.sample()["ranks"][0]["threads"]] == [77, 77]
    # WHEN it ends, so that its open files say nothing any more, and another gets its number
    for name, text in (("stat", stat_line(501, start=99)), ("schedstat", "10 0 1\n")):
        path = proc / "500/task/501" / name
        path.write_text("")
        path.unlink()
        path.write_text(text)
    # THEN that one is seen
    assert [thread["start"] for thread in driver.sample()["ranks"][0]["threads"]] == [77, 99]


@pytest.mark.parametrize(("lines", "counted"), [(1, [0, 1]), (100_000, [])])
def test_what_a_process_has_mapped_is_read_up_to_a_size(lines, counted, driving, tree):
    proc, sys = tree
    (proc / "500/numa_maps").write_text(
        "7f00 default anon=1 N1=1 kernelpagesize_kB=4\n" + "x" * 60 * (lines - 1)
    )
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500", "pu 2 2 2 0 1 0"])
    assert driver.sample()["ranks"][0]["pages_by_numa"] == counted


def test_mpi_time_of_a_rank_without_a_page_is_sampled(start, driving, tmp_path):
    # GIVEN a program that computes a third of its time in a library of MPI's name
    (tmp_path / "mpi.c").write_text("void spin(long n) { for (volatile long i = 0; i < n; i++); }\n")
    (tmp_path / "main.c").write_text(
        "void spin(long); static void own(long n) { for (volatile long i = 0; i < n; i++); }\n"
        "int main(void) { for (;;) { spin(300000); own(600000); } }\n"
    )
    library, program = tmp_path / "libmpi.so.99", tmp_path / "main"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", tmp_path / "mpi.c", "-o", library], check=True)
    subprocess.run(["cc", "-O1", tmp_path / "main.c", library, "-o", program], check=True)
    process = subprocess.Popen([program])
    try:
        driver = driving(process)
        if "not permitted" in driver.ask("notes"):
            assert driver.sample()["ranks"][0]["sampled_mpi"] is None
            return
        # WHEN it is sampled for some seconds
        first = driver.sample()["ranks"][0]
        for _ in range(6):
            time.sleep(0.5)
            last = driver.sample()["ranks"][0]
        # THEN about a third of what it ran is MPI's
        ran = last["threads"][0]["run"] - first["threads"][0]["run"]
        assert 0.15 < (last["sampled_mpi"] - first["sampled_mpi"]) / ran < 0.55
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("kind", ["page", "proc"])
def test_no_bytes_make_a_reader_touch_what_is_not_its_own(kind, driver_program, tmp_path):
    # GIVEN damaged files of what the tuner reads, and readers built with sanitizers
    dice = random.Random(7)
    good = [made_up(os.getpid(), peers=[1])]
    if kind == "proc":
        good = []
        for name in ("self/stat", "stat", "interrupts", "self/maps", "self/numa_maps", "self/status"):
            try:
                with open(f"/proc/{name}", "rb") as file:
                    good.append(file.read()[:20000])
            except OSError:
                continue
    paths = []
    for number in range(1500):
        content = bytearray(dice.choice(good))
        for _ in range(dice.randint(1, 8)):
            at = dice.randrange(len(content))
            what = [dice.randbytes(4), b"\xff" * 8, bytes(8), b"\n", b"=", b"-", b",", b"9" * 25]
            content[at : at + dice.choice([0, 4, 8])] = dice.choice(what)
        paths.append(tmp_path / f"{number}")
        paths[-1].write_bytes(content[: dice.choice([len(content), dice.randint(1, len(content))])])
    # WHEN they are read THEN they are read to the end
    subprocess.run([driver_program, "--read", kind, *paths], check=True, capture_output=True)
