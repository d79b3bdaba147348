# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor` on machines that have little, and on this one."""

import json

import pytest
from fake_launchers import fake_launcher

import rankwise.cli
import rankwise.record.library
from rankwise.doctor.counters import hardware_counters
from rankwise.errors import RankwiseError


@pytest.fixture
def doctor(tmp_path, monkeypatch, capsys):
    """Run `rankwise doctor ARGS` on a machine with the recorders of two ABIs and only what is put on PATH."""
    for name in ("librankwise_record.so", "librankwise_record_mpich.so", "librankwise_record_openmpi.so"):
        (tmp_path / name).touch()
    monkeypatch.setattr(rankwise.record.library, "library_directory", lambda: tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("RANKWISE_MPICC", raising=False)

    def run(*words):
        status = rankwise.cli.main(["doctor", *words])
        return status, capsys.readouterr()

    return run


def lines_of(captured, name):
    return [line for line in captured.out.splitlines() if line[4:].startswith(name)]


def test_each_recorder_and_launcher_is_named(doctor, tmp_path):
    # GIVEN an MPICH launcher, under three names, one of them a copy
    fake_launcher(tmp_path / "bin", "mpiexec", "hydra")
    (tmp_path / "bin" / "mpirun").symlink_to("mpiexec")
    fake_launcher(tmp_path / "bin", "mpiexec.hydra", "hydra")
    # WHEN the doctor looks
    status, captured = doctor()
    # THEN it is found once, and recording works, though not for the third ABI
    assert status == 0
    assert lines_of(captured, "launcher") == [f"ok  launcher  MPICH 4.2.1: `{tmp_path}/bin/mpiexec`"]
    assert [line[:2] for line in lines_of(captured, "recorder")] == ["ok", "ok", "no"]
    assert captured.err == "next: rankwise record -- mpiexec -n 16 ./app\n"


def test_without_a_launcher_recording_does_not_work_and_the_hint_is_the_module(doctor):
    status, captured = doctor()
    assert status == 1
    expected = [
        "no  launcher  no `mpiexec`, `mpirun` or `srun` on PATH",
        "              needed for: record, run",
        "              hint: load your MPI module first, for example `module load openmpi`",
    ]
    at = captured.out.splitlines().index(expected[0])
    assert captured.out.splitlines()[at : at + 3] == expected
    assert lines_of(captured, "compiler")[0].startswith("no  compiler  no `mpicc` on PATH")
    assert captured.err == ""


def test_a_launcher_of_nobody_known_is_not_counted(doctor, tmp_path):
    fake_launcher(tmp_path / "bin", "mpiexec", "other")
    status, captured = doctor()
    assert status == 1
    assert lines_of(captured, "launcher") == [
        f"no  launcher  `{tmp_path}/bin/mpiexec` does not say whose it is"
    ]


def test_an_installation_without_recorder_says_so(doctor, monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setattr(rankwise.record.library, "PRELOADED", "never_built.so")
    status, captured = doctor()
    assert status == 1
    expected = "no  recorder  this installation of Rankwise lacks its recorder, `never_built.so`"
    assert lines_of(captured, "recorder") == [expected]


def test_json_is_one_object_with_every_check(doctor, tmp_path):
    fake_launcher(tmp_path / "bin", "srun", "slurm")
    status, captured = doctor("--json")
    document = json.loads(captured.out)
    assert (status, captured.err) == (0, "")
    assert list(document)[:3] == ["schema", "rankwise", "can_record"]
    assert document["schema"] == "rankwise.doctor/1"
    assert {check["name"] for check in document["checks"]} >= {
        "recorder",
        "launcher",
        "compiler",
        "hwloc",
        "counters",
    }
    found = [check for check in document["checks"] if check["name"] == "launcher"]
    expected = {"name": "launcher", "ok": True, "needed_for": "record, run", "hint": None}
    assert found == [expected | {"found": f"Slurm 22.05.8: `{tmp_path}/bin/srun`"}]


def test_counting_is_either_possible_or_the_reason_is_the_kernels():
    try:
        assert hardware_counters() == "the kernel counts instructions for this user"
    except RankwiseError as error:
        assert error.message.startswith("the kernel ")
