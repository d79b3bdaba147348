# SPDX-License-Identifier: BSD-3-Clause
"""Which hosts are meant by the nodes of a placement."""

import socket

import pytest
from fake_launchers import fake_launcher

from rankwise.errors import RankwiseError
from rankwise.launchers import parse
from rankwise.launchers.hosts import expand, on_hosts
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic


def placement(nodes, names=None):
    topology = Topology.of(from_synthetic("core:1"), nodes)
    return Placement.explicit(topology, [(node, [0]) for node in range(nodes)], names)


@pytest.fixture
def hosts(tmp_path):
    """Function (placement, options of the line, --hosts, environment) -> host names."""

    def run(placed, says="hydra", options=(), given=None, environment=None):
        line = parse([fake_launcher(tmp_path / "bin", "mpiexec", says), *options, "./app"])
        return on_hosts(placed, line, given, environment or {}).node_names

    return run


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("login", ["login"]),
        ("n[01-03,7],m1", ["n01", "n02", "n03", "n7", "m1"]),
        ("r[1-2]n[09-10]-ib", ["r1n09-ib", "r1n10-ib", "r2n09-ib", "r2n10-ib"]),
        ("a,b[2,4-5]", ["a", "b2", "b4", "b5"]),
    ],
)
def test_slurm_node_lists_are_expanded(nodes, names):
    assert expand(nodes) == names


def test_what_the_user_names_comes_before_all_else(hosts):
    slurm = {"SLURM_JOB_NODELIST": "n[1-2]"}
    assert hosts(placement(2), options=["-hosts", "x,y"], given="b,a", environment=slurm) == ("b", "a")


def test_hosts_of_the_line_in_each_launchers_form(hosts, tmp_path):
    file = tmp_path / "hf"
    file.write_text("# ours\nb:4 binding=user:0\na slots=2 # two\nb\n\n")
    assert hosts(placement(2), options=["-f", str(file)]) == ("b", "a")
    assert hosts(placement(2), options=["-hosts", "x:2,y"]) == ("x", "y")
    assert hosts(placement(2), "openmpi5", ["--hostfile", str(file)]) == ("b", "a")
    assert hosts(placement(2), "openmpi4", ["-H", "x:2,x,y"]) == ("x", "y")


def test_hosts_of_the_allocation(hosts, tmp_path):
    assert hosts(placement(2), environment={"SLURM_JOB_NODELIST": "n[08-10]"}) == ("n08", "n09")
    file = tmp_path / "nodes"
    file.write_text("q2\nq2\nq1\nq1\n")
    assert hosts(placement(2), environment={"PBS_NODEFILE": str(file)}) == ("q2", "q1")


def test_a_single_node_is_this_host(hosts):
    assert hosts(placement(1)) == (socket.gethostname(),)


def test_names_in_the_placement_are_hosts(hosts):
    named = placement(2, ["n2", "n1"])
    assert hosts(named) == ("n2", "n1")
    assert hosts(named, environment={"SLURM_JOB_NODELIST": "n[1-4]"}) == ("n2", "n1")
    with pytest.raises(
        RankwiseError, match="names host `n2`, which is not in this job's allocation"
    ) as error:
        hosts(named, environment={"SLURM_JOB_NODELIST": "m[1-4]"})
    assert "--hosts m1,m2" in error.value.hint


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "nothing says which hosts the placement's 3 nodes are"),
        ("a,b", "the placement has 3 nodes, `--hosts` 2 hosts"),
        ("a,b,a", "`--hosts` has `a` twice"),
        ("a,,b", "`--hosts` has ``, which is no host name"),
    ],
)
def test_hosts_that_do_not_do_are_refused(hosts, given, sentence):
    with pytest.raises(RankwiseError, match=sentence) as error:
        hosts(placement(3), given=given)
    assert error.value.hint


def test_a_host_file_that_is_not_there_is_named(hosts):
    with pytest.raises(RankwiseError, match="host file `absent` cannot be read: no such file"):
        hosts(placement(2), options=["-f", "absent"])


@pytest.mark.parametrize("nodes", ["n[0-99999999999]", "n[0-99999999]", "n[a-b]", "n[]"])
def test_node_lists_without_end_or_without_numbers_are_refused(nodes):
    with pytest.raises(RankwiseError, match="is not a range of hosts"):
        expand(nodes)
