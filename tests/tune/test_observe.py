# SPDX-License-Identifier: BSD-3-Clause
"""What a tuner sees: of real processes, and of trees made up in place of /proc and /sys."""

import json
import os
import random
import signal
import struct
import subprocess
import time

import pytest

NAMES_OF_STAT = 52
TICKS_PER_S = 1e9
MAGIC, VERSION, PEERS = 0x3147504557525752, 1, 48
HEAD = struct.Struct("<QIIiiiIQd")
COUNTS = struct.Struct("<QQQQQQIIQQQ")
PEER = struct.Struct("<iIQQ")


def start_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])


def page(
    pid,
    rank=0,
    ranks=2,
    *,
    start=None,
    magic=MAGIC,
    calls=5,
    mpi=0,
    wait=0,
    entered=0,
    iterations=0,
    peers=(),
):
    """A rank's page (`formats/tune_page.h`) with ticks of a nanosecond."""
    size = HEAD.size + COUNTS.size + PEERS * PEER.size
    begun = start_of(pid) if start is None else start
    head = HEAD.pack(magic, VERSION, size, pid, rank, ranks, 0, begun, TICKS_PER_S)
    counts = COUNTS.pack(calls, mpi, wait, entered, iterations, 1, 1, len(peers), 0, 7, 700)
    return (head + counts + b"".join(PEER.pack(peer + 1, 0, 3, 300) for peer in peers)).ljust(size, b"\0")


@pytest.fixture
def pages(tmp_path):
    directory = tmp_path / "pages"
    directory.mkdir()
    return directory


def ranks_of(driver, kind="sample"):
    return {rank["progress"]["rank"]: rank for rank in driver.sample(kind)["ranks"] if rank["progress"]}


def test_threads_are_seen_with_what_they_do(start, driving):
    # GIVEN a process of two threads that sleep and one that computes
    process = start(2, spin=1, pus={0})
    driver = driving(process)
    # WHEN it is looked at twice
    first = driver.sample()["ranks"][0]
    time.sleep(0.3)
    second = driver.sample()["ranks"][0]
    # THEN its first thread comes first, one ran, and all are where they may be
    assert [thread["tid"] for thread in second["threads"]][0] == process.pid
    assert len(second["threads"]) == 3
    ran = [
        after["run"] - before["run"]
        for before, after in zip(first["threads"], second["threads"], strict=True)
    ]
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


def test_pages_are_found_as_they_come(start, driving, pages):
    # GIVEN a tuner at work
    a, b = start(), start()
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver) == {}
    # WHEN ranks prepare their pages, one in a directory of its own
    (pages / "0.page").write_bytes(page(a.pid, 0, peers=[1]))
    (pages / "job").mkdir()
    path = pages / "job" / "1.page"
    path.write_bytes(page(b.pid, 1, magic=0))
    # THEN it sees what is whole
    found = ranks_of(driver)
    assert found.keys() == {0}
    assert found[0]["progress"]["peers"] == [[1, 3, 300]]
    assert found[0]["group"].startswith(("session.", "mpiexec"))
    # AND the other once it is
    path.write_bytes(page(b.pid, 1, mpi=2 * 10**9, wait=10**9))
    found = ranks_of(driver)
    assert found.keys() == {0, 1}
    assert (found[1]["progress"]["mpi"], found[1]["progress"]["wait"]) == (2.0, 1.0)
    # AND a light sample has progress alone
    assert ranks_of(driver, "light")[1]["threads"] == []


def test_times_never_go_back(start, driving, pages):
    a = start()
    path = pages / "0.page"
    path.write_bytes(page(a.pid, mpi=5 * 10**9, wait=3 * 10**9))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver)[0]["progress"]["mpi"] == 5.0
    with path.open("r+b") as file:
        file.write(page(a.pid, mpi=4 * 10**9, wait=10**9))
    assert ranks_of(driver)[0]["progress"]["mpi"] == 5.0
    assert ranks_of(driver)[0]["progress"]["wait"] == 3.0


def test_pages_that_are_cut_short_end_nothing(start, driving, pages):
    a = start()
    path = pages / "0.page"
    path.write_bytes(page(a.pid))
    driver = driving(lines=[f"pages {pages}"])
    assert ranks_of(driver).keys() == {0}
    os.truncate(path, 100)
    assert ranks_of(driver, "light") == {}
    assert "damaged" in driver.ask("notes")


def test_what_is_no_page_of_its_process_is_refused(start, driving, pages, tmp_path):
    # GIVEN pages of a process that is gone, of another's start, a link, a pipe, too short, and of another user
    a = start()
    (pages / "gone.page").write_bytes(page(a.pid, start=1))
    (tmp_path / "elsewhere").write_bytes(page(a.pid))
    (pages / "link.page").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(pages / "pipe.page")
    (pages / "short.page").write_bytes(page(a.pid)[:-1])
    if os.geteuid() == 0:
        (pages / "theirs.page").write_bytes(page(a.pid))
        os.chown(pages / "theirs.page", 12345, 12345)
    # WHEN they are looked for THEN none is one
    driver = driving(lines=[f"pages {pages}"])
    assert driver.sample()["ranks"] == []


def stat_line(number, *, state="S", threads=1, start=77, pu=0, name="a) b"):
    fields = ["0"] * NAMES_OF_STAT
    fields[0], fields[1], fields[2] = str(number), f"({name})", state
    fields[11], fields[13], fields[14] = "4", "150", "50"
    fields[19], fields[21], fields[38] = str(threads), str(start), str(pu)
    return " ".join(fields) + "\n"


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
    assert units[0]["interrupts"] == 17
    assert units[0]["clock"] == 0.5
    # THEN another user's process has only the name of a mover, and DLB is its rank's affair
    assert sample["movers"] == ["AutoNUMA", "irqbalance", "sched_ext"]
    assert rank["has_dlb"] is True


def test_an_interrupts_share_is_told_by_how_often_it_came(driving, tree):
    # GIVEN a node that was looked at
    proc, sys = tree
    driver = driving(lines=[f"proc {proc}", f"sys {sys}", "pid 500"])
    driver.sample()
    # WHEN interrupt 24 comes 30 times, 25 ten times, and timers more often
    head = "           CPU0\n"
    (proc / "interrupts").write_text(head + " 24:  41  IO-APIC  x\nLOC:  9999  Local timer\n 25: 16 y\n")
    unit = driver.sample()["pus"][0]
    # THEN
    assert (unit["line"], unit["line_share"], unit["line_numa"]) == (24, 0.75, 1)


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


def test_pages_by_node_are_counted_in_pages_of_4_kib(driver_program, tmp_path):
    maps = tmp_path / "numa_maps"
    maps.write_text(
        "5500 default file=/bin/a mapped=3 N0=1 N1=2 kernelpagesize_kB=4\n"
        "7f00 default anon=5 dirty=5 N1=5 kernelpagesize_kB=2048\n"
    )
    done = subprocess.run(
        [driver_program, "--read", "numa_maps", maps], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [1, 2 + 5 * 512]


@pytest.mark.parametrize("kind", ["page", "proc"])
def test_no_bytes_make_a_reader_touch_what_is_not_its_own(kind, driver_program, tmp_path):
    # GIVEN damaged files of what the tuner reads, and readers built with sanitizers
    dice = random.Random(7)
    good = [page(os.getpid(), peers=[1])]
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
