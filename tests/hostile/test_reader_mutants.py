# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files of every kind that is read: what is in them is used, or one error says what is wrong with them."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mutants import mutant, run_cli
from raw_writer import FINALIZED, MANIFEST, TRACED, Rank, u, write_recording, z

from rankwise.errors import RankwiseError

REPOSITORY = Path(__file__).resolve().parents[2]
MACHINE = REPOSITORY / "machines" / "bensley-infiniband-2007.machine.toml"
FEW, MANY, BY_COMMAND = 3, 200, 6
PROCESSORS = "processor\t: 0\n\nprocessor\t: 1\n"
COUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.slow)]


def recorded(directory: Path) -> Path:
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED, affinity=(me,)) for me in range(2)]
    ranks[0].send(1, 100)
    ranks[0].event("MPI_Send", 1000, 100, u(0) + z(1) + z(0) + u(100))
    ranks[1].recv(0, 100)
    ranks[1].event("MPI_Recv", 1000, 100, u(0) + z(0) + z(0) + z(0) + z(0) + u(100))
    path = write_recording(directory / "app.rw", ranks)
    (path / "recording.json").write_text(json.dumps(MANIFEST | {"trace": True}))
    saved = directory / "saved"
    cpu = saved / "sys/devices/system/cpu"
    for number in range(2):
        topology = cpu / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        for name, value in {
            "physical_package_id": 0,
            "core_id": number,
            "core_cpus": f"{1 << number:x}",
            "thread_siblings": f"{1 << number:x}",
            "core_siblings": "3",
            "package_cpus": "3",
        }.items():
            (topology / name).write_text(f"{value}\n")
    for name in ("online", "possible", "present"):
        (cpu / name).write_text("0-1\n")
    (saved / "proc").mkdir()
    (saved / "proc/cpuinfo").write_text(PROCESSORS)
    with tarfile.open(path / "raw" / "n0.topology.tar", "w") as archive:
        archive.add(saved, arcname=".")
    return path


def opened(path: Path) -> None:
    from rankwise.recording import Recording
    from rankwise.recording.collection import TABLES

    recording = Recording.open(path)
    for name in TABLES:
        recording.table(name)
    assert recording.world_size == 2 and sum(recording.messages["messages"]) == 1


def make_recording_json(directory):
    path = recorded(directory)
    return path / "recording.json", lambda: opened(path), ["report", path]


def make_context(directory):
    path = recorded(directory)
    opened(path)
    return path / "context.json", lambda: opened(path), ["report", path]


def make_table(directory):
    path = recorded(directory)
    opened(path)
    return path / "tables" / "messages.parquet", lambda: opened(path), ["report", path]


def make_topology_tar(directory):
    path = recorded(directory)
    return path / "raw" / "n0.topology.tar", lambda: opened(path), ["report", path]


def make_machine(directory):
    from rankwise.machine.file import load

    path = Path(shutil.copy(MACHINE, directory / "m.machine.toml"))
    return path, lambda: load(path), ["predict", recorded(directory), "--no-losses", "-m", path]


def make_placement(directory):
    from rankwise.machine.machine import topology_of
    from rankwise.placement import file
    from rankwise.placement.simple import allocate

    node = topology_of(__import__("rankwise.machine.file").machine.file.load(MACHINE), MACHINE.parent).nodes[
        0
    ]
    path = directory / "p.placement.json"
    file.save(allocate(2, 1, 2, node, "blocked")[0], path)
    command = ["predict", recorded(directory), "--no-losses", "-m", MACHINE, "--placement", path]
    return path, lambda: file.load(path), command


def make_goal(directory):
    path = directory / "app.goal"
    path.write_text(
        "num_ranks 2\nrank 0 {\nl1: calc 100\nl2: send 10b to 1 tag 5\nl2 requires l1\n}\n"
        "rank 1 {\nl1: recv 10b from 0 tag 5\n}\n"
    )
    return read_by_source(path)


def make_goal_binary(directory):
    from rankwise.schedule.source import load, write_goal

    text, _, _ = make_goal(directory)
    path = directory / "app.goal.bin"
    write_goal(load(text).schedule, path)
    return read_by_source(path)


def make_simgrid(directory):
    path = directory / "trace.txt"
    shutil.copy(REPOSITORY / "tests/schedule/traces/simgrid.txt", path)
    shutil.copytree(REPOSITORY / "tests/schedule/traces/simgrid", directory / "simgrid")
    return next(p for p in (directory / "simgrid").rglob("*") if p.is_file()), read_by_source(path)[1], [
        "predict", path, "--flops", "1Gf", "-m", MACHINE, "--no-losses"
    ]  # fmt: skip


def read_by_source(path):
    from rankwise.schedule.source import load

    return path, lambda: load(path, flops_per_s=1e9), ["predict", path, "-m", MACHINE, "--no-losses"]


def make_otf2(directory):
    otf2 = pytest.importorskip("otf2", reason="the otf2 package is not installed")
    path = directory / "trace"
    with otf2.writer.open(str(path), timer_resolution=10**6) as trace:
        definitions, mpi = trace.definitions, otf2.Paradigm.MPI
        node = definitions.system_tree_node("n", parent=definitions.system_tree_node("machine"))
        locations = []
        for rank in range(2):
            group = definitions.location_group(f"MPI Rank {rank}", system_tree_parent=node)
            locations.append(definitions.location("Master thread", group=group))
        definitions.group("", otf2.GroupType.COMM_LOCATIONS, mpi, members=locations)
        world = definitions.comm(
            "comm", group=definitions.group("", otf2.GroupType.COMM_GROUP, mpi, members=locations)
        )
        regions = {
            name: definitions.region(name, paradigm=mpi) for name in ("MPI_Init", "MPI_Send", "MPI_Recv")
        }
        for rank, location in enumerate(locations):
            writer, now = trace.event_writer_from_location(location), 1000
            for name in ("MPI_Init", "MPI_Recv" if rank else "MPI_Send"):
                writer.enter(now, regions[name])
                if name != "MPI_Init":
                    (writer.mpi_recv if rank else writer.mpi_send)(now + 1, 1 - rank, world, 0, 10)
                writer.leave(now + 5, regions[name])
                now += 100
    files = sorted(p for p in path.rglob("*") if p.is_file())
    _, work, command = read_by_source(path / "traces.otf2")
    return files, work, command


def make_hwloc_xml(directory):
    from rankwise.machine import hwloc
    from rankwise.machine.topology import from_xml_file

    path = directory / "node.xml"
    path.write_bytes(hwloc.xml_of_synthetic("package:2 l2:1 core:2 pu:1"))
    command = ["report", recorded(directory), "--nodes", "1x2", "--node", path]
    return path, lambda: from_xml_file(path), command


def make_metis(directory):
    from rankwise.placement.graph import load_graph

    path = directory / "app.graph"
    path.write_text("4 4 1\n2 5 4 1\n1 5 3 2\n2 2 4 3\n3 3 1 1\n")
    command = [
        "place",
        "--graph",
        path,
        "--hierarchy",
        "2:2",
        "--distances",
        "1:10",
        "--budget",
        "0.1s",
        "-f",
    ]
    return path, lambda: load_graph(path), command


def make_samples(directory):
    from rankwise.measure import resume, samples

    launch = samples.Launch(context={"date": 1})
    launch.channels[0] = "network"
    for number in range(30):
        launch.take(f"@rankwise sample 0 pingpong 1 0 1 {number} 10 0 -1 0 1 1 2 3 4 5 0 0 0")
    path = directory / "m.samples.parquet"
    samples.save(samples.concatenate([launch]), path)

    def read():
        found = resume.load(path)
        resume.check(found, {})
        resume.launches_done(found)

    return path, read, None


READERS = {
    name.removeprefix("make_"): make for name, make in list(globals().items()) if name.startswith("make_")
}


def damage_and_read(reader: str, count: int) -> None:
    """In a process of its own: what is damaged is read all the same, or one error says what is wrong, soon."""
    victims, read, _ = READERS[reader](Path.cwd())
    victims = victims if isinstance(victims, list) else [victims]
    good = [victim.read_bytes() for victim in victims]
    read()
    for number in range(count * len(victims)):
        at, seed = number % len(victims), number // len(victims)
        victims[at].write_bytes(mutant(good[at], seed))
        print(reader, victims[at].name, "seed", seed, flush=True)
        begun = time.monotonic()
        with suppress(RankwiseError):
            read()
        assert time.monotonic() - begun < 60
        victims[at].write_bytes(good[at])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_are_read_or_refused_by_one_error(reader, count, tmp_path):
    if reader == "otf2":
        pytest.importorskip("otf2", reason="the otf2 package is not installed")
    # GIVEN files that a reader takes WHEN they are damaged THEN nothing ends the process, and no traceback is printed
    work = tmp_path / "work"
    work.mkdir()
    here = Path(__file__).resolve().parent
    code = (
        f"import sys; sys.path[:0] = {[str(here), str(here.parent)]!r}; import {Path(__file__).stem} as t; "
    )
    code += f"t.damage_and_read({reader!r}, {count})"
    words = [sys.executable, "-X", "faulthandler", "-c", code]
    ended = subprocess.run(words, cwd=work, capture_output=True, text=True, timeout=120 + 10 * count)
    last = ended.stdout.splitlines()[-1:]
    assert ended.returncode == 0, f"{last}: {ended.returncode}\n{ended.stderr[-3000:]}"
    assert "Traceback" not in ended.stderr, ended.stderr[-3000:]
    # AND the command line says one error
    samples = tmp_path / "samples"
    samples.mkdir()
    victims, _, command = READERS[reader](samples)
    victims = victims if isinstance(victims, list) else [victims]
    good = [victim.read_bytes() for victim in victims]
    for seed in range((BY_COMMAND if count == MANY else 1) if command else 0):
        at = seed % len(victims)
        victims[at].write_bytes(mutant(good[at], 1000 + seed))
        answer = run_cli(command, cwd=samples)
        assert answer.status in (0, 1), answer
        assert answer.status == 0 or re.search(r"^error: ", answer.err, re.MULTILINE), answer
        victims[at].write_bytes(good[at])
