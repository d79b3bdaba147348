# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise record` as transcripts of whole commands, with launchers that only imitate and a stand-in recorder."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import waiting
from fake_launchers import fake_launcher

from rankwise.record import manifest
from rankwise.record.library import What, variables

HERE = Path(__file__).resolve().parent
# Runs what comes after `-n N`, like a launcher of one rank, with what `-genv` gives.
HYDRA = 'while [ "$1" = -genv ]; do export "$2=$3"; shift 3; done; shift 2; exec "$@"'


@pytest.fixture
def start(record_with, tmp_path, monkeypatch):
    """Function: start `rankwise record ARGS` in an empty directory that is also on PATH."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "LD_PRELOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def popen(*words, **keywords):
        command = record_with(*words)
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, **(pipes | keywords))

    return popen


@pytest.fixture
def record(start):
    """Function: exit status, stdout and stderr of `rankwise record ARGS`."""

    def run(*words):
        process = start(*words)
        out, err = process.communicate(timeout=60)
        return process.returncode, out.decode(), err.decode()

    return run


@pytest.fixture
def script(tmp_path):
    """Function: an executable of one's own, `rank` unless named otherwise."""

    def write(text, name="rank"):
        path = tmp_path / name
        path.write_text("#!/bin/bash\n" + text + "\n")
        path.chmod(0o755)
        return f"./{name}"

    return write


def compile_program(tmp_path, source, *flags, name="rank"):
    (tmp_path / "program.c").write_text(source)
    subprocess.run(["cc", "program.c", "-o", name, *flags], check=True, cwd=tmp_path)
    return f"./{name}"


def refused(status, error, hint):
    return status, "", f"error: {error}\n\nhint: {hint}\n"


def test_no_program_is_an_error(record, tmp_path):
    hint = "put it after `--`, for example `rankwise record -- mpiexec -n 16 ./app`"
    assert record() == refused(125, "no program to record", hint)
    assert record("--") == refused(125, "no program to record", hint)
    assert list(tmp_path.iterdir()) == []


def test_a_launch_line_without_program_is_an_error(record, tmp_path):
    fake_launcher(tmp_path, "mpiexec", "hydra")
    assert record("--", "mpiexec", "-n", "16") == refused(
        125,
        "no program in the launch line `mpiexec -n 16`",
        "put it behind the launcher's options, for example `rankwise record -- mpiexec -n 16 ./app`",
    )


def test_a_misspelt_option_is_125_because_a_program_could_return_2(record):
    expected = refused(125, "`--trase` is not an option of `rankwise record`", "did you mean `--trace`?")
    assert record("--trase", "--", "./app") == expected


def test_a_program_that_is_not_there_is_127(record, tmp_path):
    fake_launcher(tmp_path, "mpiexec", "hydra")
    hint = "check the path, or load the module that has it"
    assert record("--", "mpiexec", "-n", "2", "./gone") == refused(127, "there is no program `./gone`", hint)
    assert record("--", "./gone") == refused(127, "there is no program `./gone`", hint)


def test_a_launcher_that_is_not_there_is_127_and_the_hint_is_the_module(record, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    hint = "load your MPI module first, for example `module load openmpi`"
    assert record("--", "mpiexec", "-n", "2", "./a") == refused(127, "there is no program `mpiexec`", hint)


def test_a_program_that_is_not_executable_is_126(record, tmp_path):
    (tmp_path / "data").write_text("x")
    fake_launcher(tmp_path, "mpiexec", "hydra")
    expected = refused(126, "`./data` is not executable", "`chmod +x ./data`")
    assert record("--", "mpiexec", "./data") == expected


def test_a_program_that_the_system_cannot_start_is_126_and_leaves_nothing(record, tmp_path):
    (tmp_path / "app").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "app").chmod(0o755)
    status, out, err = record("-o", "new.rw", "--", "./app")
    assert (status, out) == (126, "")
    assert err.startswith("error: `./app` cannot be started: exec format error\n\nhint: ")
    assert not (tmp_path / "new.rw").exists()


def test_a_program_without_mpi_is_125(record, tmp_path):
    compile_program(tmp_path, "int main(void) { return 0; }")
    hint = "name the MPI program itself; if it does use MPI, say which: `--mpi mpich` or `--mpi openmpi`"
    assert record("--", "./rank") == refused(125, "`./rank` does not use MPI", hint)
    assert record("--mpi", "mpich", "-qq", "-o", "a.rw", "--", "./rank") == (0, "", "")


def test_a_statically_linked_program_is_125(record, tmp_path):
    compile_program(
        tmp_path, "int MPI_Init(void) { return 0; } int main(void) { return MPI_Init(); }", "-static"
    )
    status, out, err = record("--", "./rank")
    assert (status, out) == (125, "")
    assert err.startswith(
        "error: `./rank` is statically linked with MPI; it cannot be recorded by preloading\n\nhint:"
    )


def test_an_unknown_mpi_is_125(record, tmp_path):
    (tmp_path / "mpi.c").write_text("int MPI_Init(void) { return 0; }")
    flags = ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.20", "-o", "libmpi.so.20"]
    subprocess.run(["cc", "mpi.c", *flags], check=True, cwd=tmp_path)
    source = "int MPI_Init(void); int main(void) { return MPI_Init(); }"
    compile_program(tmp_path, source, "libmpi.so.20", "-Wl,-rpath,$ORIGIN")
    status, out, err = record("--", "./rank")
    assert (status, out) == (125, "")
    assert err.startswith(
        "error: `./rank` is linked with `libmpi.so.20`, an MPI whose ABI is not known\n\nhint:"
    )


def test_a_recording_that_exists_is_not_overwritten(record, tmp_path, script):
    # GIVEN a recording
    program = script("exit 0")
    (tmp_path / "old.rw" / "raw").mkdir(parents=True)
    (tmp_path / "old.rw" / "raw" / "node.rwn").write_text("precious")
    # WHEN another is to take its name
    hint = "add `--force` to replace it, or choose another name with `-o DIR`"
    assert record("-o", "old.rw", "--", program) == refused(125, "the recording `old.rw` exists", hint)
    # THEN it is as it was
    assert (tmp_path / "old.rw" / "raw" / "node.rwn").read_text() == "precious"


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_directory_that_is_no_recording_is_never_touched(record, tmp_path, script, force):
    program = script("exit 0")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1").write_text("precious")
    status, _, err = record(*force, "-o", "thesis", "--", program)
    assert (status, err.splitlines()[0]) == (125, "error: `thesis` exists and is not a recording")
    assert (tmp_path / "thesis" / "chapter1").read_text() == "precious"


def test_force_replaces_a_recording_but_not_what_else_lies_in_it(record, tmp_path, script):
    program = script("exit 0")
    for name in ("raw/node.rwn", "tables/ranks.parquet", "notes.txt"):
        (tmp_path / "old.rw" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "old.rw" / name).write_text("old")
    assert record("--force", "-o", "old.rw", "--", program)[0] == 0
    left = sorted(
        str(p.relative_to(tmp_path / "old.rw")) for p in (tmp_path / "old.rw").rglob("*") if p.is_file()
    )
    assert left == ["lock", "notes.txt", "raw/host.rwn", "recording.json"]


def test_a_directory_that_cannot_be_made_is_said(record, tmp_path, script):
    program = script("exit 0")
    (tmp_path / "file").write_text("x")
    status, _, err = record("-o", "file/a.rw", "--", program)
    assert (status, err.splitlines()[0]) == (
        125,
        "error: the recording `file/a.rw` cannot be created: not a directory",
    )
    expected = refused(
        125, "the recording `x/a.rw` cannot be created: no such file or directory", "`mkdir -p x`"
    )
    assert record("-o", "x/a.rw", "--", program) == expected


def test_the_exit_status_is_the_programs(record, script):
    status, out, err = record("-o", "a.rw", "--", script("echo hello; echo there >&2; exit 7"))
    assert (status, out) == (7, "hello\n")
    assert err.splitlines()[0] == "there"


def test_stdin_and_stdout_are_the_programs_byte_for_byte(start, script):
    # GIVEN bytes that are no text
    content = bytes(range(256)) * 4096
    # WHEN they go through a recorded program
    process = start("-o", "a.rw", "--", script("cat"), stdin=subprocess.PIPE)
    out, _ = process.communicate(content, timeout=60)
    # THEN none is missing, and none was added
    assert (process.returncode, out == content) == (0, True)


def test_what_is_said_at_the_end_has_at_most_three_lines_each_with_our_name(record, script):
    status, out, err = record("-o", "a.rw", "--", script("exit 0"))
    lines = err.splitlines()
    assert (status, out) == (0, "")
    assert 1 <= len(lines) <= 3
    assert all(line.startswith("rankwise: ") for line in lines)
    assert lines[-1] == "rankwise: next: rankwise report a.rw"


def test_nothing_is_said_when_asked_to_be_quiet(record, script):
    assert record("-q", "-o", "a.rw", "--", script("exit 0")) == (0, "", "")


def test_a_run_that_recorded_nothing_says_so_and_leaves_nothing(record, tmp_path, script):
    status, out, err = record("-o", "a.rw", "--", script("exit 0", name="other"))
    assert (status, out) == (0, "")
    assert err.splitlines() == [
        "rankwise: nothing was recorded: no rank initialised MPI with the recorder in it; "
        "`./other` is a script or interpreter",
        "rankwise: check that `./other` starts a dynamically linked MPI program, and see `rankwise doctor`",
    ]
    assert not (tmp_path / "a.rw").exists()


def test_a_run_that_failed_early_keeps_its_status_and_says_that_nothing_was_recorded(record, script):
    status, _, err = record("-q", "--", script("exit 3", name="other"))
    assert (status, err) == (
        3,
        "rankwise: nothing was recorded: the run ended with status 3 before any rank had initialised MPI\n",
    )


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_a_launcher_killed_by_a_signal_kills_us_likewise_without_a_core_file(
    record, tmp_path, script, number
):
    status, _, err = record("-o", "a.rw", "--", script(f"ulimit -c 0; kill -{int(number)} $$"))
    assert status == -number
    assert "next: rankwise report a.rw" in err
    assert json.loads((tmp_path / "a.rw" / "recording.json").read_text())["exit_status"] == 128 + number


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 40), (signal.SIGUSR1, 40)],
)
def test_a_signal_to_us_alone_reaches_the_program_once(start, tmp_path, script, number, status):
    # GIVEN a program that counts a signal and leaves in its own time
    program = script(
        f"n=0; trap 'n=$((n+1)); echo $n >> got' {int(number)}; touch ready\n"
        "for i in $(seq 100); do [ $n -gt 0 ] && break; sleep 0.05; done; sleep 0.6; exit 40"
    )
    process = start("-o", "a.rw", "--", program)
    assert waiting.until((tmp_path / "ready").exists)
    # WHEN rankwise alone is sent the signal
    process.send_signal(number)
    process.communicate(timeout=60)
    # THEN the program had it once, ended as it liked, and the recording was kept
    assert (tmp_path / "got").read_text() == "1\n"
    assert process.returncode == status
    written = manifest.read(tmp_path / "a.rw")
    assert written.asked_to_end == (None if number == signal.SIGUSR1 else number)


def test_a_signal_to_the_whole_group_is_not_doubled(start, tmp_path, script):
    # GIVEN a program that leaves at the first signal, in a process group as batch systems make
    program = script(
        "trap 'echo x >> got; exit 40' TERM; touch ready; for i in $(seq 100); do sleep 0.05; done"
    )
    process = start("-o", "a.rw", "--", program, start_new_session=True)
    assert waiting.until((tmp_path / "ready").exists)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    assert (process.returncode, (tmp_path / "got").read_text()) == (40, "x\n")


def test_the_ranks_are_told_where_to_write_and_the_launcher_is_not_preloaded(
    record, tmp_path, script, stand_in
):
    # GIVEN a launcher that shows its own environment
    fake_launcher(tmp_path, "mpiexec", "hydra", 'echo "launcher=$LD_PRELOAD$RANKWISE_DIR"; ' + HYDRA)
    program = script('echo "$LD_PRELOAD $RANKWISE_DIR $RANKWISE_TRACE $*"')
    status, out, _ = record(
        "--trace", "-o", "a.rw", "--", "mpiexec", "-n", "1", program, "--json", "--", "x y"
    )
    assert status == 0
    library = stand_in / "librankwise_record.so"
    assert out == f"launcher=\n{library} {tmp_path}/a.rw 1 --json -- x y\n"


def test_how_it_was_recorded_is_written_down(record, tmp_path, script):
    fake_launcher(tmp_path, "mpiexec", "hydra", HYDRA)
    program = script("exit 7")
    before = time.time()
    record("-o", "a.rw", "--", "mpiexec", "-n", "1", program, "x")
    written = manifest.read(tmp_path / "a.rw")
    assert written.command == ["mpiexec", "-n", "1", "./rank", "x"]
    assert (written.directory, written.ranks, written.programs) == (str(tmp_path), 1, ["./rank"])
    assert (written.launcher.kind, written.launcher.version) == ("hydra", "4.2.1")
    assert (written.exit_status, written.signal, written.trace, written.job) == (7, None, False, None)
    assert before <= written.start_s <= written.end_s <= time.time()


@pytest.mark.one_of(3)
@pytest.mark.parametrize(
    ("words", "job", "name"),
    [
        (["mpiexec", "-n", "16", "./rank"], "1234", "rank.16r.1234.rw"),
        (["mpiexec", "-n", "2", "./rank", ":", "-n", "3", "./rank"], "9", "rank.5r.9.rw"),
        (["./rank"], "77", "rank.77.rw"),
    ],
)
def test_the_default_name_says_program_ranks_and_job(record, tmp_path, script, monkeypatch, words, job, name):
    fake_launcher(tmp_path, "mpiexec", "hydra", HYDRA)
    script("exit 0")
    monkeypatch.setenv("SLURM_JOB_ID", job)
    record("--", *words)
    record("--", *words)
    assert sorted(p.name for p in tmp_path.glob("*.rw")) == [name.replace(".rw", ".2.rw"), name]


def test_a_launcher_of_the_other_mpi_is_refused_before_anything_runs(record, tmp_path):
    fake_launcher(tmp_path, "mpiexec", "openmpi5", "touch started")
    (tmp_path / "mpi.c").write_text("int MPI_Init(void) { return 0; }")
    flags = ["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12", "-o", "libmpi.so.12"]
    subprocess.run(["cc", "mpi.c", *flags], check=True, cwd=tmp_path)
    source = "int MPI_Init(void); int main(void) { return MPI_Init(); }"
    compile_program(tmp_path, source, "libmpi.so.12", "-Wl,-rpath,$ORIGIN")
    status, _, err = record("--", "mpiexec", "-n", "8", "./rank")
    assert status == 125
    assert err.splitlines()[0] == (
        "error: `./rank` is linked with the MPICH ABI, but `mpiexec` is Open MPI's: it would run as 8 times one rank"
    )
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["mpiexec", "-n", "2", "./app"], "rankwise record -- mpiexec -n 2 ./app"),
        (
            ["-o", "a b.rw", "mpiexec", "-n", "2", "./app"],
            "rankwise record -o 'a b.rw' -- mpiexec -n 2 ./app",
        ),
        (["-n", "2", "./app"], "rankwise record -- mpiexec -n 2 ./app"),
    ],
)
def test_a_launch_line_without_the_dashes_is_given_back_with_them(record, typed, meant):
    message = "`rankwise record` needs `--` before the program it starts"
    assert record(*typed) == refused(125, message, f"`{meant}`")


def test_a_launcher_before_the_dashes_is_given_back_behind_them(record):
    message = "`mpiexec` belongs behind `--`, with the program it starts"
    typed = ["mpiexec", "-n", "4", "-o", "x.rw", "--", "./app", "-v"]
    assert record(*typed) == refused(125, message, "`rankwise record -o x.rw -- mpiexec -n 4 ./app -v`")


def test_a_wrapper_before_the_dashes_is_given_back_behind_them(record):
    message = "`timeout` belongs behind `--`, with the program it starts"
    typed = ["-o", "x.rw", "timeout", "5", "mpiexec", "-n", "2", "--", "./loop"]
    assert record(*typed) == refused(
        125, message, "`rankwise record -o x.rw -- timeout 5 mpiexec -n 2 ./loop`"
    )


def test_a_dash_is_no_directory(record, script):
    status, _, err = record("-o", "-", "--", script("exit 0"))
    assert (status, err.partition("\n")[0]) == (125, "error: `-o -` names no directory")


def test_a_static_program_without_mpi_is_125_and_is_not_run(record, tmp_path):
    compile_program(tmp_path, '#include <stdio.h>\nint main(void) { puts("ran"); return 0; }', "-static")
    status, out, err = record("--", "./rank")
    assert (status, out) == (125, "")
    assert err.startswith("error: `./rank` is statically linked; it cannot be recorded by preloading\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--phase", "a", "--trace-calls", "1..2"],
            "`--trace-calls` and `--phase` are two ways to cut a trace",
        ),
        (["--phase", "a", "--counts"], "`--phase` traces, `--counts` does not time"),
        (["--phase", ""], "`--phase` names no phase"),
    ],
)
def test_ways_to_cut_a_trace_that_exclude_each_other_are_refused(record, options, said):
    status, out, err = record(*options, "--", "mpiexec", "-n", "1", "true")
    assert (status, out) == (125, "") and said in err


def test_the_ranks_are_told_the_phase_to_trace():
    told = variables(Path("/tmp/x.rw"), What(trace=True, phase="solve"), None)
    assert told["RANKWISE_TRACE"] == "1" and told["RANKWISE_PHASE"] == "solve"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--samples", "5ms"], "`5ms` is no time between samples"),
        (["--samples", "often"], "`often` is no time between samples"),
        (["--counters", "cycles,,r10d1"], "`cycles,,r10d1` is no list of counters"),
        (["--counters", ",".join(["cycles"] * 17)], "`--counters` names 17 counters"),
    ],
)
def test_samples_and_counters_that_cannot_be_are_refused(record, options, said):
    status, out, err = record(*options, "--", "mpiexec", "-n", "1", "true")
    assert (status, out) == (125, "") and said in err and "hint: " in err


def test_the_ranks_are_told_counters_and_the_time_between_samples():
    told = variables(Path("/tmp/x.rw"), What(counters=("cycles", "r10d1"), samples_ms=10), None)
    assert (told["RANKWISE_COUNTERS"], told["RANKWISE_SAMPLES"]) == ("cycles,r10d1", "10")
    told = variables(Path("/tmp/x.rw"), What(counters=(), samples_ms=0), None)
    assert (told["RANKWISE_COUNTERS"], told["RANKWISE_SAMPLES"]) == ("none", "off")
    told = variables(Path("/tmp/x.rw"), What(), None)
    assert "RANKWISE_COUNTERS" not in told and "RANKWISE_SAMPLES" not in told
