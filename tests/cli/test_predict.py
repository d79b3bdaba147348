# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict` as it is typed."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from rankwise.cli import main
from rankwise.cli.predict_document import PredictResult
from rankwise.machine.topology import from_synthetic
from rankwise.placement.file import save
from rankwise.placement.simple import allocate

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")
NODE = "package:2 l2:1(size=4194304) core:2 pu:1(indexes=0,2,1,3)"


@pytest.fixture
def goal(tmp_path):
    """Four ranks in a ring: 100 kB to the next one."""
    lines = ["num_ranks 4"]
    for rank in range(4):
        lines += [f"rank {rank} {{", f"r: recv 100000b from {(rank + 3) % 4}", "c: calc 1000000"]
        lines += [f"s: send 100000b to {(rank + 1) % 4}", "s requires c", "}"]
    path = tmp_path / "ring.goal"
    path.write_text("\n".join(lines))
    return str(path)


def predicted(capsys, *words):
    assert main(["predict", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_result_as_json_names_input_machine_model_and_times(goal, capsys):
    document = predicted(capsys, goal, "--machine", MACHINE, "--nodes", "2x2")
    assert document["schema"] == "rankwise.prediction/2"
    assert msgspec.to_builtins(msgspec.convert(document, PredictResult)) == document
    assert document["input"] | {"path": ""} == {
        "path": "", "kind": "goal", "ranks": 4, "operations": 12, "messages": 4, "bytes": 400000,
        "collective_algorithms": None, "omitted": [], "in_windows": False,
        "missing": [],
    }  # fmt: skip
    (machine,) = document["machines"]
    assert len(machine["sha256"]) == 64
    assert document["model"] == {
        "interfaces": True,
        "core_sharing": True,
        "progress": True,
        "handshake": True,
        "switches": True,
        "memory": True,
        "caches": True,
        "interrupts": True,
        "slowdown": True,
        "buffers": True,
        "contacts": True,
    }
    (one,) = document["placements"]
    assert one["makespan_s"] == max(one["rank"]["finish_s"])
    assert one["ranks"]["computation"] == {"min_s": 0.001, "mean_s": 0.001, "max_s": 0.001}
    # THEN of the ring 1 -> 2 and 3 -> 0 cross the network
    sent = [node["bytes"] for node in one["interfaces"]["tx"]]
    assert sent == [100000, 100000]
    channels = {each["channel"]: each["messages"] for each in one["channels"]}
    assert channels == {"self": 0, "package": 2, "node": 0, "network": 2}


def test_the_interval_is_that_of_the_machines_measured_numbers(goal, tmp_path, capsys):
    # GIVEN a machine whose network takes 5 us, published, and one where that was measured as 4 to 7
    assert (
        predicted(capsys, goal, "--machine", MACHINE, "--nodes", "2x2")["placements"][0]["interval"] is None
    )
    text = Path(MACHINE).read_text()
    place = re.search(r'channel = "network".*?L_s = (\{ value = ([^,]+),[^}]*\})', text, re.DOTALL)
    value = float(place[2])
    known = f'{{ value = {value}, obtained = "measured", low = {0.8 * value}, high = {1.4 * value} }}'
    measured = tmp_path / "measured.machine.toml"
    measured.write_text(text[: place.start(1)] + known + text[place.end(1) :])
    # THEN the prediction has an interval that holds it, unless none is asked for
    words = [goal, "--machine", str(measured), "--nodes", "2x2"]
    (found,) = predicted(capsys, *words)["placements"]
    assert found["interval"]["low_s"] < found["makespan_s"] < found["interval"]["high_s"]
    assert (found["interval"]["confidence"], found["interval"]["replays"]) == (0.95, 20)
    assert predicted(capsys, *words, "--replays", "0")["placements"][0]["interval"] is None
    # AND people see it
    assert main(["predict", *words]) == 0
    assert "(95 % of 20 replays)" in capsys.readouterr().out


def test_several_allocations_are_compared(goal, capsys):
    words = [
        "predict",
        goal,
        "--machine",
        MACHINE,
        "--nodes",
        "2x2",
        "--allocation",
        "blocked",
        "--allocation",
        "cyclic",
    ]
    assert main(words) == 0
    out = capsys.readouterr()
    assert "blocked 2x2" in out.out and "cyclic 2x2" in out.out and "best" in out.out
    assert out.err == ""


def test_the_next_command_is_one_that_takes_the_input(goal, capsys):
    words = ["predict", goal, "--machine", MACHINE]
    assert main(words) == 0
    following = capsys.readouterr().err.strip().removeprefix("next: rankwise ").split()
    assert following == [*words, "--allocation", "blocked", "--allocation", "cyclic"]
    assert main(following) == 0


def test_placement_files_are_compared_by_name(goal, tmp_path, capsys):
    for how in ("blocked", "cyclic"):
        save(allocate(4, 2, 2, from_synthetic(NODE), how)[0], tmp_path / f"{how}.json")
    files = [str(tmp_path / f"{how}.json") for how in ("blocked", "cyclic")]
    words = [goal, "--machine", MACHINE, "--placement", files[0], "--placement", files[1]]
    document = predicted(capsys, *words)
    assert [each["name"] for each in document["placements"]] == files
    assert document["placements"][0]["makespan_s"] < document["placements"][1]["makespan_s"]


def test_a_changed_number_changes_the_time_and_is_named(goal, capsys):
    usual = predicted(capsys, goal, "--machine", MACHINE, "--nodes", "4x1")
    slow = predicted(
        capsys,
        goal,
        "--machine",
        MACHINE,
        "--nodes",
        "4x1",
        "--set",
        "network.G=100ns/B",
        "--set",
        "nic.G=0ns/B",
    )
    assert slow["machines"][0]["settings"] == ["network.G=100ns/B", "nic.G=0ns/B"]
    difference = slow["placements"][0]["makespan_s"] - usual["placements"][0]["makespan_s"]
    assert difference == pytest.approx(99999 * 100e-9 - 100000 / 1532e6, rel=1e-3)


def test_a_limit_above_all_messages_is_as_good_as_none(goal, capsys):
    words = [goal, "--machine", MACHINE, "--nodes", "2x2", "--no-losses"]
    huge, none = (predicted(capsys, *words, "--set", f"network.S={limit}") for limit in ("1e40", "none"))
    assert huge["placements"] == none["placements"]


def test_parts_of_the_model_can_be_left_out(goal, capsys):
    document = predicted(
        capsys, goal, "--machine", MACHINE, "--without", "core-sharing", "--without", "handshake"
    )
    assert document["model"] == {
        "interfaces": True,
        "core_sharing": False,
        "progress": True,
        "handshake": False,
        "switches": True,
        "memory": True,
        "caches": True,
        "interrupts": True,
        "slowdown": True,
        "buffers": True,
        "contacts": True,
    }


def test_a_prediction_says_what_it_loses_to_what(goal, capsys):
    (one,) = predicted(capsys, goal, "--machine", MACHINE, "--nodes", "2x2")["placements"]
    lost = {(each["name"], each["part"]): each["lost_s"] for each in one["losses"]}
    assert lost["network", "all"] > 0
    assert lost["communication", "all"] == one["losses"][0]["lost_s"]
    assert one["losses"][0]["lost_s"] == pytest.approx(one["makespan_s"] - 0.001)
    (one,) = predicted(capsys, goal, "--machine", MACHINE, "--nodes", "2x2", "--no-losses")["placements"]
    assert one["losses"] is None


def test_several_machines_and_allocations_are_in_one_table_fastest_first(goal, tmp_path, capsys):
    slow = tmp_path / "slow.toml"
    slow.write_text(re.sub("^name = .*", 'name = "Slow"', Path(MACHINE).read_text(), count=1, flags=re.M))
    words = [goal, "-m", str(slow), "-m", MACHINE, "--nodes", "2x2", "--set", "package.G=50ns/B"]
    words += ["--allocation", "blocked", "--allocation", "cyclic"]
    document = predicted(capsys, *words)
    assert [each["name"] for each in document["machines"]][0] == "Slow"
    assert [each["machine"] for each in document["placements"]] == ["Slow", "Slow"] + [
        document["machines"][1]["name"]
    ] * 2
    assert main(["predict", *words]) == 0
    out = capsys.readouterr().out
    rows = [line for line in out.splitlines() if line.startswith(("blocked", "cyclic"))]
    assert len(rows) == 8  # times, then what there is to gain
    assert rows[0].startswith("cyclic") and "best" in rows[0]
    assert rows[3].startswith("blocked") and "+" in rows[3]
    name = document["machines"][1]["name"]
    assert any(f"cyclic 2x2, {name} " in row for row in rows[:4])  # whole: a pipe has no width


def test_a_sweep_gives_a_time_for_each_value_and_a_plot(goal, tmp_path, capsys):
    plot = tmp_path / "sweep.svg"
    words = [goal, "--machine", MACHINE, "--nodes", "2x2", "--sweep", "network.L=1us..1ms:4,log"]
    document = predicted(capsys, *words, "--plot", str(plot))
    sweep = document["sweep"]
    assert (sweep["parameter"], sweep["unit"], sweep["log"]) == ("network.L", "s", True)
    assert sweep["values"] == pytest.approx([1e-6, 1e-5, 1e-4, 1e-3])
    (times,) = sweep["makespan_s"]
    assert len(times) == 4 and times[3] - times[2] == pytest.approx(0.9e-3)
    assert plot.read_text().startswith("<?xml") and "network.L (s)" in plot.read_text()
    assert main(["predict", *words]) == 0
    assert "1 ms" in capsys.readouterr().out


def test_plain_loggops_needs_no_machine(goal, capsys):
    words = [goal, "--loggops", "L=2us,o=1us,g=0,G=1,O=0"]
    document = predicted(capsys, *words)
    assert document["machines"] == [] and document["placements"] == []
    plain = document["plain"]
    assert plain["parameters"]["L_s"] == 2e-6 and plain["parameters"]["S_bytes"] is None
    # THEN a rank computes, sends, and what its neighbour sent is there after 2 o + L + 99999 G
    assert plain["makespan_s"] == pytest.approx(1e-3 + 4e-6 + 99999e-9)
    assert plain["gains_s"]["L"] == pytest.approx(2e-6)
    assert main(["predict", *words]) == 0
    assert "plain LogGOPS: 1.1 ms" in capsys.readouterr().out


def test_goal_is_converted_between_text_and_binary(goal, tmp_path, capsys):
    binary, text = tmp_path / "ring.bin", tmp_path / "again.goal"
    assert main(["predict", goal, "--goal", str(binary)]) == 0
    assert main(["predict", str(binary), "--goal", str(text)]) == 0
    capsys.readouterr()
    assert text.read_text().count("send 100000b to") == 4
    words = ["--machine", MACHINE, "--nodes", "2x2"]
    one, other = (predicted(capsys, str(path), *words) for path in (goal, binary))
    assert other["input"]["kind"] == "goal-binary"
    assert one["placements"] == other["placements"]


def test_the_schedule_can_be_written_as_goal_text(goal, tmp_path, capsys):
    target = tmp_path / "out.goal"
    assert main(["predict", goal, "--machine", MACHINE, "--goal", str(target)]) == 0
    assert target.read_text().startswith("num_ranks 4\n")
    assert main(["predict", goal, "--machine", MACHINE, "--goal", str(target)]) == 1
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "status", "expected"),
    [
        (["none.goal"], 1, "`none.goal` cannot be read"),
        (
            ["{goal}", "--nodes", "9x1"],
            1,
            "key `node.count`: `--nodes 9x1` asks for 9 nodes, the machine has",
        ),
        (["{goal}", "--nodes", "1x2"], 1, "has room for 2 ranks, the program has 4"),
        (["{goal}", "--nodes", "4:2"], 1, "`4:2` is not a number of nodes"),
        (["{goal}", "--allocation", "round"], 1, "`round` is not an allocation"),
        (["{goal}", "--placement", "x.json", "--nodes", "2x2"], 2, "exclude each other"),
        (["{goal}", "--placement", "x.json"], 1, "placement file `x.json` cannot be read"),
        (["{goal}", "--set", "network.L=1"], 1, "is not a value with its unit"),
        (["{goal}", "--set", "nic.capacity=0GB/s"], 1, "a capacity of 0 lets nothing pass"),
        (["{goal}", "--loggops", "L=1"], 2, "`--loggops` and `--machine` exclude each other"),
        (["{goal}", "--replays", "-3"], 2, "`-3` is not a whole number from 0"),
        (["{goal}", "--plot", "x.svg"], 2, "`--plot` draws what `--sweep` finds"),
        (
            ["{goal}", "--sweep", "network.L=1us..2us", "--plot", "x.gif"],
            2,
            "does not end in .svg, .png or .pdf",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_a_hint(goal, capsys, words, status, expected):
    words = [word.format(goal=goal) for word in words]
    assert main(["predict", *words, "--machine", MACHINE]) == status
    out = capsys.readouterr()
    assert out.out == ""
    assert expected in out.err and "hint:" in out.err


def test_nodes_may_be_hosts_as_place_takes_them(goal, capsys):
    words = [goal, "--machine", MACHINE, "--allocation", "cyclic", "--no-losses"]
    document = predicted(capsys, *words, "--nodes", "n07,n11,n12")
    (one,) = document["placements"]
    # THEN as many nodes are used, and they have the hosts' names
    assert one["name"] == "cyclic 3x2"
    assert {each["node"] for each in one["interfaces"]["tx"]} <= {"n07", "n11", "n12"}
    number = predicted(capsys, *words, "--nodes", "3")["placements"][0]
    assert number["makespan_s"] == one["makespan_s"]


def test_of_a_large_machine_as_few_nodes_are_used_as_hold_the_ranks(goal, capsys):
    (one,) = predicted(capsys, goal, "--machine", str(Path(MACHINE).with_name("lumi-c.machine.toml")))[
        "placements"
    ]
    assert one["name"] == "blocked 1x4"


def test_ranks_that_the_machine_has_no_cores_for_are_refused(goal, tmp_path, capsys):
    small = tmp_path / "small.machine.toml"
    text = Path(MACHINE).read_text().replace("count = 4", "count = 1").replace(NODE, "package:2 core:1 pu:1")
    small.write_text(text)
    assert main(["predict", goal, "--machine", str(small)]) == 1
    err = capsys.readouterr().err
    line = 1 + text.split("\n").index("count = 1")
    assert f"`{small}` line {line} key `node.count`: the program has 4 ranks, the machine 2 cores" in err
    assert main(["predict", goal, "--machine", str(small), "--nodes", "2x2"]) == 1
    err = capsys.readouterr().err
    assert f"`{small}` line {line} key `node.count`: `--nodes 2x2` asks for 2 nodes, the machine has 1" in err


def test_a_machine_is_needed(goal, capsys):
    assert main(["predict", goal]) == 2
    assert "a machine is needed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\n", "line 3: `send 1b to 1 tag 0`"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\n}\n",
            "operations wait for each other in a circle: rank 0, line",
        ),
        (
            "num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n"
            "rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n",
            "deadlock: rank 0, line 3: `recv 1b from 1 tag 0` waits for rank 1, line 8: `recv 1b from 0 tag 0`",
        ),
        (
            f"num_ranks 2\nrank 0 {{\nsend {10**17}b to 1\n}}\nrank 1 {{\nrecv {10**17}b from 0\n}}\n",
            "bad.goal`: a message of about `100000000000000000` bytes takes longer than 13 days",
        ),
    ],
)
def test_what_is_wrong_in_a_file_as_a_whole_names_it_and_the_line(tmp_path, capsys, text, expected):
    path = tmp_path / "bad.goal"
    path.write_text(text)
    assert main(["predict", str(path), "--machine", MACHINE, "--nodes", "2x1"]) == 1
    error = capsys.readouterr().err
    assert expected in error


def test_a_placement_for_another_number_of_ranks_is_refused(goal, tmp_path, capsys):
    save(allocate(3, 2, 2, from_synthetic(NODE))[0], tmp_path / "p.json")
    assert main(["predict", goal, "--machine", MACHINE, "--placement", str(tmp_path / "p.json")]) == 1
    assert "the placement has 3 ranks, the program has 4" in capsys.readouterr().err


def test_one_prediction_is_explained_and_its_timeline_written(goal, tmp_path, capsys):
    timeline = tmp_path / "t.json"
    words = [goal, "--machine", MACHINE, "--nodes", "2x2", "--perfetto", str(timeline)]
    (one,) = predicted(capsys, *words)["placements"]
    # THEN what ranks wait for adds up, and so does the critical path
    waits = [sum(times) for times in zip(*one["waiting_s"].values(), strict=True)]
    assert waits == pytest.approx(one["rank"]["waiting_s"])
    assert sum(one["critical_path"]["cause_s"].values()) == pytest.approx(one["makespan_s"])
    # AND each rank has its track
    events = json.loads(timeline.read_text())["traceEvents"]
    assert {event["tid"] for event in events if event["ph"] == "X"} == {0, 1, 2, 3}
    assert main(["predict", *words]) == 1
    assert "is there already" in capsys.readouterr().err
    assert main(["predict", *words, "--force"]) == 0
    out = capsys.readouterr().out
    assert "critical path" in out and "a rank waits for" in out
    assert max(map(len, out.splitlines()[1:])) <= 80  # the first line has the machine's full name


@pytest.mark.parametrize("option", ["--goal", "--perfetto", "--plot"])
def test_what_cannot_be_written_is_refused_before_the_work(goal, tmp_path, capsys, option):
    # GIVEN a directory that does not exist for one file, and a good name for another
    words = [goal, "--machine", MACHINE, "--nodes", "2x2", option, str(tmp_path / "away" / "x.svg")]
    words += ["--sweep", "network.L=1us..2us"] if option == "--plot" else []
    also = tmp_path / "y.goal"
    words += ["--goal", str(also)] if option != "--goal" else []
    assert main(["predict", *words]) == 1
    # THEN the sentence says which, nothing was written and nothing made
    out, err = capsys.readouterr()
    assert out == "" and f"x.svg` cannot be written: there is no directory `{tmp_path / 'away'}`" in err
    assert [each.name for each in tmp_path.iterdir()] == ["ring.goal"]


@pytest.mark.parametrize(
    "words",
    [
        ["--allocation", "blocked", "--allocation", "cyclic"],
        ["--machine", MACHINE],
        ["--placement", "a.json", "--placement", "b.json"],
        ["--nodes", "2x2", "--sweep", "network.L=1us..2us"],
    ],
)
def test_a_timeline_of_several_predictions_is_refused_before_anything_is_written(
    goal, tmp_path, capsys, words
):
    written = [tmp_path / "t.json", tmp_path / "x.goal"]
    files = ["--perfetto", str(written[0]), "--goal", str(written[1])]
    assert main(["predict", goal, "--machine", MACHINE, *words, *files]) == 2
    assert "error: `--perfetto` needs one prediction" in capsys.readouterr().err
    assert not any(each.exists() for each in written)


SSENDS = "0 init\n0 ssend 1 0 8 1\n0 recv 1 0 8 1\n1 init\n1 ssend 0 0 8 1\n1 recv 0 0 8 1\n"


def test_a_circle_of_synchronous_sends_is_named_as_such(tmp_path, capsys):
    path = tmp_path / "ssend.txt"
    path.write_text(SSENDS)
    assert main(["predict", str(path), "--machine", MACHINE, "--nodes", "2x1"]) == 1
    error = capsys.readouterr().err
    assert (
        f"error: `{path}`: deadlock: rank 0, line 2: `send 32b to 1 tag 0` (synchronous) waits for" in error
    )
    assert "whatever its size" in error and "eager limit" not in error


def test_goal_that_loses_synchronous_sends_says_so(tmp_path, goal, capsys):
    path = tmp_path / "ssend.txt"
    path.write_text(SSENDS)
    assert main(["predict", str(path), "--goal", str(tmp_path / "x.goal")]) == 0
    assert "warning: GOAL has no synchronous sends: 2 sends" in capsys.readouterr().err
    assert main(["predict", goal, "--goal", str(tmp_path / "y.goal")]) == 0
    assert "warning" not in capsys.readouterr().err


def test_an_index_of_traces_that_are_not_there_names_the_first(tmp_path, capsys):
    (tmp_path / "index.txt").write_text("traces/rank-0.txt\ntraces/rank-1.txt\n")
    assert main(["predict", str(tmp_path / "index.txt"), "--machine", MACHINE]) == 1
    assert "entry 1: there is no file `traces/rank-0.txt`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        ('schema = "rankwise.machine/1"\nname = "x"\n', "`node` is missing"),
        ('schema = "rankwise.machine/1"\nname = "x', "line 2: is not TOML: it ends in the middle of a value"),
        ('schema = "rankwise.machine/1"\nname = "x"\n[nodes]\n', "there is no key `nodes`"),
    ],
)
def test_a_machine_file_that_is_none_says_what_is_wrong_and_where(goal, tmp_path, capsys, content, expected):
    path = tmp_path / "m.machine.toml"
    path.write_text(content)
    assert main(["predict", goal, "--machine", str(path)]) == 1
    error = capsys.readouterr().err
    assert f"error: `{path}`" in error and expected in error and "hint:" in error


def test_empty_files_are_called_empty(goal, tmp_path, capsys):
    empty = tmp_path / "empty"
    empty.write_text("")
    assert main(["predict", str(empty), "--machine", MACHINE]) == 1
    assert f"error: `{empty}` is empty" in capsys.readouterr().err
    assert main(["predict", goal, "--machine", MACHINE, "--placement", str(empty)]) == 1
    assert f"error: `{empty}` is empty" in capsys.readouterr().err


def test_a_key_that_the_kind_of_a_resource_does_not_have_is_refused(goal, capsys):
    assert main(["predict", goal, "--machine", MACHINE, "--set", "nic_tx.per_core=1GB/s"]) == 1
    assert "`per_core_bytes_per_s` is a key of memory, not of nic_tx" in capsys.readouterr().err


def test_options_that_change_nothing_for_an_input_are_named(goal, capsys):
    words = ["predict", goal, "--machine", MACHINE, "--nodes", "2x2", "--no-losses"]
    for option, value in (("--flops", "2Gf"), ("--library", "openmpi"), ("--memory", "1MiB")):
        assert main([*words, option, value]) == 0
        assert f"`{option}` changes nothing: " in capsys.readouterr().err
    assert main(words) == 0
    assert "changes nothing" not in capsys.readouterr().err


def test_one_rank_is_one_rank(tmp_path, capsys):
    path = tmp_path / "one.goal"
    path.write_text("num_ranks 1\nrank 0 {\ncalc 5\n}\n")
    assert main(["predict", str(path), "--machine", MACHINE, "--nodes", "1x1"]) == 0
    assert capsys.readouterr().out.startswith("1 rank, 0 messages, 0 B on ")
