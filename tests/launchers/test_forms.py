# SPDX-License-Identifier: BSD-3-Clause
"""Placements in the words of Slurm, Intel MPI, Cray MPICH, Flux, PBS and jsrun, read back as the launchers do."""

import re
import shlex

import pytest

from rankwise.errors import RankwiseError
from rankwise.launchers.forms import FORMS, SUFFIXES, form
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.launcher_files import read

# The kernel numbers the cores of these nodes 0 2 1 3: logical core 1 is CPU 2.
NODES = Topology.of(from_synthetic("package:2 core:2(indexes=0,2,1,3)"), 2)
CPU = [0, 2, 1, 3]
HOSTS = ("nodeA", "nodeB")
IRREGULAR = [(0, 2), (1, 0), (1, 3), (0, 0), (0, 1), (1, 1), (0, 3), (1, 2)]
CYCLIC = [(rank % 2, rank // 2) for rank in range(8)]


def placement(seats, topology=NODES):
    return Placement.explicit(topology, [(node, [core]) for node, core in seats], HOSTS)


def seats(placed):
    return [(int(placed.node[rank]), *placed.cores_of(rank)) for rank in range(placed.ranks)]


def by_local_rank(nodes: list[int], cpus: list[list[int]]) -> list[tuple[int, int]]:
    """Seats where the n-th rank of a node takes the n-th CPU of the node's list."""
    used = [iter(own) for own in cpus]
    return [(node, CPU.index(next(used[node]))) for node in nodes]


def by_script(text: str) -> list[int]:
    """Logical cores of the ranks by the script that binds them."""
    return [CPU.index(int(word)) for word in re.search(r"cpus=\(([^)]*)\)", text)[1].split()]


def read_slurm(files, words):
    assert words[0] == "SLURM_HOSTFILE=job.hosts" and words[1:6] == ["srun", "-n", "8", "-m", "arbitrary"]
    nodes = [HOSTS.index(line) for line in files[".hosts"].split()]
    if ".pin.sh" in files:
        assert words[6:] == ["--cpu-bind=none", "bash", "job.pin.sh", "./app"]
        assert "SLURM_PROCID" in files[".pin.sh"]
        return list(zip(nodes, by_script(files[".pin.sh"]), strict=True))
    cpus = [int(word) for word in words[6].removeprefix("--cpu-bind=map_cpu:").split(",")]
    return by_local_rank(nodes, [cpus, cpus])


def read_intel(files, words):
    if ".machines" in files:
        runs = [line.split(":") for line in files[".machines"].split()]
        nodes = [HOSTS.index(host) for host, count in runs for _ in range(int(count))]
        cpus = [int(word) for word in words[words.index("I_MPI_PIN_PROCESSOR_LIST") + 1].split(",")]
        return by_local_rank(nodes, [cpus, cpus])
    nodes, lists = [], [[], []]
    for one in " ".join(words[1:]).split(" : "):
        host, count, cpus = re.fullmatch(
            r"-host (\S+) -n (\d+) -env I_MPI_PIN_PROCESSOR_LIST (\S+) ./app", one
        ).groups()
        nodes += [HOSTS.index(host)] * int(count)
        lists[HOSTS.index(host)] = [int(word) for word in cpus.split(",")]
    return by_local_rank(nodes, lists)


def read_flux(files, words):
    blocks = re.findall(r"\[(\d),1,(\d),1\]", words[4])
    nodes = [int(node) for node, count in blocks for _ in range(int(count))]
    assert words[:4] == ["flux", "run", "-N2", "-n8"]
    if ".pin.sh" in files:
        assert "FLUX_TASK_RANK" in files[".pin.sh"]
        return list(zip(nodes, by_script(files[".pin.sh"]), strict=True))
    cpus = [int(word) for word in words[6].removeprefix("cpu-affinity=map:").split(";")]
    return by_local_rank(nodes, [cpus, cpus])


def read_file(files, words):
    (text,) = files.values()
    return seats(read(text, "form", NODES))


READERS = {
    "slurm": read_slurm, "intel": read_intel, "flux": read_flux, "cray": read_file, "pbs": read_file, "lsf": read_file,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("wanted", [IRREGULAR, CYCLIC], ids=["irregular", "cyclic"])
def test_what_is_written_says_where_each_rank_is(name, wanted):
    written = form(name, placement(wanted), NODES.nodes, "job")
    assert set(written.files) <= set(SUFFIXES[name])
    assert READERS[name](written.files, shlex.split(written.line)) == wanted


def test_a_list_of_all_nodes_is_used_where_nodes_are_alike():
    # GIVEN a placement whose nodes have the same order of cores THEN nothing has to bind itself
    for name in ("slurm", "flux"):
        assert ".pin.sh" not in form(name, placement(CYCLIC), NODES.nodes, "job").files
        assert ".pin.sh" in form(name, placement(IRREGULAR), NODES.nodes, "job").files


def test_hardware_threads_are_counted_core_after_core():
    topology = Topology.of(from_synthetic("package:1 core:2 pu:4"), 2)
    text = form("lsf", placement([(0, 1), (1, 0)], topology), topology.nodes, "job").files[".erf"]
    assert "rank: 0: { host: 1; cpu: {4-7} }\nrank: 1: { host: 2; cpu: {0-3} }\n" in text


@pytest.mark.parametrize(
    ("name", "ranks", "message"),
    [
        ("cray", [(0, [1])], "rank 0 is on core 1, but by MPICH_RANK_ORDER slot 0 of a node is core 0"),
        ("cray", [(0, [0]), (1, [0]), (1, [1])], "rank 0 is on a node of 1 ranks, others have 2"),
        ("intel", [(0, [0, 1])], "rank 0 has 2 cores"),
        ("slurm", [(0, [0]), (0, [0])], "ranks 0 and 1 are both on core 0 of `nodeA`"),
    ],
)
def test_what_a_launcher_cannot_be_told_is_refused_with_rank_and_core(name, ranks, message):
    placed = Placement.explicit(NODES, ranks, HOSTS)
    with pytest.raises(RankwiseError, match=message):
        form(name, placed, NODES.nodes, "job")
