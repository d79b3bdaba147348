# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise doctor` on machines that have little, and on this one."""

import ctypes
import errno
import json
import struct

import pytest
from fake_launchers import fake_launcher

import rankwise.cli
import rankwise.record.library
from rankwise.doctor import counters, kernel
from rankwise.doctor.counters import hardware_counters
from rankwise.errors import RankwiseError
from rankwise.recording.samples import absent_counter


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
        "              hint: load your MPI module first, for example",
        "              `module load openmpi`",
    ]
    at = captured.out.splitlines().index(expected[0])
    assert captured.out.splitlines()[at : at + 4] == expected
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


@pytest.mark.parametrize(
    ("number", "why", "hint"),
    [
        (errno.EACCES, "perf_event_paranoid is 2", "perf_event_paranoid=1"),
        (errno.EPERM, "does not allow it (EPERM", "seccomp"),
        (errno.ENOSYS, "seccomp", "perf_event_open"),
        (errno.ENOENT, "no such counter", "virtual machine"),
    ],
)
def test_what_cannot_be_counted_has_the_words_of_recordings(monkeypatch, tmp_path, number, why, hint):
    # GIVEN a kernel that answers so, at level 2
    (tmp_path / "level").write_text("2\n")
    monkeypatch.setattr(counters, "_PARANOID", tmp_path / "level")
    asked = []

    class Kernel:
        def syscall(self, call, attributes, *more):
            asked.append(struct.unpack_from("=IIQQQQQ", attributes.raw))
            ctypes.set_errno(number)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *name, **options: Kernel())
    with pytest.raises(RankwiseError) as raised:
        counters.software_events()
    # THEN the reason and what would change it are those of a recording
    found = absent_counter("", number, "perf_event_paranoid is 2" if number != errno.ENOENT else "")
    assert why in raised.value.message and hint in raised.value.hint and raised.value.hint == found.remedy
    # AND what was tried is what a recording counts: context switches (config 3), in the kernel
    kind, _, event, *_, flags = asked[0]
    assert (kind, event) == (1, 3) and not flags & 1 << 5


def test_long_reasons_and_hints_are_wrapped_and_commands_stay_whole(doctor, monkeypatch):
    def refused():
        command = "`ask for --this=that and for that, as one command that is long`"
        raise RankwiseError("a reason " * 15, hint=f"{'words ' * 10}{command} or not")

    monkeypatch.setattr(counters, "hardware_counters", refused)
    _, captured = doctor()
    lines = captured.out.splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("no  counters"))
    own = lines[at : next(at for at, line in enumerate(lines) if line[4:].startswith("events"))]
    assert len(own) >= 5 and max(map(len, own)) <= 80
    assert any("`ask for --this=that and for that, as one command that is long`" in line for line in own)


def test_ptrace_scope_is_read_from_proc(monkeypatch, tmp_path):
    # GIVEN a /sys elsewhere, and ranks that may not read each other's memory
    (tmp_path / "proc/sys/kernel/yama").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/yama/ptrace_scope").write_text("2\n")
    monkeypatch.setattr(kernel, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(kernel, "_SYS", tmp_path / "elsewhere" / "sys")
    with pytest.raises(RankwiseError, match="ptrace_scope is 2"):
        kernel.single_copies()
