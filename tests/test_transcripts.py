# SPDX-License-Identifier: BSD-3-Clause
"""What documents show of commands is what these print: transcripts/*.txt, made anew by `make transcripts`.

A transcript is commands, each after `$ `, with what they print to stdout and, after `2> `, to stderr. They are run in a
directory with transcripts/inputs and recordings:

- `app.rw`, a run of MG on 16 ranks in a lab that is kept in lab/validated, with the machine file of that lab.
  `before.rw` and `after.rw` are FT there, with MPICH and with Open MPI;
- `heat.rw`, a run of examples/heat.c on 2 ranks, each on its core, that is kept in transcripts/kept. It was started
  with `chrt -f 1`, as others used the machine: its ranks had their cores but for the kernel's limit on such processes;
- `a1.rw` to `a4.rw` and `b1.rw` to `b4.rw`, runs of the same program compiled with `-O2` and with `-O2 -ffast-math`,
  in turn, by `rankwise record -- mpiexec -n 2 -bind-to core`, kept there too. Others used the machine;
- `crashed.rw`, written here, of ranks that did not end well;
- `app.tune`, what a tuner did in a run of bench/tune/imbalance.c, and said of itself in `status.json`; `dry.tune`, what
  it would have done.

Of what differs between runs there is only `...` (MASKED).

transcripts/runs/*.txt are of commands that start programs. They print other figures each time, so documents show
them as they came out once; here they are run, and what documents quote is looked for in what they print, without
figures. faster.txt predicts with the machine file of a lab that is kept: the lab's own would be measured beside other
tests. `--update-runs` writes them anew, and the recording heat.rw with them: do that where nothing else runs.

In documents `<!-- transcript: NAME -->` says that the block behind it is of that file. Every block that shows what a
command prints is of one.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import mpis
import msgspec
import pytest
from lab.kept import archive, hidden, sealed_anew, unpack
from pages import blocks
from raw_writer import MANIFEST, Rank, write_recording

from rankwise.cli import main
from rankwise.cli.tune_show import best_of, outcome, proposal_line, status_text
from rankwise.errors import RankwiseError
from rankwise.lab.permission import needs_user_namespace
from rankwise.tune.document import Tuning
from rankwise.tune.summary import read_output

TOP = Path(__file__).resolve().parent.parent
TRANSCRIPTS = TOP / "tests" / "transcripts"
VALIDATED = TOP / "tests" / "lab" / "validated"
HEAT = TRANSCRIPTS / "kept" / "heat.rw.tar.xz"
EIGHT = TRANSCRIPTS / "kept" / "fast-math.tar.xz"
RECORDINGS = {"app": "mpich.mg", "before": "mpich.ft", "after": "openmpi.ft"}
MACHINE = "mpich.mg.16.20mbit.machine.toml"
RUNS = [
    # Two runs in a lab at 20 Mbit/s take their time, and so does a measurement.
    pytest.param(
        path,
        id=path.stem,
        marks=[pytest.mark.slow, pytest.mark.alone] if path.stem in ("faster", "measure") else (),
    )
    for path in sorted(TRANSCRIPTS.glob("runs/*.txt"))
]
DOCUMENTS = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
# How far a search comes depends on the machine.
MASKED = [
    re.compile(r"(?<=^estimates and replays differ by ).*"),
]
QUOTE = re.compile(r"<!-- transcript: (\S+) -->\n")
# Where programs are installed, and what depends on who else uses the machine.
DIRECTORY = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
FIGURE = re.compile(r"\d[\d.]*( ?(%|[kMG]?B|[mun]?s|[kMG]))?(?!\w)")
CHANNEL = re.compile(r"\bL[23]\b")  # what the first two cores share, if it is not only their package
EQUAL = re.compile(r"(?<= )equal(?= )")  # a placement that takes as long as the best, or a thousandth longer
OF_THE_MOMENT = re.compile(r"(?<=^rankwise: )(what to fix first: |(?:not )?valid\W).*")


def commands_of(path: Path) -> list[str]:
    return re.findall(r"^\$ (.*)$", path.read_text(), re.MULTILINE)


def quoted_of(name: str) -> list[str]:
    """What documents show of a transcript."""
    return [
        line
        for document in DOCUMENTS
        for before, lines in blocks(document.read_text())
        if (marked := re.search(QUOTE.pattern + r"\n*\Z", before)) and marked[1] == name
        for line in lines
    ]


def form(line: str, measured: bool = False) -> str:
    """A line without what differs from run to run, and, `measured`, from machine to machine."""
    line = re.sub("─+", "─", line)  # as wide as its table
    line = CHANNEL.sub("package", line) if measured else line
    line = OF_THE_MOMENT.sub(lambda found: "valid" if "valid" in found[1] else found[1], line)
    return " ".join(FIGURE.sub("#", EQUAL.sub("+0.0 %", line)).split())


@pytest.fixture
def place(compiled, tmp_path):
    """Function (MPI) -> the environment in which transcripts/runs are run, in `tmp_path` with their programs."""
    made = {}

    def make(mpi):
        shutil.copy(compiled(mpi, TOP / "examples" / "heat.c", "-g", "-lm"), tmp_path / "heat")
        shutil.copy(VALIDATED / MACHINE, tmp_path / "lab.machine.toml")
        # As a user has it, who sets nothing.
        ours = ("MPIR_", "OMPI_", "PRTE_")
        kept = {name: value for name, value in mpi.environment().items() if not name.startswith(ours)}
        path = f"{mpi.mpiexec.parent}:{Path(sys.executable).parent}:{kept['PATH']}"
        made.update(kept, PATH=path, COLUMNS="80", LANG="C.UTF-8", XDG_RUNTIME_DIR=str(tmp_path))
        return made

    yield make
    if (tmp_path / "rankwise" / "labs" / "lab").is_dir():
        subprocess.run([sys.executable, "-m", "rankwise", "lab", "down"], env=made, check=True, timeout=60)


@pytest.mark.mpi
@pytest.mark.flaky(reruns=1, reruns_delay=2)
@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2", quick=("mpich-5.0.2",))
@pytest.mark.parametrize("path", RUNS)
def test_runs_print_what_documents_show_of_them(path, mpi, place, tmp_path, request):
    name, update = f"runs/{path.name}", request.config.getoption("--update-runs")
    measures = path.stem == "measure"
    if "rankwise lab" in path.read_text():
        try:
            needs_user_namespace()
        except RankwiseError as error:
            pytest.skip(f"{error.message}: {'; '.join(error.causes)}")
    if "-bind-to" in path.read_text() and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two PUs")
    environment = place(mpi)
    said = []
    for command in commands_of(path):
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        # A machine that others use is measured, too, but not well.
        is_disturbed = measures and "[disturbed]" in done.stdout
        assert done.returncode == 0 or is_disturbed, done.stdout
        lines = [DIRECTORY.sub(".../", line.rstrip()) for line in done.stdout.splitlines()]
        said.append("\n".join([f"$ {command}", *lines]) + "\n")
    text = "\n".join(said)
    if update:
        path.write_text(text)
        if path.stem == "record":
            keep(tmp_path / "heat.rw")
    printed = [form(line, measures) for line in text.splitlines()]
    missing = [line for line in quoted_of(name) if form(line, measures) not in printed]
    assert not missing, text


def keep(recording: Path) -> None:
    """Keep a run, without where its files lay."""
    about = json.loads((recording / "recording.json").read_text()) | {"directory": "/"}
    files = {
        f"raw/{path.name}": sealed_anew(path.read_bytes()) if path.suffix == ".rwn" else path.read_bytes()
        for path in sorted((recording / "raw").iterdir())
    }
    files["recording.json"] = hidden(json.dumps(about).encode())
    HEAT.parent.mkdir(exist_ok=True)
    HEAT.write_bytes(archive(files))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A directory with what the commands read."""
    directory = tmp_path_factory.mktemp("transcripts")
    shutil.copytree(TRANSCRIPTS / "inputs", directory, dirs_exist_ok=True)
    shutil.copy(VALIDATED / MACHINE, directory / "lab.machine.toml")
    for name in ("archer2", "lumi-c"):
        shutil.copy(TOP / "machines" / f"{name}.machine.toml", directory)
    for name, of in RECORDINGS.items():
        unpack(VALIDATED / f"{of}.16.20mbit.rw.tar.xz", directory / f"{name}.rw")
    unpack(HEAT, directory / "heat.rw")
    unpack(EIGHT, directory)
    crashed(directory / "crashed.rw")
    return directory


def crashed(path: Path) -> None:
    """Rank 1 was killed while it computed, and rank 0 waited for its message."""
    ranks = [Rank(me, 2, flags=0, run_ns=2_000_000_000) for me in range(2)]
    ranks[0].in_call = "MPI_Recv", 1_500_000_000
    for me, rank in enumerate(ranks):
        rank.send(1 - me, 1024, times=40, ns=1000)
        rank.recv(1 - me, 1024, times=40, ns=1000)
    write_recording(path, ranks)
    command = {"command": ["mpiexec", "-n", "2", "./app"], "exit_status": 139}
    (path / "recording.json").write_text(json.dumps(MANIFEST | command))


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="argparse of this version writes options in another way"
)
@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_transcripts_say(path, inputs, monkeypatch, capsys, request):
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LANG", "C.UTF-8")
    said = []
    for command in commands_of(path):
        try:
            status = main(shlex.split(command)[1:])
        except SystemExit as ended:  # --help
            status = ended.code
        assert not status, command
        printed = capsys.readouterr()
        lines = printed.out.splitlines() + [f"2> {line}" for line in printed.err.splitlines()]
        for mask in MASKED:
            lines = [mask.sub("...", line.rstrip()) for line in lines]
        said.append("\n".join([f"$ {command}", *lines]) + "\n")
    text = "\n".join(said)
    if request.config.getoption("--update-transcripts"):
        path.write_text(text)
    assert path.read_text().splitlines() == text.splitlines()


def test_the_page_on_tuning_shows_what_is_said_of_the_runs_that_are_kept():
    # GIVEN what is said at the end of a run under a tuner, and of a dry run, and by the tuner while it ran
    printed = []
    for name in ("app.tune", "dry.tune"):
        (tuner,) = read_output(TRANSCRIPTS / "inputs" / name)
        best = best_of(tuner)
        assert best is not None
        printed.append([f"rankwise: {line}" for line in (outcome(tuner), proposal_line(best))])
    text = (TRANSCRIPTS / "inputs" / "app.tune" / "status.json").read_bytes()
    status = status_text(msgspec.json.decode(text, type=Tuning).tuners).splitlines()
    # THEN that is what the page shows
    page = [lines for _, lines in blocks((TOP / "docs" / "tune.md").read_text())]
    assert [*printed[0], "rankwise: next: rankwise tune show app.tune"] in page
    assert printed[1] in page
    (shown,) = [lines for lines in page if lines[0].startswith("  ranks ")]
    assert set(shown) <= set(status)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_quote_transcripts_line_by_line(document):
    page, quoted = document.read_text(), 0
    for before, lines in blocks(page):
        marked = re.search(QUOTE.pattern + r"\n*\Z", before)
        if marked is None:
            commands = [line for line in lines if line.startswith("$ ")]
            assert not commands or commands == lines, f"`{lines[0]}` is not quoted from a transcript"
            continue
        quoted += 1
        text = (TRANSCRIPTS / marked[1]).read_text().splitlines()
        assert any(text[at : at + len(lines)] == lines for at in range(len(text))), "\n".join(lines)
    assert quoted == len(QUOTE.findall(page)), "a transcript is named without a block behind it"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_without_a_language_are_of_transcripts(document):
    # GIVEN blocks that show what was printed without the command: they have no language
    loose, before, inside = [], "", False
    for line in document.read_text().splitlines():
        if line.startswith("```"):
            if not inside and line == "```" and not before.startswith("<!-- transcript: "):
                loose.append(before)
            inside = not inside
        elif not inside and line:
            before = line
    assert loose == []
