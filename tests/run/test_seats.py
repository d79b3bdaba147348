# SPDX-License-Identifier: BSD-3-Clause
"""Who takes which rank (record/placement/rank_order.c), called as the renumbering library does."""

import ctypes
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RECORD = Path(__file__).resolve().parents[2] / "record"


class Plan(ctypes.Structure):
    _fields_ = [
        ("ranks", ctypes.c_int),
        ("nodes", ctypes.c_int),
        ("host", ctypes.c_void_p),
        ("node", ctypes.c_void_p),
        ("pus", ctypes.c_void_p),
        ("text", ctypes.c_void_p),
    ]


class Process(ctypes.Structure):
    _fields_ = [("host", ctypes.c_char * 64), ("pus", ctypes.c_uint64), ("plan", ctypes.c_uint64)]


@pytest.fixture(scope="module")
def seats(tmp_path_factory):
    """Function (names of nodes, (node, PUs) of each rank, (host, PUs) of each process) -> new ranks, or the reason."""
    directory = tmp_path_factory.mktemp("seats")
    library = directory / "seats.so"
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run(
        ["cc", *flags, f"-I{RECORD}", "-o", library, RECORD / "placement" / "rank_order.c"], check=True
    )
    functions = ctypes.CDLL(str(library))
    functions.rw_hash.restype = ctypes.c_uint64
    functions.rw_read_placement.restype = ctypes.c_char_p

    def find(names, wanted, started):
        rows = [f"rankwise-reorder/1 {len(wanted)} {len(names)}", *names]
        rows += [f"{node} {pus}" for node, pus in wanted]
        (directory / "plan").write_text("\n".join(rows) + "\n")
        plan = Plan()
        trouble = functions.rw_read_placement(str(directory / "plan").encode(), ctypes.byref(plan))
        if trouble:
            return trouble.decode()
        processes = (Process * len(started))(
            *(Process(host.encode(), functions.rw_hash(pus.encode()), 1) for host, pus in started)
        )
        reason = ctypes.create_string_buffer(256)
        found = [
            functions.rw_new_rank(ctypes.byref(plan), processes, own, reason) for own in range(len(started))
        ]
        functions.rw_free_plan(ctypes.byref(plan))
        return reason.value.decode() if -1 in found else found

    return find


def test_bound_processes_take_the_ranks_of_their_cores_and_the_first_keeps_the_standard_input(seats):
    wanted = [(0, "0"), (1, "0"), (0, "1"), (1, "1")]
    started = [("a", "1"), ("a", "0"), ("b", "1"), ("b", "0")]
    # Rank 0 stays with the first process, though its core is another; on b, cores decide.
    assert seats(["*", "*"], wanted, started) == [0, 2, 3, 1]


def test_processes_that_may_run_anywhere_keep_their_ranks_where_they_can(seats):
    wanted = [(0, "0"), (1, "0"), (0, "1"), (1, "1")]
    started = [("a", "0-1"), ("a", "0-1"), ("b", "0-1"), ("b", "0-1")]
    assert seats(["*", "*"], wanted, started) == [0, 2, 1, 3]


def test_names_decide_with_or_without_their_domain(seats):
    wanted = [(0, "0"), (1, "0")]
    assert seats(["n2.site", "n1"], wanted, [("n1.site", "0"), ("n2", "0")]) == [1, 0]


@pytest.mark.parametrize(
    ("names", "wanted", "started", "reason"),
    [
        (["n9"], [(0, "0")], [("n1", "0")], "the launcher started no ranks on `n9`"),
        (
            ["n1", "n2"],
            [(0, "0"), (0, "1"), (1, "0")],
            [("n1", "0"), ("n2", "0"), ("n2", "1")],
            "`n1` is to have 2 ranks, and the launcher started 1 there",
        ),
        (
            ["*", "*"],
            [(0, "0"), (0, "1"), (0, "2"), (1, "0")],
            [("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")],
            "a node is to have 3 of the ranks, and no host that is left has so many",
        ),
        (["*"], [(3, "0")], [("a", "0")], "its file is damaged"),
    ],
)
def test_what_does_not_go_together_has_a_reason(seats, names, wanted, started, reason):
    assert seats(names, wanted, started) == reason


@st.composite
def launches(draw):
    """Nodes of any sizes, ranks on them in any order, and hosts of the same sizes started in any order."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
    node = draw(st.permutations([at for at, size in enumerate(sizes) for _ in range(size)]))
    pus = st.sampled_from(["0", "1", "2", "0-2"])
    wanted = [(at, draw(pus)) for at in node]
    host = draw(st.permutations([f"h{at}" for at, size in enumerate(sizes) for _ in range(size)]))
    return ["*"] * len(sizes), wanted, [(name, draw(pus)) for name in host]


@settings(max_examples=60, deadline=None)
@given(launches())
def test_every_process_gets_a_rank_of_its_own_and_every_node_one_host(seats, launch):
    names, wanted, started = launch
    found = seats(*launch)
    assert sorted(found) == list(range(len(wanted)))
    hosts = {(wanted[rank][0], started[at][0]) for at, rank in enumerate(found)}
    used = {node for node, _ in wanted}
    assert len(hosts) == len(used) == len({host for _, host in hosts})
