# SPDX-License-Identifier: BSD-3-Clause
"""Launch lines that put ranks on their cores, as text."""

import pytest
from fake_launchers import fake_launcher

from rankwise.errors import RankwiseError
from rankwise.launchers import emit_placement, parse
from rankwise.launchers.place_hydra import dealt, rank_map
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic

# The irregular map of two nodes with four cores that the launchers' syntax was studied with.
IRREGULAR = [("A", 2), ("B", 0), ("B", 3), ("A", 0), ("A", 1), ("B", 1), ("A", 3), ("B", 2)]
RANKFILE = """\
rank 0=nodeA slot=2
rank 1=nodeB slot=0
rank 2=nodeB slot=3
rank 3=nodeA slot=0
rank 4=nodeA slot=1
rank 5=nodeB slot=1
rank 6=nodeA slot=3
rank 7=nodeB slot=2
"""


def placed(seats, node="package:1 core:4"):
    topology = Topology.of(from_synthetic(node), 2)
    ranks = [("AB".index(name), [cores] if isinstance(cores, int) else cores) for name, cores in seats]
    return Placement.explicit(topology, ranks, ["nodeA", "nodeB"]), topology.nodes


@pytest.fixture
def emit(tmp_path):
    """Function (launcher, seats, options...) -> words after the launcher's, with the files' directory as DIR."""

    def run(says, seats, *options, node="package:1 core:4", program=("./a.out",), environment=None):
        launcher = fake_launcher(tmp_path / "bin", "mpiexec", says)
        placement, nodes = placed(seats, node)
        line = parse([launcher, *options, *program])
        launch = emit_placement(line, placement, nodes, tmp_path / "p", environment or {})
        return [word.replace(str(tmp_path), "DIR") for word in launch.words[1:]]

    return run


def text(tmp_path, suffix):
    return (tmp_path / f"p{suffix}").read_text()


def test_hydra_takes_a_host_file_with_bindings_and_a_rank_map(emit, tmp_path):
    words = emit("hydra5", IRREGULAR, "-n", "8")
    assert " ".join(words) == "-f DIR/p.hosts -rankmap 0,1,1,0,0,1,0,1 -n 8 ./a.out"
    assert text(tmp_path, ".hosts") == "nodeA:4 binding=user:2,0,1,3\nnodeB:4 binding=user:0,3,1,2\n"


def test_hydra_counts_pus_as_the_kernel_does(emit, tmp_path):
    # GIVEN a node whose logical cores 0 to 3 are the kernel's 0, 2, 1, 3
    emit("hydra5", IRREGULAR, "-n", "8", node="package:2 core:2(indexes=0,2,1,3)")
    assert text(tmp_path, ".hosts") == "nodeA:4 binding=user:1,0,2,3\nnodeB:4 binding=user:0,3,2,1\n"


def test_hydra_binds_to_all_hardware_threads_of_all_cores_of_a_rank(emit, tmp_path):
    emit("hydra5", [("A", [0, 1]), ("B", [1])], "-n", "2", node="core:2 pu:2(indexes=0,2,1,3)")
    assert text(tmp_path, ".hosts") == "nodeA:1 binding=user:0+1+2+3\nnodeB:1 binding=user:1+3\n"


def test_hydra_deals_regular_placements_without_a_rank_map(emit, tmp_path):
    # GIVEN ranks in turn on B and A, which needs no `-rankmap`
    seats = [("B", 3), ("B", 0), ("A", 1), ("A", 2), ("B", 1), ("B", 2)]
    words = emit("hydra", seats, "-n", "6")
    assert " ".join(words) == "-f DIR/p.hosts -n 6 ./a.out"
    assert text(tmp_path, ".hosts") == "nodeB:2 binding=user:3,0,1,2\nnodeA:2 binding=user:1,2\n"


@pytest.mark.parametrize(
    ("hosts", "counts"),
    [
        ([0, 0, 1, 1], {0: 2, 1: 2}),
        ([0, 1, 0, 1, 0], {0: 1, 1: 1}),
        ([1, 1, 0, 1, 1, 0], {1: 2, 0: 1}),
        ([0, 0, 0], {0: 3}),
        ([0, 1, 1, 0, 0, 1, 0, 1], None),
        ([0, 1, 0, 2], None),
        ([0, 0, 1, 1, 0, 1], None),
    ],
)
def test_what_dealing_in_turn_can_express(hosts, counts):
    assert dealt(hosts) == counts
    if counts:
        assert list(dealt(hosts)) == list(counts)


def test_long_rank_maps_become_blocks():
    # GIVEN 80000 ranks: pairs on hosts 0 to 19999, again from there on in reverse
    hosts = [rank // 2 for rank in range(40_000)]
    assert rank_map([*hosts, *hosts]) == "(0,20000,2),(0,20000,2)"
    with pytest.raises(RankwiseError, match="too irregular for Hydra"):
        rank_map([rank * 7919 % 20_011 for rank in range(80_000)])


def test_openmpi_4_takes_a_rank_file_in_logical_cores(emit, tmp_path):
    words = emit("openmpi4", IRREGULAR, "-np", "8", node="package:2 core:2(indexes=0,2,1,3)")
    assert " ".join(words) == "--hostfile DIR/p.hosts -rf DIR/p.rankfile -np 8 ./a.out"
    assert text(tmp_path, ".rankfile") == RANKFILE
    assert text(tmp_path, ".hosts") == "nodeA slots=4\nnodeB slots=4\n"


def test_openmpi_5_takes_the_same_rank_file_as_a_way_to_map(emit, tmp_path):
    words = emit("openmpi5", IRREGULAR, "-n", "8")
    assert " ".join(words) == "--hostfile DIR/p.hosts --map-by rankfile:FILE=DIR/p.rankfile -n 8 ./a.out"
    assert text(tmp_path, ".rankfile") == RANKFILE


def test_openmpi_has_a_slot_for_each_core_and_is_told_of_shared_ones(emit, tmp_path):
    words = emit("openmpi5", [("A", [0, 1, 3]), ("A", [3])], "-n", "2")
    assert words[2:6] == ["--map-by", "rankfile:FILE=DIR/p.rankfile", "--bind-to", "core:overload-allowed"]
    assert text(tmp_path, ".rankfile") == "rank 0=nodeA slot=0-1,3\nrank 1=nodeA slot=3\n"
    assert text(tmp_path, ".hosts") == "nodeA slots=4\n"


def test_openmpi_takes_the_hosts_of_a_slurm_job_from_slurm(emit, tmp_path):
    words = emit("openmpi5", IRREGULAR, "-n", "8", environment={"SLURM_JOB_NODELIST": "nodeA,nodeB"})
    assert words[:2] == ["--map-by", "rankfile:FILE=DIR/p.rankfile"]
    assert not (tmp_path / "p.hosts").exists()


def test_hosts_on_the_line_are_replaced_and_a_missing_count_is_added(emit):
    words = emit("hydra5", IRREGULAR[:1], "-hosts", "x,y")
    assert " ".join(words) == "-f DIR/p.hosts -n 1 ./a.out"
    words = emit("openmpi4", IRREGULAR[:1], "-H", "x:4", "--mca", "btl", "tcp")
    assert " ".join(words) == "--hostfile DIR/p.hosts -rf DIR/p.rankfile --mca btl tcp -n 1 ./a.out"


@pytest.mark.parametrize(
    ("says", "option"),
    [
        ("hydra5", "-rankmap 0,1"),
        ("hydra5", "-bind-to core"),
        ("hydra5", "-map-by socket"),
        ("hydra5", "-ppn 4"),
        ("openmpi4", "--bind-to none"),
        ("openmpi4", "--map-by node"),
        ("openmpi4", "-rf mine"),
        ("openmpi4", "--rankfile mine"),
        ("openmpi4", "-npernode 2"),
        ("openmpi4", "--mca rmaps_base_mapping_policy core"),
        ("openmpi5", "--map-by :OVERSUBSCRIBE"),
        ("openmpi5", "--use-hwthread-cpus"),
        ("openmpi5", "--prtemca hwloc_default_binding_policy core"),
    ],
)
def test_options_that_place_or_bind_ranks_are_refused(emit, tmp_path, says, option):
    with pytest.raises(RankwiseError) as error:
        emit(says, IRREGULAR, *option.split(), "-n", "8")
    assert error.value.message == f"`{option}` and the placement both say where ranks run"
    assert not list(tmp_path.glob("p.*"))


def test_a_variable_that_binds_ranks_is_refused(emit):
    variable = {"OMPI_MCA_hwloc_base_binding_policy": "core"}
    with pytest.raises(RankwiseError, match="`OMPI_MCA_hwloc_base_binding_policy=core` and the placement"):
        emit("openmpi4", IRREGULAR, "-n", "8", environment=variable)


@pytest.mark.parametrize(
    ("says", "options", "sentence"),
    [
        ("hydra", ["-n", "8"], "mpiexec of MPICH 4.2.1 cannot deal ranks to hosts in this order"),
        ("hydra5", ["-n", "9"], "the launch line has 9 ranks, the placement 8"),
        ("intel", ["-n", "8"], "placing ranks with the mpiexec of Intel MPI is not supported"),
        ("slurm", ["-n", "8", "--cpu-bind=cores"], "`--cpu-bind=cores` and the placement both say"),
    ],
)
def test_what_cannot_be_placed_is_refused(emit, tmp_path, says, options, sentence):
    with pytest.raises(RankwiseError, match=sentence) as error:
        emit(says, IRREGULAR, *options)
    assert error.value.hint
    assert not list(tmp_path.glob("p.*"))


def test_a_line_without_a_program_is_refused(emit):
    with pytest.raises(RankwiseError, match="no program in the launch line"):
        emit("hydra5", IRREGULAR, "-n", "8", program=())


def test_ranks_count_through_the_programs_of_a_line(emit):
    two = ["./a.out", ":", "-n", "5", "./b.out"]
    words = emit("hydra5", IRREGULAR, "-n", "3", program=two)
    assert words[-7:] == ["-n", "3", "./a.out", ":", "-n", "5", "./b.out"]
    with pytest.raises(RankwiseError, match="does not say how many ranks each program has"):
        emit("hydra5", IRREGULAR, "-n", "3", program=["./a.out", ":", "./b.out"])
