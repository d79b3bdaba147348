# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise measure` from the command line to the machine file."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import mpis
import polars as pl
import pytest

from rankwise.cli import main, measure
from rankwise.machine.file import load
from rankwise.machine.topology import from_this_machine
from rankwise.measure import site
from rankwise.measure.outcome import disturbed_path
from rankwise.measure.samples import Launch


def launcher_line(mpi) -> list[str]:
    """A launcher line without a program."""
    return [word for word in mpi.launch(2, "program") if word != "program"]


def rankwise(*words: str, **keywords) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "rankwise", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **keywords)


FAMILIES = list({mpi.family: mpi for mpi in reversed(mpis.installed())}.values())


@pytest.fixture(params=FAMILIES, ids=lambda mpi: mpi.name)
def one_of_each(request) -> mpis.Mpi:
    """One MPI of each family: what differs between versions is tested on the programs themselves."""
    return request.param


of_one_family = pytest.mark.parametrize(
    "one_of_each",
    [FAMILIES[0], *(pytest.param(mpi, marks=pytest.mark.slow) for mpi in FAMILIES[1:])],
    ids=lambda mpi: mpi.name,
    indirect=True,
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> str:
    """Where the microbenchmarks are compiled to: once for each MPI, not for each test."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def refused(capsys, tmp_path, monkeypatch):
    """Function: run a command line that must be refused at once; returns (status, what stderr says)."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        before = sorted(tmp_path.rglob("*"))
        status = main(["measure", *words])
        assert sorted(tmp_path.rglob("*")) == before
        return status, capsys.readouterr().err

    return run


def test_no_launcher_line(refused):
    assert refused() == refused("--")
    status, said = refused()
    assert status == 2
    assert said.startswith("error: no launcher line\n\nhint: put it after `--`")


def test_a_word_that_launches_nothing(refused):
    status, said = refused("--", "env", "-n", "2")
    assert status == 2
    assert "`env` is no launcher" in said


def test_a_launcher_that_is_not_there(refused):
    for words in (("--", "frobnicate", "-n", "2"), ("--", "/nowhere/srun", "-n", "2")):
        status, said = refused(*words)
        assert status == 127
        assert f"there is no program `{words[1]}`" in said


@pytest.mark.parametrize("time", ["0s", "0.0 min", "2"])
def test_a_budget_without_time_is_refused(refused, time):
    status, said = refused("--budget", time, "--", "mpiexec", "-n", "2")
    assert status == 2
    assert f"`{time}` is no" in said and "`30s`" in said


@pytest.fixture
def hydra(tmp_path, monkeypatch):
    """A launcher that says it is MPICH's and must not be started for anything else."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    script = bin_ / "mpiexec"
    script.write_text(
        "#!/bin/sh\necho 'HYDRA build details:'\necho '    Version:    4.0'\n[ $1 = --version ]\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_), prepend=os.pathsep)
    return script


def test_one_rank(refused, hydra):
    status, said = refused("--", "mpiexec", "-n", "1")
    assert status == 2
    assert "1 rank has nobody to talk to" in said


def test_a_program_after_the_launcher_line(refused, hydra):
    status, said = refused("--", "mpiexec", "-n", "2", "./app", "x")
    assert status == 2
    assert "`./app` is more than a launcher line" in said


def test_an_output_that_exists_is_not_touched(refused, hydra, tmp_path):
    (tmp_path / "x.machine.toml").write_text("mine")
    status, said = refused("-o", "x.machine.toml", "--", "mpiexec", "-n", "2")
    assert status == 1
    assert "`x.machine.toml` exists" in said
    assert "--force" in said
    # THEN the same holds for the samples beside it
    (tmp_path / "y.samples.parquet").write_text("mine")
    assert "`y.samples.parquet` exists" in refused("-o", "y.machine.toml", "--", "mpiexec", "-n", "2")[1]


def test_an_output_that_cannot_be_written(refused, hydra):
    status, said = refused("-o", "nowhere/x.machine.toml", "--", "mpiexec", "-n", "2")
    assert status == 1
    assert "the directory `nowhere` does not exist" in said


def test_no_compiler_wrapper(refused, hydra, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(hydra.parent))
    status, said = refused("--", "mpiexec", "-n", "2")
    assert status == 1
    assert "no `mpicc` on PATH" in said
    assert "module load" in said


def test_a_budget_needs_a_unit(refused):
    status, said = refused("--budget", "10", "--", "mpiexec", "-n", "2")
    assert status == 2
    assert "is not a time with a unit" in said


@pytest.mark.one_of(2)
@pytest.mark.mpi
def test_a_machine_file_comes_out(one_of_each, cache, tmp_path):
    mpi = one_of_each
    # GIVEN little time
    output = tmp_path / "here.machine.toml"
    environment = mpi.environment() | {
        "XDG_CACHE_HOME": cache,
        "RANKWISE_MPICC": str(mpi.mpicc),
    }
    chosen = {"MPICH_CC": "cc", "OMPI_CC": "cc"}
    words = ["measure", "--quick", "--budget", "5s", "--json", "-o", output, "--", *launcher_line(mpi)]
    ran = rankwise(*words, env=environment | chosen)
    assert ran.returncode in (0, 1), ran.stderr
    # THEN stdout is one JSON object
    document = json.loads(ran.stdout)
    # THEN the file has another name, and the status says so, just where others disturbed it
    set_aside = bool(document["disturbed"])
    assert ran.returncode == set_aside
    assert document["machine_file"] == str(disturbed_path(output) if set_aside else output)
    assert output.exists() != set_aside
    assert document["schema"] == "rankwise.measure/1"
    assert document["complete"] is True
    # THEN the file loads, and one way through it at 1 byte is what the samples say, as far as a busy machine lets
    machine = load(document["machine_file"])
    channel, said = next(iter(document["channels"].items()))
    first = machine.link_class(channel).segments[0]
    latency = first.L_s.value + first.o_s.value + first.o_receive_s.value
    table = pl.read_parquet(document["samples_file"])
    trips = table.filter(
        (pl.col("test") == "pingpong") & (pl.col("bytes") == 1) & (pl.col("channel") == channel)
    )
    assert 0.5 * trips["value1"].min() <= latency <= 2 * trips["value1"].max()
    assert said["latency_s"]["low"] <= said["latency_s"]["value"] <= said["latency_s"]["high"]
    # THEN what could not be measured is named
    assert "network" in document["not_measured"]
    assert "network" in machine.notes
    assert machine.node.count == 1


@pytest.mark.mpi
@of_one_family
def test_the_topology_of_other_nodes_is_seen_there(one_of_each, cache, monkeypatch):
    # GIVEN this node taken for another one, because it says it was booted another time
    for name, value in (one_of_each.environment() | {"XDG_CACHE_HOME": cache}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(site, "boot_id", lambda: "another")
    here = site.Site(launcher_line(one_of_each))
    here.prepare()
    ranks = {0: {"host": socket.gethostname(), "boot": "this"}}
    # THEN its topology is what the recorder saved on it
    found, assumed = here.topologies(Launch(ranks=ranks))
    assert assumed == []
    assert found[socket.gethostname()].sha256 == from_this_machine().sha256
    assert found[socket.gethostname()].description.endswith(".topology.tar")
    # THEN a host that did not answer is assumed to be as this one, and said to be
    found, assumed = here.topologies(Launch(ranks={0: {"host": "elsewhere", "boot": "this"}}))
    assert assumed == ["elsewhere"]


@pytest.mark.mpi
@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(one_of_each, tmp_path):
    mpi = one_of_each
    output = tmp_path / "here.machine.toml"
    environment = mpi.environment() | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "RANKWISE_MPICC": str(mpi.mpicc),
    }
    words = ["measure", "--budget", "120s", "-o", str(output), "--", *launcher_line(mpi)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rankwise", *words],
        env=environment | {"MPICH_CC": "cc", "OMPI_CC": "cc"},
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(15)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    # THEN the samples are there, and either a machine file or the reason why there is none
    assert len(pl.read_parquet(tmp_path / "here.samples.parquet")) > 0
    assert (process.returncode == 130 and "--resume" in said) or "no channel could be fitted" in said
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if str(tmp_path).encode() in _content(p)]


def test_the_end_of_a_jobs_time_is_taken_as_ctrl_c():
    number = signal.SIGTERM
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), measure._end_at_sigterm():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
        # GIVEN nohup, THEN it stays ignored
        signal.signal(number, signal.SIG_IGN)
        with measure._end_at_sigterm():
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
@pytest.mark.mpi
@of_one_family
def test_the_wrong_mpi_is_noticed(one_of_each, cache, tmp_path):
    mpi = one_of_each
    # GIVEN a launcher, and the mpicc of the other family
    other = mpis.named("openmpi-5.0.11" if mpi.family == "mpich" else "mpich-5.0.2")
    environment = mpi.environment() | {
        "XDG_CACHE_HOME": cache,
        "RANKWISE_MPICC": str(other.mpicc),
    }
    ran = rankwise(
        "measure", "--quick", "-o", tmp_path / "x.machine.toml", "--", *launcher_line(mpi),
        env=environment | {"MPICH_CC": "cc", "OMPI_CC": "cc"},
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: ")
    assert not (tmp_path / "x.machine.toml").exists()
