# SPDX-License-Identifier: BSD-3-Clause
"""What documents show of commands is what these print: transcripts/*.txt, made anew by `make transcripts`.

A transcript is commands, each after `$ `, with what they print to stdout and, after `2> `, to stderr. They are run in a
directory with transcripts/inputs and `app.rw`, a run of MG on 16 ranks in a lab that is kept in lab/validated, with the
machine file of that lab. `before.rw` and `after.rw` are FT there, with MPICH and with Open MPI. Of what differs between
runs there is only `...` (MASKED). In documents
`<!-- transcript: NAME -->` says that the block behind it is of that file.
"""

import re
import shlex
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from pages import blocks

from rankwise.cli import main

TOP = Path(__file__).resolve().parent.parent
TRANSCRIPTS = TOP / "tests" / "transcripts"
KEPT = TOP / "tests" / "lab" / "validated"
RECORDINGS = {"app": "mpich.mg", "before": "mpich.ft", "after": "openmpi.ft"}
DOCUMENTS = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
# How far a search comes depends on the machine.
MASKED = [
    re.compile(r"(?<=decided by replayed ones: )[\d.]+%"),
    re.compile(r"(?<=^\(mean of )\d+ placements.*(?=\)$)"),
]
# What these print is of a run with MPI, and other each time: documents show it as it came out once.
RUNS = ("rankwise doctor", "rankwise lab", "rankwise record", "rankwise run")
QUOTE = re.compile(r"<!-- transcript: (\S+) -->\n")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A directory with what the commands read."""
    directory = tmp_path_factory.mktemp("transcripts")
    shutil.copytree(TRANSCRIPTS / "inputs", directory, dirs_exist_ok=True)
    shutil.copy(KEPT / f"{RECORDINGS['app']}.16.20mbit.machine.toml", directory / "lab.machine.toml")
    for name in ("archer2", "lumi-c"):
        shutil.copy(TOP / "machines" / f"{name}.machine.toml", directory)
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    for name, of in RECORDINGS.items():
        with tarfile.open(KEPT / f"{of}.16.20mbit.rw.tar.xz") as archive:
            archive.extractall(directory / f"{name}.rw", **safe)
    return directory


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="argparse of this version writes options in another way"
)
@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_transcripts_say(path, inputs, monkeypatch, capsys, request):
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LANG", "C.UTF-8")
    said = []
    for command in re.findall(r"^\$ (.*)$", path.read_text(), re.MULTILINE):
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_quote_transcripts_line_by_line(document):
    page, quoted = document.read_text(), 0
    for before, lines in blocks(page):
        marked = re.search(QUOTE.pattern + r"\n*\Z", before)
        if marked is None:
            commands = [line[2:] for line in lines if line.startswith("$ ")]
            shown = len(commands) < len(lines) and any(each.startswith("rankwise ") for each in commands)
            runs = any(each.startswith((*RUNS, "mpiexec")) for each in commands)
            assert runs or not shown, f"`{lines[0]}` is not quoted from a transcript"
            continue
        quoted += 1
        text = (TRANSCRIPTS / marked[1]).read_text().splitlines()
        assert any(text[at : at + len(lines)] == lines for at in range(len(text))), "\n".join(lines)
    assert quoted == len(QUOTE.findall(page)), "a transcript is named without a block behind it"
