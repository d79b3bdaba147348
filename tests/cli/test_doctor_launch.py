# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor -- mpiexec ...`: each rank says where it is, and what is surprising about that."""

import json
import os
import sys

import mpis
import pytest
from fake_launchers import fake_launcher

import rankwise.cli
from rankwise.doctor import surprises
from rankwise.doctor.in_rank import quota
from rankwise.doctor.known import known
from rankwise.doctor.launch import Launched
from rankwise.doctor.reports import Interface, Node, Rank, Reports
from rankwise.launchers import parse

BOTH = sorted(os.sched_getaffinity(0))[:2]
two_pus = pytest.mark.skipif(len(BOTH) < 2, reason="needs two PUs")
# Starts one process a number in RANKS, as Hydra starts rank after rank.
STARTS = 'shift 2; for rank in $RANKS; do PMI_RANK=$rank PMI_SIZE=3 "$@" || exit 9; done'


@pytest.fixture
def doctor(tmp_path, monkeypatch, capfd):
    """Run `rankwise doctor ARGS` in a directory of its own; status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        status = rankwise.cli.main(["doctor", *map(str, words)])
        captured = capfd.readouterr()
        assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".rankwise")] == []
        return status, captured.out, captured.err

    return run


@pytest.fixture
def hydra(tmp_path, monkeypatch):
    """Function (ranks, does) -> a launcher that starts these ranks."""

    def make(ranks, does=STARTS):
        monkeypatch.setenv("RANKS", ranks)
        return fake_launcher(tmp_path / "bin", "mpiexec", "hydra", does)

    return make


def ranks_of(out):
    document = json.loads(out)
    return document, [rank for node in document["nodes"] for rank in node["ranks"]]


@pytest.mark.mpi
@two_pus
def test_ranks_say_where_their_launcher_put_them(mpi, doctor, monkeypatch):
    # GIVEN a launcher that is to put rank 0 on the first core and rank 1 on the second
    for name, value in mpi.environment().items():
        monkeypatch.setenv(name, value)
    options = {"mpich": ["-bind-to", "user:0,1"], "openmpi": ["--map-by", "core", "--bind-to", "core"]}
    # WHEN the doctor starts it THEN they are there, and nothing is surprising
    status, out, err = doctor("--json", "--", mpi.mpiexec, "-n", 2, *options[mpi.family])
    document, ranks = ranks_of(out)
    assert (status, document["surprises"], document["expected_ranks"]) == (0, [], 2), err
    assert [(rank["rank"], rank["pus"], rank["ran_on"], rank["starts_mpi"]) for rank in ranks] == [
        (0, [0], 0, True),
        (1, [1], 1, True),
    ]
    assert document["launcher"]["vendor"] == {"mpich": "MPICH", "openmpi": "Open MPI"}[mpi.family]


@pytest.mark.mpi
@two_pus
@mpis.only(lambda mpi: mpi.family == "mpich" and mpis.has_its_own_launcher(mpi))
def test_what_binds_before_the_program_stays_and_the_program_says_its_mpi(mpi, doctor, compiled, monkeypatch):
    for name, value in mpi.environment().items():
        monkeypatch.setenv(name, value)
    program = compiled(mpi, "ring.c")
    status, out, err = doctor("--json", "--", mpi.mpiexec, "-n", 2, "taskset", "-c", BOTH[1], program, "7")
    document, ranks = ranks_of(out)
    assert [rank["pus"] for rank in ranks] == [[BOTH[1]]] * 2, err
    assert [each["name"] for each in document["surprises"]] == ["crowded"]
    assert os.path.basename(document["nodes"][0]["mpi"]["path"]).startswith("libmpi")
    assert status == 0


@pytest.mark.mpi
@mpis.only(lambda mpi: mpi.name == "openmpi-4.1.8")
@two_pus
def test_a_rank_file_is_followed(mpi, doctor, tmp_path, monkeypatch):
    for name, value in mpi.environment().items():
        monkeypatch.setenv(name, value)
    host = os.uname().nodename
    (tmp_path / "ranks").write_text(f"rank 0={host} slot=1\nrank 1={host} slot=0\n")
    status, out, err = doctor("--", mpi.mpiexec, "-n", 2, "-rf", "ranks")
    assert status == 0, err
    rows = [line.split() for line in out.splitlines()]
    assert [host, "0", "1", "core", "1", "0", "0", "0"] in rows
    assert ["1", "0", "core", "0", "0", "0", "0"] in rows
    assert "rank files count cores logically" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_where_the_directory_is_not_seen_ranks_are_read_from_labelled_output(doctor, hydra):
    # GIVEN ranks that see no working directory, whose launcher labels their lines and says something itself
    script = "import json, sys; sys.argv = sys.argv[1:]; sys.argv[1] += '-elsewhere'; exec(open(sys.argv[0]).read())"
    does = (
        "shift 2; echo hello; shift 4; for rank in 0 1; do PMI_RANK=$rank PMI_SIZE=2 "
        f'{sys.executable} -c "{script}" "$@" | /bin/sed "s/^/[$rank] /"; done'
    )
    status, out, err = doctor("--json", "--", hydra("", does), "-n", 2)
    document, ranks = ranks_of(out)
    assert (status, [rank["rank"] for rank in ranks]) == (0, [0, 1]), err
    assert document["nodes"][0]["pus"]


def test_a_rank_that_says_nothing_is_named_and_the_rest_is_shown(doctor, hydra):
    status, out, err = doctor("--", hydra("0 2"), "-n", 3)
    assert status == 1
    assert "2 ranks on 1 node, started by MPICH 4.2.1" in out
    assert "rank 1 of 3 said nothing: what is shown is a part" in out


def test_a_launcher_that_fails_after_its_ranks_has_a_part_shown(doctor, hydra):
    status, out, err = doctor("--", hydra("0 1 2", STARTS + "; echo bad >&2; exit 4"), "-n", 3)
    assert (status, err) == (1, "bad\n")
    assert "3 ranks on 1 node" in out


def test_a_launcher_that_starts_none_is_an_error_with_its_status(doctor, hydra):
    status, out, err = doctor("--", hydra("", "echo no hosts >&2; exit 4"), "-n", 3)
    assert (status, out) == (1, "")
    assert err.splitlines()[0] == "no hosts"
    assert err.splitlines()[1].endswith("started no rank that said where it is: it ended with status 4")


def test_lost_output_is_an_error_with_a_way_out(doctor, hydra):
    status, out, err = doctor("--", hydra("", "exit 0"), "-n", 3)
    assert (status, out) == (1, "")
    assert "ended well, and no rank said where it is" in err
    assert "hint: work in a directory that all nodes see" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no launch line after `--`"),
        (["jsrun", "-n", "4"], "there is no `jsrun` on PATH"),
        (["./mpiexec", "-n", "4"], "there is no `./mpiexec` on PATH"),
        (["MPIEXEC", "-n", "3", "./nothing"], "there is no program `./nothing`"),
        (["MPIEXEC", "-configfile", "f"], "leaves the programs to a file"),
    ],
)
def test_bad_launch_lines_are_said_and_nothing_is_started(doctor, hydra, words, says):
    launcher = hydra("0", "echo started >&2")
    status, out, err = doctor("--", *[launcher if word == "MPIEXEC" else word for word in words])
    assert (status, out) == (2 if not words else 1, "")
    assert says in err
    assert "started" not in err


def test_one_rank_as_often_as_there_are_processes_is_said(doctor, hydra):
    status, out, _ = doctor("--json", "--", hydra("0 0"), "-n", 2)
    assert "twice" in [each["name"] for each in json.loads(out)["surprises"]]


# Two packages of two cores with two hardware threads each: PU n and n + 4 are one core.
CORES = {pu: (pu % 4 // 2, pu % 2) for pu in range(8)}


def node(host="a"):
    package = {pu: core[0] for pu, core in CORES.items()}
    return Node(host, package, CORES, package, frozenset(CORES), [Interface("eth0", "up", 10_000)], None)


def rank(number, pus, host="a", **other):
    others = {
        "memory_nodes": [0, 1],
        "memory_policy": "default",
        "quota_cores": None,
        "quota_of": None,
    } | other
    return Rank(
        host=host, rank=number, rank_from="PMI_RANK", world_size=None, starts_mpi=True, pid=number,
        pus=list(pus), ran_on=None, cpuset=None, node=None, **others,
    )  # fmt: skip


def found(*ranks, hosts=(), words=("./app",)):
    names = dict.fromkeys(each.host for each in ranks)
    reports = Reports(list(ranks), {host: node(host) for host in names}, 0, [])
    launched = Launched(parse(words), list(words), 0, reports, None)
    return {each.name: (each.what, each.ranks) for each in surprises.find(launched, hosts)}


def test_ranks_on_cores_of_their_own_are_no_surprise():
    assert found(rank(0, [0, 4]), rank(1, [1]), rank(2, [2, 3, 6, 7])) == {}


def test_each_kind_of_sharing_is_named_with_its_ranks():
    what, ranks = found(rank(0, [1]), rank(1, [1]), rank(2, [2]))["crowded"]
    assert (what, ranks) == ("ranks 0 and 1 have only PU 1 of `a` between them and take turns", [0, 1])
    what, ranks = found(rank(0, [1]), rank(1, [5]), rank(2, [2]))["siblings"]
    assert (what, ranks) == ("ranks 0 and 1 share one core of `a`, as its hardware threads (PUs 1,5)", [0, 1])
    what, ranks = found(rank(0, [0, 1]), rank(1, [1, 5, 4]))["overlapping"]
    assert ranks == [0, 1] and "such as PU 1" in what


def test_unbound_ranks_are_told_from_those_bound_to_what_the_job_has():
    what, ranks = found(rank(0, range(8)), rank(1, [3]))["unbound"]
    assert ranks == [0] and what.startswith(
        "rank 0 of `a` is not bound: the kernel may move each to any of its 8 PUs"
    )
    what, ranks = found(rank(0, [0, 1]), rank(1, [0, 1]))["unbound"]
    assert ranks == [0, 1] and "bound to what the job has there (PUs 0-1)" in what


def test_a_rank_over_two_packages_is_spread_and_many_are_one_sentence():
    kinds = found(rank(0, [1, 2]), rank(1, [0, 3]))
    assert list(kinds) == ["spread"]
    what, ranks = kinds["spread"]
    assert ranks == [0, 1]
    assert "rank 0 of `a` is spread over packages 0-1 (PUs 1-2)" in what and what.endswith(
        "; 1 more like this"
    )


def test_a_quota_below_the_cores_is_named_and_one_that_suffices_is_not():
    cgroup = {"quota_of": "/sys/fs/cgroup/job", "quota_cores": 1.5}
    what, ranks = found(rank(0, [0], **cgroup), rank(1, [1], **cgroup))["quota"]
    assert "ranks 0 and 1 of `a` the time of 1.5 cores, and they have 2" in what
    assert found(rank(0, [0], **cgroup)) == {}


def test_memory_that_is_not_beside_the_cores_is_named():
    assert (
        "runs beside NUMA node 0 and may allocate on 1 only"
        in found(rank(0, [0], memory_nodes=[1]))["memory"][0]
    )
    assert "its memory is bound to 1" in found(rank(0, [0], memory_policy="bind:1"))["memory"][0]
    assert found(rank(0, [0], memory_policy="bind:0")) == {}


def test_orders_of_nodes_other_than_the_hosts_are_named():
    blocks = [rank(0, [0], "b"), rank(1, [1], "b"), rank(2, [0], "a"), rank(3, [1], "a")]
    assert found(*blocks) == {}
    what, _ = found(*blocks, hosts=["a.site", "b.site"])["order"]
    assert what == "hosts are named in the order a, b, and ranks use them in the order b, a"
    turns = [rank(0, [0], "a"), rank(1, [0], "b"), rank(2, [1], "a"), rank(3, [1], "b")]
    assert found(*turns, hosts=["a", "b"]) == {}
    mixed = [turns[0], turns[1], rank(2, [1], "b"), rank(3, [1], "a")]
    assert found(*mixed)["order"][0] == "ranks are distributed over nodes neither in blocks nor in turn"


def of(directory, says, *words, **environment):
    launcher = fake_launcher(directory / says, "srun" if says == "slurm" else "mpirun", says)
    return [each.what for each in known(parse([launcher, *words]), environment)]


def test_what_slurm_does_with_cpus_a_task_is_by_version(tmp_path, monkeypatch):
    import fake_launchers

    def said(version, *words, **environment):
        monkeypatch.setitem(fake_launchers.SAYS, "slurm", f"slurm {version}")
        return of(tmp_path / version, "slurm", "--cpu-bind=cores", *words, **environment)

    job = {"SLURM_CPUS_PER_TASK": "4"}
    assert said("21.08.8", **job) == ["srun takes `--cpus-per-task=4` from the job"]
    for version in ("22.05.8", "23.02.1"):
        assert "does not take `--cpus-per-task=4` from the job: say it again" in said(version, **job)[0]
    assert said("22.05.1", **job, SRUN_CPUS_PER_TASK="3") == [
        "srun takes `--cpus-per-task=3` from SRUN_CPUS_PER_TASK"
    ]
    assert said("23.11.2", **job) == ["srun takes `--cpus-per-task=4` from the job again, since 23.11"]
    assert said("21.08.7", "-c", "2") == []
    assert "implies `--exact`" in said("24.05.0", "-c", "2")[0]


def test_what_open_mpi_does_by_default_and_with_old_names_is_by_version(tmp_path):
    assert "3 or more to a socket each" in of(tmp_path, "openmpi4", "-n", "4")[0]
    assert "3 or more to a package each" in of(tmp_path, "openmpi5", "-n", "4")[0]
    assert of(tmp_path, "openmpi4", "-n", "4", "--bind-to", "core") == []
    said = of(tmp_path, "openmpi5", "-n", "4", "--rankfile", "f")
    assert said[0].startswith("`--rankfile` is an old name: `--map-by rankfile:file=FILE` takes its place")
    assert said[1].startswith("PRRTE takes logical core numbers only")
    assert of(tmp_path, "openmpi4", "-n", "4", OMPI_MCA_hwloc_base_binding_policy="none") == []


def test_every_known_fact_has_a_source(tmp_path):
    fake_launcher(tmp_path, "mpiexec", "hydra")
    facts = known(parse([str(tmp_path / "mpiexec"), "-n", "4"]), {})
    assert [bool(fact.what and fact.source) for fact in facts] == [True]


def test_quotas_of_a_cgroup_and_those_above_it_give_the_least(tmp_path, monkeypatch):
    from rankwise.doctor import in_rank

    for path, limit in (("job/rank", "max 100000"), ("job", "150000 100000"), (".", "400000 100000")):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "cpu.max").write_text(f"{limit}\n")
    directories = [str(tmp_path / each) for each in ("job/rank", "job", ".")]
    monkeypatch.setattr(in_rank, "cgroup_directories", lambda controller: directories)
    assert quota() == (1.5, directories[1])
