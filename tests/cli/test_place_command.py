# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise place --format`: a launcher's own files of the best placement."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import mpis
import msgspec
import pytest
from raw_writer import FINALIZED, TRACED, Rank, write_recording

from rankwise.cli import main
from rankwise.cli.place_document import PlaceResult
from rankwise.machine.file import load as load_machine
from rankwise.machine.machine import topology_of
from rankwise.placement.file import PlacementFile, load
from rankwise.replay.predictor import Predictor

pytestmark = pytest.mark.mpi
MACHINE = Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml"


@pytest.fixture(scope="module")
def recording(compiled, tmp_path_factory):
    """The trace of a ring of four ranks."""
    mpi = mpis.installed()[0]
    path = tmp_path_factory.mktemp("recording") / "ring.rw"
    line = mpi.launch(4, compiled(mpi, "ring.c"), "3")
    command = [sys.executable, "-m", "rankwise", "record", "--trace", "-q", "-o", str(path), "--", *line]
    subprocess.run(command, env=mpi.environment(), check=True, timeout=60, stdin=subprocess.DEVNULL)
    return path


@pytest.fixture
def place(recording, tmp_path, monkeypatch):
    """Function: `rankwise place` of the ring on four nodes with options, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_JOB_NODELIST", "PBS_NODEFILE"):
        monkeypatch.delenv(name, raising=False)
    words = ["place", str(recording), "-m", str(MACHINE), "--budget", "1s", "-o", "best.placement.json"]
    return lambda *options: main([*words, *options])


@pytest.mark.parametrize("launcher", ["hydra", "openmpi4", "openmpi5"])
def test_the_launchers_files_say_what_the_placement_says(place, capsys, launcher):
    assert place("--format", launcher, "--hosts", "w,x,y,z", "--json") == 0
    words = shlex.split(json.loads(capsys.readouterr().out)["launch"])
    best = load("best.placement.json")
    node = topology_of(load_machine(MACHINE), MACHINE.parent).nodes[0]
    seats = [("wxyz"[best.node[rank]], *best.cores_of(rank)) for rank in range(4)]
    if launcher == "hydra":
        assert words[:3] == ["mpiexec", "-f", "best.hosts"]
        lines = [line.split(":") for line in Path("best.hosts").read_text().splitlines()]
        local = {host: iter(pus.split(",")) for host, _, pus in lines}
        assert [next(local[host]) for host, _ in seats] == [str(node.pus[core][0]) for _, core in seats]
    else:
        assert "best.rankfile" in " ".join(words)
        lines = Path("best.rankfile").read_text().splitlines()
        assert lines == [f"rank {rank}={host} slot={core}" for rank, (host, core) in enumerate(seats)]
    assert words[-3:] == ["-n", "4", "./app"]


def test_the_line_is_a_result_and_the_next_command_knows_machine_and_hosts(place, capsys):
    assert place("--format", "openmpi4", "--hosts", "w,x,y,z") == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "mpiexec --hostfile best.hosts -rf best.rankfile -n 4 ./app"
    options = f"--placement best.placement.json --machine {MACHINE} --hosts w,x,y,z"
    assert err.splitlines()[-1] == f"next: rankwise run {options} -- mpiexec -n 4 ./app"


def test_a_machine_with_too_few_cores_is_refused_with_the_line(place, capsys):
    text = MACHINE.read_text().replace("count = 4", "count = 1")
    Path("small.machine.toml").write_text(
        text.replace("package:2 l2:1(size=4194304) core:2 pu:1(indexes=0,2,1,3)", "core:2")
    )
    assert place("-m", "small.machine.toml") == 1
    line = 1 + text.split("\n").index("count = 1")
    key = f"`small.machine.toml` line {line} key `node.count`"
    assert f"{key}: the program has 4 ranks, the machine 2 cores" in capsys.readouterr().err


def test_how_far_the_estimates_of_the_search_are_from_the_replays_is_said(place, capsys, monkeypatch):
    # GIVEN estimates that are a quarter above the replays
    monkeypatch.setattr(Predictor, "estimates_s", lambda self, *given: 1.25 * self.makespans_s(*given))
    # WHEN ranks may be on one node or on several, so that some placements take longer than others
    assert place("--nodes", "4", "--json") == 0
    estimate_error = json.loads(capsys.readouterr().out)["estimate_error"]
    assert estimate_error["placements"] >= 2
    assert estimate_error["gap"] == pytest.approx(0.25)
    assert estimate_error["tau"] == pytest.approx(1)
    assert place("-f") == 0
    assert "and replays decided: estimates and replays differ by 25.0 % (mean of" in " ".join(
        capsys.readouterr().out.split()
    )
    assert place("-f", "--objective", "bytes", "--json") == 0
    assert json.loads(capsys.readouterr().out)["estimate_error"] is None


def test_what_programs_read_is_as_its_schema_says(place, capsys):
    assert place("--json") == 0
    out = capsys.readouterr().out
    # THEN it has the keys of the type behind formats/place.schema.json, these alone, and each is of its type
    said = msgspec.json.decode(out, type=PlaceResult)
    assert msgspec.to_builtins(said) == json.loads(out)
    # AND what was written is the last one
    assert said.placements[-1].placement == msgspec.json.decode(
        Path(said.output).read_bytes(), type=PlacementFile
    )


def test_hosts_of_a_current_file_are_the_nodes_in_their_order(place, capsys):
    # GIVEN a rank file that does not name the hosts in their order
    seats = [("z", 3), ("x", 1), ("w", 0), ("z", 0)]
    Path("now").write_text(
        "".join(f"rank {rank}={host} slot={core}\n" for rank, (host, core) in enumerate(seats))
    )
    # WHEN it is the current placement
    assert place("--current", "now", "--hosts", "w,x,y,z", "--json") == 0
    # THEN its ranks are on the nodes with those numbers
    current = next(p for p in json.loads(capsys.readouterr().out)["placements"] if p["name"] == "current")
    found = [(each["node"], *each["cores"]) for each in current["placement"]["ranks"]]
    assert found == [("wxyz".index(host), core) for host, core in seats]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--format", "hydra", "--nodes", "4"], "nothing says which hosts the placement's 4 nodes are"),
        (
            ["--format", "hydra", "--nodes", "4", "--hosts", "w,x"],
            "the placement has 4 nodes, `--hosts` 2 hosts",
        ),
        (["--hosts", "w,x,y,z"], "`--hosts` names the nodes in the files of launchers"),
        (["--seed", "-1"], "`--seed`: `-1` is not a whole number from 0"),
        (["--format", "rankfile"], "`rankfile` is not a value of `--format`"),
        (["--format", "openmpi4", "--hosts", "w,x,y,z"], "`best.rankfile` is there already"),
        (["-o", "away/best.json"], "`away/best.json` cannot be written: there is no directory `away`"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_search(place, capsys, options, sentence):
    Path("best.rankfile").write_text("mine\n")
    assert place(*options) in (1, 2)
    assert f"error: {sentence}" in capsys.readouterr().err
    assert [each.name for each in Path().iterdir()] == ["best.rankfile"]
    assert Path("best.rankfile").read_text() == "mine\n"


def test_ctrl_c_while_intervals_are_drawn_keeps_the_placement(place, capsys, monkeypatch):
    from rankwise.replay.predictor import Predictor

    def interrupted(predictor, placement):
        raise KeyboardInterrupt

    monkeypatch.setattr(Predictor, "predict_with_interval", interrupted)
    assert place() == 0
    out, err = capsys.readouterr()
    assert "interrupted: intervals are left out" in err
    assert "best" in out
    assert load("best.placement.json").ranks == 4


def test_a_program_that_takes_no_time_has_a_placement(tmp_path, capsys):
    # GIVEN ranks whose trace has nothing to replay
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    recording = write_recording(tmp_path / "x.rw", ranks)
    assert main(["place", str(recording), "-m", str(MACHINE), "--budget", "0.1s"]) == 0
    assert "best" in capsys.readouterr().out


def test_on_a_large_machine_only_the_nodes_that_hold_the_ranks_are_used_and_named(
    recording, tmp_path, capsys
):
    # GIVEN a machine of many nodes of 128 cores
    large = MACHINE.with_name("lumi-c.machine.toml")
    output = tmp_path / "best.placement.json"
    words = ["place", str(recording), "-m", str(large), "--budget", "0.5s", "-o", str(output)]
    # WHEN four ranks are placed THEN one node has them all, and nothing speaks of others
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "node0: ranks 0-3 on cores " in out
    assert load(output).node_names == ("node0",)
    assert output.stat().st_size < 2000
    # AND the user decides on the nodes
    assert main([*words, "-f", "--nodes", "2x2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["placements"]
    assert all(len(each["placement"]["nodes"]) == 2 for each in found if each["name"] != "current")
    # AND a host is asked for where one is used of two that may be
    assert main([*words, "-f", "--nodes", "2"]) == 0
    assert load(output).node_names == ("node0",)
    assert " --hosts HOST -- mpiexec -n 4 ./app" in capsys.readouterr().err
    assert main([*words, "-f", "--nodes", "9999"]) == 1
    assert "asks for 9999 nodes, the machine has " in capsys.readouterr().err


def test_where_nothing_is_better_it_says_so_and_writes_what_was(tmp_path, capsys):
    # GIVEN ranks that send nothing, for which no placement is better than another
    ranks = [Rank(me, 4, flags=FINALIZED | TRACED) for me in range(4)]
    silent = write_recording(tmp_path / "silent.rw", ranks)
    output = tmp_path / "best.placement.json"
    words = ["place", str(silent), "-m", str(MACHINE), "--budget", "0.2s", "-o", str(output)]
    assert main(words) == 0
    # THEN the first simple placement stays
    out = capsys.readouterr().out
    # AND blocked is not compared with itself
    said = "nothing that was tried is worth a change: blocked is what was written"
    assert f"the best placement compared with blocked:\n  {said}\n" in out
    assert "better than blocked" not in out and "optimised" not in out
    assert load(output).node.tolist() == [0, 0, 0, 0]


def test_a_plane_larger_than_a_node_is_refused(recording, capsys):
    assert (
        main(["predict", str(recording), "-m", str(MACHINE), "--nodes", "2x2", "--allocation", "plane=9"])
        == 1
    )
    assert "`plane=9` is larger than a node's 2 ranks" in capsys.readouterr().err
