# SPDX-License-Identifier: BSD-3-Clause
"""Placements under a real Slurm: a controller and two nodes on this machine, each with a host name of its own."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import mpis
import pytest
import waiting

from rankwise.launchers import forms
from rankwise.machine.placement import Placement
from rankwise.machine.topology import Topology, from_synthetic
from rankwise.placement.file import save
from rankwise.recording import Recording

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "unshare")
pytestmark = [
    pytest.mark.root,
    pytest.mark.mpi,
    pytest.mark.skipif(not {0, 1} <= os.sched_getaffinity(0), reason="needs PUs 0 and 1"),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, PROGRAMS)),
        reason="no Slurm: `apt-get install slurmctld slurmd slurm-client munge`, and run as root",
    ),
]
NODE = "package:1 core:2"
CONFIGURATION = """
ClusterName=rankwise
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={here}/munge.socket
SlurmctldPort={controller}
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool.%n
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd.%n.pid
SlurmctldLogFile={here}/slurmctld.log
SlurmdLogFile={here}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
ReturnToService=2
NodeName=nodeA NodeHostname={host} NodeAddr=127.0.0.1 Port={a} CPUs=2 CoresPerSocket=2
NodeName=nodeB NodeHostname={host} NodeAddr=127.0.0.1 Port={b} CPUs=2 CoresPerSocket=2
PartitionName=all Nodes=nodeA,nodeB Default=YES State=UP OverSubscribe=FORCE:4
"""
SAY = """
import os, socket
pus = sorted(os.sched_getaffinity(0))
os.write(1, f"{os.environ['SLURM_PROCID']} {socket.gethostname()} {pus}\\n".encode())
"""
# The hosts' own orders of cores differ, so that no list of CPUs can say it.
IRREGULAR = [(0, 1), (1, 0), (0, 0), (1, 1)]
REGULAR = [(0, 1), (1, 1), (1, 0), (0, 0)]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Environment in which srun works; knows nothing of a Slurm that the machine may have, or of a job of it."""
    here = tmp_path_factory.mktemp("slurm")
    # munged wants no directory above its socket to be writable by others, or closed.
    for each in (here, *list(here.parents)[:2]):
        each.chmod(0o755)
    (here / "state").mkdir()
    ports = dict(zip(("controller", "a", "b"), free_ports(3), strict=True))
    (here / "slurm.conf").write_text(CONFIGURATION.format(host=socket.gethostname(), here=here, **ports))
    (here / "key").write_bytes(os.urandom(1024))
    (here / "key").chmod(0o400)
    outside = mpis.installed()[0].environment()
    environment = {k: v for k, v in outside.items() if not k.startswith(("SLURM", "SBATCH", "SALLOC"))}
    environment["SLURM_CONF"] = str(here / "slurm.conf")
    # Slurm 22.05 reads 1 024 bytes of a PMI-1 line: too few for some addresses of UCX, without Rankwise too.
    environment["MPIR_CVAR_CH4_NETMOD"] = "ofi"
    try:
        start(here, environment)
        wait_for_nodes(environment, here)
        yield environment
    finally:
        stop(here, environment)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start(here: Path, environment):
    files = [f"--{name}-file={here / name}" for name in ("key", "pid", "log", "seed")]
    files = [word.replace(f"{here / 'pid'}", f"{here / 'munged.pid'}") for word in files]
    words = ["munged", "--force", f"--socket={here / 'munge.socket'}", *files]
    subprocess.run(words, env=environment, check=True)
    subprocess.run(["slurmctld", "-c"], env=environment, check=True)
    for node in ("nodeA", "nodeB"):
        (here / f"spool.{node}").mkdir()
        script = f"hostname {node}; exec slurmd -N {node}"
        subprocess.run(["unshare", "-u", "sh", "-c", script], env=environment, check=True)


def wait_for_nodes(environment, here: Path):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        words = ["sinfo", "-h", "-o", "%T", "-N"]
        states = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=30
        ).stdout.split()
        if states == ["idle", "idle"]:
            return
        time.sleep(0.5)
    pytest.fail(f"the nodes did not come up: {(here / 'slurmctld.log').read_text()[-2000:]}")


def stop(here: Path, environment):
    """End the jobs, then the daemons, then what they left: steps outlive a slurmd that stops beside them."""
    try:
        words = ["scancel", "-u", "root"]
        subprocess.run(words, env=environment, timeout=30, check=False, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        pass  # No controller: all that is left ends below.
    end_all(ours(environment), 20)
    assert not ours(environment)


def ours(environment):
    """Processes of this Slurm, of all its daemons, steps and ranks: those with its configuration's name."""
    mark = f"SLURM_CONF={environment['SLURM_CONF']}".encode()
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (directory / "environ").read_bytes().split(b"\0"):
                found.append(int(directory.name))
        except OSError:
            continue  # It has ended.
    return found


def end_all(pids, seconds):
    """Ask processes to end, and make those that have not after a while."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if waiting.until(lambda: all(map(waiting.has_ended, pids)), seconds):
            return


def test_what_daemons_leave_is_ended(tmp_path):
    # GIVEN a step with a child, that does not end when it is asked to, and a process of another Slurm
    environments = [os.environ | {"SLURM_CONF": str(tmp_path / name)} for name in ("ours", "other")]
    step, other = (
        subprocess.Popen(
            ["sh", "-c", "trap '' TERM; sleep 300; true"], env=environment, start_new_session=True
        )
        for environment in environments
    )
    try:
        end = time.monotonic() + 30
        while len(ours(environments[0])) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        # WHEN what is ours is ended
        end_all(ours(environments[0]), 0.5)
        # THEN nothing of it is left, and the other runs on
        assert ours(environments[0]) == []
        assert other.poll() is None
    finally:
        for each in (step, other):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def placed(seats, names=("nodeA", "nodeB")):
    topology = Topology.of(from_synthetic(NODE), 2)
    return Placement.explicit(topology, [(node, [core]) for node, core in seats], names), topology.nodes


def expected(seats):
    return [f"{rank} {('nodeA', 'nodeB')[node]} [{core}]" for rank, (node, core) in enumerate(seats)]


def rankwise_run(directory, environment, *words, options=(), before=()):
    command = [*before, sys.executable, "-m", "rankwise", "run", "-p", "p.json", "--node", NODE, *options]
    return subprocess.run(
        [*command, "--", *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        cwd=directory,
    )


@pytest.mark.parametrize("seats", [REGULAR, IRREGULAR], ids=["one list for all nodes", "a script"])
def test_the_written_line_puts_each_rank_on_its_host_and_core(slurm, tmp_path, seats):
    form = forms.form("slurm", *placed(seats), tmp_path / "p")
    for suffix, text in form.files.items():
        (tmp_path / f"p{suffix}").write_text(text)
    (tmp_path / "app").write_text(f"#!{sys.executable}\n{SAY}")
    (tmp_path / "app").chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", form.line],
        env=slurm,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert sorted(done.stdout.splitlines()) == expected(seats), done.stderr
    assert ("map_cpu" in form.line) == (seats is REGULAR)


@pytest.mark.parametrize("seats", [REGULAR, IRREGULAR], ids=["regular", "irregular"])
def test_run_places_and_verifies(slurm, tmp_path, seats):
    save(placed(seats, None)[0], tmp_path / "p.json")
    words = ["srun", "-n", "4", sys.executable, "-c", SAY]
    done = rankwise_run(tmp_path, slurm, *words, options=["--hosts", "nodeA,nodeB"])
    assert sorted(done.stdout.splitlines()) == expected(seats), done.stderr
    assert done.stderr.splitlines() == ["rankwise: verified: 4 ranks on 2 hosts ran as p.json says"]


def test_a_job_of_srun_ends_with_a_record_that_is_killed(slurm, tmp_path):
    # GIVEN two ranks that run for minutes, recorded
    mark = f"import time; time.sleep(300)  # {tmp_path}"
    command = [sys.executable, "-m", "rankwise", "record", "--mpi", "mpich", "-o", "a.rw", "--"]
    words = [*command, "srun", "-n", "2", sys.executable, "-c", mark]
    record = subprocess.Popen(words, env=slurm, cwd=tmp_path, stderr=subprocess.DEVNULL)

    def ranks():
        found = []
        for pid in ours(slurm):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:3] == [b"-c", mark.encode()]:
                    found.append(pid)
        return found

    try:
        assert waiting.until(lambda: len(ranks()) == 2)
        # WHEN `rankwise record` is killed THEN they end, as srun alone would have ended them
        record.kill()
        assert waiting.until(lambda: not ranks())
    finally:
        record.kill()
        record.wait()


def test_in_an_allocation_its_hosts_are_the_nodes(slurm, tmp_path):
    save(placed(IRREGULAR, None)[0], tmp_path / "p.json")
    words = ["srun", sys.executable, "-c", SAY]
    done = rankwise_run(tmp_path, slurm, *words, before=["salloc", "-N", "2", "-n", "4", "-Q"])
    assert sorted(done.stdout.splitlines()) == expected(IRREGULAR), done.stderr


def test_more_cores_a_rank_are_bound_to_all_of_them(slurm, tmp_path):
    topology = Topology.of(from_synthetic(NODE), 2)
    save(Placement.explicit(topology, [(1, [0, 1]), (0, [0, 1])], ["nodeA", "nodeB"]), tmp_path / "p.json")
    done = rankwise_run(tmp_path, slurm, "srun", "-n", "2", sys.executable, "-c", SAY)
    assert sorted(done.stdout.splitlines()) == ["0 nodeB [0, 1]", "1 nodeA [0, 1]"], done.stderr


@pytest.mark.parametrize("option", ["-m block", "--cpu-bind=cores", "-w nodeA"])
def test_options_that_place_ranks_are_refused(slurm, tmp_path, option):
    save(placed(IRREGULAR)[0], tmp_path / "p.json")
    done = rankwise_run(tmp_path, slurm, "srun", *option.split(), "-n", "4", "true")
    assert f"`{option}` and the placement both say where ranks run" in done.stderr


@pytest.mark.parametrize("options", [[], ["--reorder"]], ids=["placed", "renumbered"])
def test_programs_of_mpich_are_where_they_should_be(slurm, tmp_path, compiled, options):
    mpi = mpis.named("mpich-5.0.2")
    save(placed(IRREGULAR)[0], tmp_path / "p.json")
    words = ["srun", "--mpi=pmi2", "-n", "4", *(["-N", "2"] if options else [])]
    # Some of what the program checks hangs with MPICH 5.0.2 and this PMI-2, without Rankwise too.
    done = rankwise_run(tmp_path, slurm, *words, compiled(mpi, "reordered.c"), "where", options=options)
    said = [f"rank {each.replace(' ', ': ', 1)}" for each in expected(IRREGULAR)]
    assert sorted(done.stdout.splitlines()) == said, done.stderr


@pytest.mark.slow
def test_the_job_script_of_the_page_does_what_it_says(slurm, tmp_path, compiled):
    # GIVEN the page's script, with a program of MPICH and as many ranks as this Slurm has CPUs
    mpi = mpis.named("mpich-5.0.2")
    page = (Path(__file__).resolve().parents[2] / "docs" / "on-my-cluster.md").read_text()
    (script,) = re.findall(r"^## Slurm\n.*?```bash\n(.*?)```", page, re.DOTALL | re.MULTILINE)
    script = re.sub(r"(?m)^source .*\n", "", script).replace("-n 64", "-n 4")
    (tmp_path / "job.sh").write_text(script.replace("./app args", f"{compiled(mpi, 'ring.c')} 23"))
    path = os.pathsep.join((str(Path(sys.executable).parent), slurm["PATH"]))
    environment = slurm | {"PATH": path, "SLURM_MPI_TYPE": "pmi2", "RANKWISE_MPICC": str(mpi.mpicc)}
    # WHEN it runs in a job on two nodes
    done = subprocess.run(
        ["salloc", "-Q", "-N", "2", "-n", "4", "bash", "-e", "job.sh"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    # THEN the program ran as it was placed, and both runs have its messages
    assert "rankwise: verified: 4 ranks on 2 hosts ran as app.placement.json says" in done.stderr
    for name in ("app.rw", "after.rw"):
        messages = Recording.open(tmp_path / name).messages
        assert messages.select("source", "destination", "messages").rows() == [
            (rank, (rank + 1) % 4, 23) for rank in range(4)
        ]


# Slurm's PMIx servers of two nodes on one machine get into each other's way, with any program.
LAUNCHES = [("mpich-5.0.2", "pmi2", ["nodeA", "nodeB"]), ("debian-openmpi", "pmix", ["nodeA"])]


@pytest.mark.parametrize(("name", "interface", "nodes"), LAUNCHES, ids=["PMI-2", "PMIx"])
@pytest.mark.parametrize("options", [[], ["--trace"]], ids=["profile", "trace"])
def test_programs_are_recorded_under_srun(slurm, tmp_path, compiled, name, interface, nodes, options):
    # GIVEN a ring of 23 laps over all cores of the nodes
    mpi = mpis.named(name)
    ranks = 2 * len(nodes)
    words = ["srun", f"--mpi={interface}", "-n", ranks, "-w", ",".join(nodes), compiled(mpi, "ring.c"), "23"]
    command = [sys.executable, "-m", "rankwise", "record", "-o", "r.rw", *options, "--", *words]
    # WHEN it is recorded
    done = subprocess.run(
        list(map(str, command)),
        env=slurm | mpi.environment() | {"SLURM_CONF": slurm["SLURM_CONF"]},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    # THEN every message is there, with the hosts of Slurm's nodes
    recording = Recording.open(tmp_path / "r.rw")
    laps = [(rank, (rank + 1) % ranks, 23, 23000) for rank in range(ranks)]
    assert recording.messages.select("source", "destination", "messages", "bytes").rows() == laps
    assert [host["host"] for host in recording.context["hosts"]] == nodes
    assert recording.context["partial_ranks"] == recording.context["missing_ranks"] == []
    assert (recording.context["trace"]["bytes"] > 0) == bool(options)


def doctor(directory, environment, *words):
    command = [sys.executable, "-m", "rankwise", "doctor", "--json", "--", *map(str, words)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, cwd=directory, check=False
    )
    document = json.loads(done.stdout)
    ranks = [
        (rank["rank"], node["host"], rank["pus"]) for node in document["nodes"] for rank in node["ranks"]
    ]
    return done, document, sorted(ranks)


def test_the_doctor_sees_where_srun_puts_ranks(slurm, tmp_path):
    # GIVEN four ranks, bound by a list, over two nodes in turn WHEN the doctor starts them
    words = ["srun", "--mpi=pmi2", "-n", "4", "-m", "cyclic", "--cpu-bind=map_cpu:1,0"]
    done, document, ranks = doctor(tmp_path, slurm, *words)
    # THEN each says its node and PU, and nothing is surprising
    assert ranks == [(0, "nodeA", [1]), (1, "nodeB", [1]), (2, "nodeA", [0]), (3, "nodeB", [0])], done.stderr
    assert (done.returncode, document["dealt"], document["surprises"]) == (0, "in turn", [])
    assert document["launcher"] == {"kind": "srun", "vendor": "Slurm", "version": "22.05.8"}


def test_the_doctor_says_what_srun_takes_from_its_environment_and_that_no_mpi_would_start(slurm, tmp_path):
    # GIVEN a job with two CPUs a task, and a binding in the environment
    environment = slurm | {"SLURM_CPU_BIND": "map_cpu:1,0", "SLURM_CPUS_PER_TASK": "2"}
    # WHEN srun is given neither
    done, document, ranks = doctor(tmp_path, environment, "srun", "--mpi=none", "-n", "2", "-w", "nodeB")
    # THEN it followed the one and not the other, as is said, and gave ranks no PMI
    assert ranks == [(0, "nodeB", [1]), (1, "nodeB", [0])], done.stderr
    known = " ".join(fact["what"] for fact in document["known"])
    assert "srun takes `--cpu-bind=map_cpu:1,0` from SLURM_CPU_BIND" in known
    assert "does not take `--cpus-per-task=2` from the job" in known
    assert [each["name"] for each in document["surprises"]] == ["no-pmi"]
