# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks ran beside where they should have."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.cli.verified import verified
from rankwise.launchers.execute import Ended
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.record.library import BINDING, library_directory
from rankwise.run.binding import Astray, Bound, compare, planned, read

TOPOLOGY = Topology.of(from_synthetic("package:2 core:2(indexes=0,2,1,3)"), 2)
ENDED = Ended(status=0, signal=None, interrupted=False, start_s=0, end_s=1)


def placed(*seats, names=("a", "b")):
    return Placement.explicit(TOPOLOGY, [(node, [core]) for node, core in seats], names)


def checked(placement, found):
    """Ranks astray, and ranks of which nothing is known."""
    verification = compare(planned(placement, TOPOLOGY.nodes), found)
    return verification.astray, verification.unknown


def bound(host, *pus):
    return Bound(host, frozenset(pus))


def test_ranks_where_they_should_be_are_not_reported():
    # GIVEN core 1, which is the kernel's PU 2
    placement = placed((0, 1), (1, 0))
    assert checked(placement, {0: bound("a", 2), 1: bound("b", 0)}) == ([], [])


def test_a_wrong_pu_a_wrong_host_and_a_silent_rank_are_reported():
    placement = placed((0, 1), (1, 0), (1, 1), (0, 0))
    found = {0: bound("a", 1), 1: bound("a", 0), 2: bound("b", 2)}
    astray, unknown = checked(placement, found)
    assert astray == [
        Astray(0, bound("a", 2), bound("a", 1)),
        Astray(1, bound("b", 0), bound("a", 0)),
    ]
    assert unknown == [3]


def test_a_rank_that_may_use_more_than_its_core_is_reported():
    astray, _ = checked(placed((0, 0)), {0: bound("a", 0, 2)})
    assert [each.rank for each in astray] == [0]


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (2, "; so does 1 more rank"), (4, "; so do 3 more ranks")]
)
def test_the_first_rank_astray_is_named_and_the_others_counted(count, more):
    placement = placed((0, 0), (0, 1), (1, 0), (1, 1))
    wanted = planned(placement, TOPOLOGY.nodes)
    found = {r: bound(each.host, 1) if r < count else each for r, each in enumerate(wanted)}
    lines = verified(compare(wanted, found), "p", ENDED, quiet=False)
    assert lines == [f"rank 0 should run on PU 0 of `a`, but runs on PU 1 of `a`{more}"]


@pytest.mark.parametrize("names", [("a.cluster", "b.cluster"), ("10.0.0.1", "10.0.0.2"), ("a-ib", "b-ib")])
def test_hosts_may_call_themselves_otherwise(names):
    placement = placed((0, 0), (1, 0), (0, 1), names=names)
    found = {0: bound("a", 0), 1: bound("b", 0), 2: bound("a", 2)}
    assert checked(placement, found) == ([], [])
    # AND two hosts are still two hosts
    found[2] = bound("b", 2)
    assert [each.rank for each in checked(placement, found)[0]] == [2]


def test_of_a_ranks_processes_the_first_that_uses_mpi_counts(tmp_path):
    # GIVEN rank 0 as a shell, the program that it becomes the parent of, and one that this starts;
    # rank 1 as a program that became another one; rank 2 without anything that uses MPI, and with a child
    (tmp_path / "a").write_text(
        "0 10 100 0 0-3\n0 11 200 1 2\n0 12 300 1 0-3\n1 20 100 1 0-3\n1 20 300 1 1,3\n2 30 200 0 7\n2 31 300 0 8\n"
        "torn li"
    )
    assert read(tmp_path) == {0: bound("a", 2), 1: bound("a", 1, 3), 2: bound("a", 7)}


def test_the_library_tells_what_the_kernel_tells(tmp_path):
    # GIVEN a process of rank 5 that may use one PU
    pu = min(os.sched_getaffinity(0))
    become = f"import os; os.sched_setaffinity(0, [{pu}]); os.execv('/bin/sh', ['sh', '-c', 'exit 4'])"
    variables = {
        "PMI_RANK": "5",
        "RANKWISE_BINDING": str(tmp_path),
        "LD_PRELOAD": str(library_directory() / BINDING),
    }
    done = subprocess.run([sys.executable, "-c", become], env=os.environ | variables, check=False)
    # THEN the program ends as it does, and its last line names this host and that PU
    assert done.returncode == 4
    assert read(tmp_path) == {5: bound(socket.gethostname(), pu)}


def test_the_library_is_silent_where_it_cannot_write_and_in_processes_that_are_no_rank(tmp_path):
    variables = {"RANKWISE_BINDING": "/nowhere/at/all", "LD_PRELOAD": str(library_directory() / BINDING)}
    for extra in ({"PMI_RANK": "0"}, {"RANKWISE_BINDING": str(tmp_path)}, {"PMI_RANK": "-1"}):
        done = subprocess.run(
            ["/bin/sh", "-c", "exit 3"], env=os.environ | variables | extra, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
    assert list(Path(tmp_path).iterdir()) == []
