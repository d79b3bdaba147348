# SPDX-License-Identifier: BSD-3-Clause
"""The microbenchmarks themselves, on every MPI at hand."""

import subprocess

import mpis
import pytest

from rankwise.measure.samples import Launch
from rankwise.site_build import source_room

pytestmark = pytest.mark.mpi

STEPS = [
    "census",
    "pingpong:pairs=0-1:sizes=1,1000,70000:most=9:budget_s=0.1",
    "pingpong:pairs=1-0:sizes=1000:most=9:budget_s=0.1:rotate_bytes=100000",
    "pingpong:pairs=0-1:sizes=1:most=9:budget_s=0.1:waiters=1",
    "send_overhead:pairs=0-1:sizes=1,70000:most=9:budget_s=0.1",
    "receive_overhead:pairs=0-1:sizes=1,70000:most=9:budget_s=0.1",
    "stream:pairs=0-1:sizes=1,1000:most=9:budget_s=0.1:messages=20",
    "eager:pairs=0-1:sizes=1,1000000:most=3:budget_s=0.1:batch_s=1e-6",
    "cache_line:pairs=0-1:sizes=0:most=9:budget_s=0.1",
    "share:pairs=0-1,2-3:sizes=1000:most=2:batch_s=0.05:messages=16",
    "peers:pairs=0-1,0-2,0-3:sizes=20000",
    "sendrecv:pairs=0-1:sizes=70000:most=4:budget_s=0.1",
    "window:pairs=0-1:sizes=1000:most=4:budget_s=0.1:messages=20",
    "exchange:ranks=0,1:sizes=10000:most=3:budget_s=0.05",
    "bcast:ranks=0,1,2:on=0,-1,-1:sizes=10000:most=3:budget_s=0.05",
    "allreduce:ranks=0,1:sizes=10000:most=3:budget_s=0.05",
    "alltoall:ranks=0,2,3:sizes=8:most=3:budget_s=0.05",
    "allgather:ranks=1,0:sizes=10000:most=3:budget_s=0.05",
    "barrier:ranks=0,1,2,3:sizes=0:most=3:budget_s=0.05",
    "tiled_ring:ranks=0,1,2:sizes=50000:messages=3:most=3:budget_s=0.1",
    "tiled_ring:ranks=0,1:sizes=50000:setting=8192:messages=2:most=3:budget_s=0.1",
    "memory:ranks=0,1:sizes=100000:most=3:batch_s=0.01:budget_s=0.1",
    "polling:pairs=0-1:sizes=70000:setting=10000:most=3:budget_s=0.1",
    "post_work_wait:pairs=0-1:sizes=70000:setting=200:most=3:budget_s=0.1",
    "host_send:pairs=0-1:sizes=1000:most=3:budget_s=0.1",
    "host_receive:pairs=0-1:sizes=1000:most=3:budget_s=0.1",
    "registration:pairs=0-1:sizes=100000:most=3:budget_s=0.1",
    "registration:pairs=2-1:sizes=20000:most=3:budget_s=0.1",
    "core_scan:pairs=0-1:cores=0--1:sizes=8:most=1:batch_s=0.02",
    "stream_cpu:pairs=0-1:sizes=1,20000:most=3:budget_s=2:messages=8:patience=1",
    "waiting:ranks=0,1,2:sizes=1:most=3:batch_s=0.005:budget_s=0.1",
    "exchange_cpu:ranks=0,1,2:sizes=8,20000:most=3:budget_s=2:messages=2:setting=3",
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    built = {}

    def build(mpi):
        if mpi.name not in built:
            room = source_room("measure")
            sources = sorted(room.rglob("*.c"))
            output = tmp_path_factory.mktemp(mpi.name) / "rankwise-measure"
            # Headers of MPICH 4.0 say that MPI_STATUSES_IGNORE is too small.
            quiet = "-Wno-stringop-overflow"
            flags = [
                "-D_GNU_SOURCE",
                "-std=c11",
                "-Wall",
                "-Werror",
                quiet,
                f"-I{room}",
                *map(str, sources[1:]),
                "-lm",
            ]
            built[mpi.name] = mpi.compile(sources[0], output, *flags)
        return built[mpi.name]

    return build


def launch_of(ran, steps=1):
    """The launch that has read what a program of so many steps printed."""
    launch = Launch(channels={step: "any" for step in range(1, steps + 1)})
    for line in ran.stdout.splitlines():
        launch.take(line)
    return launch


def test_every_test_answers_and_its_messages_arrive(mpi, program):
    # GIVEN four ranks, of which two sleep most of the time
    ran = mpi.run(4, program(mpi), *STEPS)
    assert ran.returncode == 0, ran.stderr
    launch = launch_of(ran, steps=len(STEPS))
    # THEN the census knows all ranks and the library
    assert launch.complete
    assert launch.world == 4
    assert sorted(launch.ranks) == [0, 1, 2, 3]
    assert launch.library
    # THEN every step has samples at every size, all of them possible
    table = launch.frame()
    points = {(step, size) for step, size in zip(table["step"], table["bytes"], strict=True)}
    asked = {(n, int(s)) for n, text in enumerate(STEPS, 1) for s in sizes_of(text)}
    assert points == asked
    assert (table["value1"] >= 0).all()
    trips = table.filter((table["test"] == "pingpong") & (table["step"] == 2))
    assert (trips["value1"] > 1e-8).all()
    # THEN each sample is of the whole group, with its setting
    rings = table.filter(table["test"] == "tiled_ring")
    assert set(zip(rings["pairs"], rings["setting"], strict=True)) == {(3, 0), (2, 8192)}
    assert (rings["value2"] <= rings["value1"]).all()
    waits = table.filter(table["test"] == "post_work_wait")
    assert (waits["value4"] > 0).all() and set(waits["setting"]) == {200}
    # THEN a rank has memory, and has met one peer after the other
    met = table.filter(table["test"] == "peers")
    assert met["setting"].to_list() == [1, 2, 3] and (met["value1"] > 1e5).all()
    assert (met["value4"] >= 0).all() and (met["value5"] >= 0).all()
    # THEN both pairs of the shared step were seen in both windows
    shared = table.filter(table["test"] == "share")
    assert sorted(zip(shared["source"], shared["destination"], strict=True)) == [(0, 1)] * 2 + [(2, 3)] * 2


def sizes_of(step: str) -> list[str]:
    return next((w[6:].split(",") for w in step.split(":") if w.startswith("sizes=")), [])


def test_windows_of_pairs_that_share_hold_several_messages_however_slow_the_network(mpi, program):
    # GIVEN windows that are over before a message has arrived
    step = "share:pairs=0-1,2-3:sizes=4000000:most=100:batch_s=1e-4:messages=4"
    ran = mpi.run(4, program(mpi), step)
    assert ran.returncode == 0, ran.stderr
    launch = launch_of(ran)
    windows = launch.frame()
    # THEN there are fewer and longer ones, as long as each other and not longer than four times what was planned
    assert 2 * 2 <= len(windows) < 2 * 100
    assert windows["value3"].n_unique() == 1
    assert 1e-4 < windows["value3"][0] <= 40e-3


@pytest.mark.slow
def test_a_late_launch_spends_less_on_what_the_fit_needs_and_leaves_out_the_rest(mpi, program):
    # GIVEN steps whose time was over before they began
    steps = [
        "pingpong:pairs=0-1:sizes=1,8:most=5:planned_s=9:due_s=1e-9:skip_s=0",
        "window:pairs=0-1:sizes=8:messages=20:most=3:planned_s=9:due_s=1e-9:skip_s=1e-9",
    ]
    ran = mpi.run(2, program(mpi), *steps)
    launch = launch_of(ran, steps=2)
    # THEN the launch ends as it should, with the first alone
    assert launch.complete, ran.stderr
    assert set(zip(launch.frame()["test"], launch.frame()["bytes"], strict=True)) == {
        ("pingpong", 1),
        ("pingpong", 8),
    }


@pytest.mark.parametrize(
    ("batch_s", "most", "least", "largest"), [(1e-9, 50, 1, 1), (1000, 50, 50, 50), (1, 1000, 2, 1000)]
)
def test_an_exchange_has_as_many_messages_as_its_time_has_room_for(
    mpi, program, batch_s, most, least, largest
):
    # GIVEN a batch that is over before a message has arrived, that takes longer than all of them, or neither
    step = f"exchange_cpu:ranks=0,1,2:sizes=2000:most=3:messages={most}:batch_s={batch_s}:setting=3"
    ran = mpi.run(3, program(mpi), step)
    assert ran.returncode == 0, ran.stderr
    launch = launch_of(ran)
    (messages,) = set(launch.frame()["messages"])
    assert least <= messages <= largest


def test_a_larger_message_is_not_left_out_for_what_fewer_of_them_make_good(mpi, program):
    # GIVEN messages of which many fit into a batch, and 100 times larger ones, for which 4 batches are time enough, but
    # not 400
    step = "exchange_cpu:ranks=0,1,2:sizes=10000,1000000:most=3:messages=100000:batch_s=0.5:budget_s=30:skip_s=90"
    ran = mpi.run(3, program(mpi), step)
    assert ran.returncode == 0, ran.stderr
    launch = launch_of(ran)
    # THEN both are measured
    assert set(launch.frame()["bytes"]) == {10_000, 1_000_000}


@mpis.only(
    lambda mpi: mpi.family == "mpich", quick=("mpich-5.0.2",)
)  # batches are counted, not messages of an MPI
def test_a_message_that_takes_far_longer_than_a_batch_is_not_timed_twice_to_find_out(mpi, program, compiled):
    # GIVEN messages of which each takes far more than ten times as long as a batch should
    count = compiled(mpi, "count_sends.c", "-shared", "-fPIC")
    step = "exchange_cpu:ranks=0,1:sizes=1000000:most=3:batch_s=1e-9:budget_s=5"
    ran = mpi.run(2, program(mpi), step, environment={"LD_PRELOAD": str(count)})
    assert ran.returncode == 0, ran.stderr
    samples = len(launch_of(ran).frame())
    # THEN before the samples there is the batch in which ranks meet, and one that tells how long a message takes
    assert samples >= 1 and f"rank 0 sent 1000000 bytes {samples + 2} times" in ran.stderr


def test_damaged_messages_are_noticed(mpi, program, compiled):
    # GIVEN a library that flips a bit of messages of 1000 bytes
    flip = compiled(mpi, "flip_a_bit.c", "-shared", "-fPIC")
    ran = mpi.run(
        2, program(mpi), "pingpong:pairs=0-1:sizes=8,1000:most=9", environment={"LD_PRELOAD": str(flip)}
    )
    assert ran.returncode != 0
    launch = launch_of(ran)
    assert launch.wrong == (1, 0, 1, 1000)
    assert set(launch.frame()["bytes"]) == {8}


@pytest.mark.parametrize(
    "step",
    [
        "nothing:pairs=0-1:sizes=1",
        "pingpong:sizes=1",
        "pingpong:pairs=0-0:sizes=1",
        "pingpong:pairs=0-7:sizes=1",
        "pingpong:pairs=0-1:sizes=-1",
        "pingpong:pairs=0-1:sizes=1:most=x",
        "pingpong:ranks=0,1:sizes=1",
        "bcast:pairs=0-1:sizes=1",
        "bcast:ranks=0,0:sizes=1",
        "bcast:ranks=0,7:sizes=1",
        "pingpong:pairs=0-1:sizes=1:least=0",
        "",
    ],
)
@mpis.only(
    lambda mpi: mpi.family == "mpich", quick=("mpich-5.0.2",)
)  # what is refused is the same on every MPI
def test_a_bad_step_is_refused(mpi, program, step):
    ran = mpi.run(2, program(mpi), step)
    assert "bad step" in ran.stderr
    assert ran.returncode == 2


@mpis.only(lambda mpi: mpi.family == "mpich", quick=("mpich-5.0.2",))  # binding is the kernel's
def test_a_core_that_a_rank_may_not_use_is_refused(mpi, program):
    ran = mpi.run(2, program(mpi), "pingpong:pairs=0-1:cores=0-1000:sizes=1")
    assert ran.returncode != 0
    assert "core 1000" in ran.stderr


def test_the_work_of_the_overhead_tests_is_not_optimised_away(tmp_path):
    # GIVEN the compiler at its most eager
    (tmp_path / "main.c").write_text(
        '#include "measure.h"\n#include <stdio.h>\n'
        "double measure_median(double *v, long n) { return v[n / 2]; }\n"
        "int main(void) { double t = measure_now(); measure_work(20000000);"
        'printf("%.9f", measure_now() - t); return 0; }\n'
    )
    # what measure.h needs of <mpi.h> where nothing is sent
    (tmp_path / "mpi.h").write_text("typedef int MPI_Comm;\n")
    room = source_room("measure")
    flags = ["-O3", "-flto", "-std=c11", "-D_GNU_SOURCE", f"-I{tmp_path}", f"-I{room}"]
    subprocess.run(["cc", *flags, tmp_path / "main.c", room / "clock.c", "-o", tmp_path / "work"], check=True)
    # THEN 20 million iterations take longer than any core could do them ten at a time in one cycle
    assert float(subprocess.run([tmp_path / "work"], capture_output=True, check=True).stdout) > 4e-4
