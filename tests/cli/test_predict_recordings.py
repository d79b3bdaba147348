# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise predict` on recordings: deadlocks name calls, recordings without trace are estimated."""

import json
from pathlib import Path

import pytest
from raw_writer import CUT, FINALIZED, TRACED, Rank, u, write_recording, z

from rankwise.cli import main
from rankwise.recording.layouts import UNTIMED

MACHINE = str(Path(__file__).resolve().parents[2] / "machines" / "bensley-infiniband-2007.machine.toml")


def message(rank, call, peer, size):
    arguments = [0, peer, 0] if call == "MPI_Send" else [0, peer, 0, peer, 0]
    payload = u(arguments[0]) + b"".join(z(each) for each in arguments[1:])
    rank.event(call, 1000, 100, payload + u(size))


def head_to_head(path):
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for me, rank in enumerate(ranks):
        message(rank, "MPI_Send", 1 - me, 100000)
        message(rank, "MPI_Recv", 1 - me, 100000)
    return write_recording(path, ranks)


def test_ranks_that_would_wait_for_each_other_for_ever_go_on_and_that_is_said(tmp_path, capsys):
    # GIVEN two ranks that send to each other first, which went well because the messages were buffered
    recording = head_to_head(tmp_path / "x.rw")
    # WHEN all messages are rendezvous
    words = [str(recording), "--machine", MACHINE, "--nodes", "2x1", "--set", "network.S=0", "--json"]
    assert main(["predict", *words]) == 0
    # THEN the sends do not wait, and it says so
    out = capsys.readouterr()
    assert "warning: 2 sends did not wait for their receive: in the recorded order ranks" in out.err
    assert json.loads(out.out)["placements"][0]["ended_sends"] == 2
    plain = "L=1us,o=1us,g=0,G=0.01,O=0,S=0"
    assert main(["predict", str(recording), "--loggops", plain, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plain"]["ended_sends"] == 2
    # AND where they fit into buffers nothing is said
    assert main(["predict", *words[:-2], "network.S=1e6", "--json"]) == 0
    assert "did not wait" not in capsys.readouterr().err


def test_a_deadlock_names_ranks_and_calls(tmp_path, capsys):
    # GIVEN two ranks that both receive first, which no run can have done
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for me, rank in enumerate(ranks):
        message(rank, "MPI_Recv", 1 - me, 100000)
        message(rank, "MPI_Send", 1 - me, 100000)
    recording = write_recording(tmp_path / "x.rw", ranks)
    assert main(["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1"]) == 1
    # THEN the circle is told, in MPI's words
    error = capsys.readouterr().err
    assert f"error: `{recording}`: deadlock: rank 0, event 0 (MPI_Recv): `recv 100000b from 1" in error
    assert "waits for rank 1, event 0 (MPI_Recv): `recv 100000b from 0" in error
    assert "hint:" in error


def test_parts_of_a_trace_that_do_not_fit_together_are_said_to_be_parts(tmp_path, capsys):
    # GIVEN a recording of some calls of each rank, in which one has received what the other sent before its part
    for calls in (["MPI_Recv"], ["MPI_Send", "MPI_Recv", "MPI_Send"]):
        ranks = [Rank(me, 2, flags=FINALIZED | TRACED | CUT) for me in range(2)]
        for call in calls:
            message(ranks[0], call, 1, 100)
        message(ranks[1], "MPI_Recv", 0, 100)
        recording = write_recording(tmp_path / f"{len(calls)}.rw", ranks)
        assert main(["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1"]) == 1
        # THEN that is what the error says, once, and what to record instead
        error = capsys.readouterr().err
        assert error.startswith(
            f"error: `{recording}`: only a part of the calls was traced, and its messages do not"
        )
        assert error.count(str(recording)) == 1 and "event " in error
        assert "between two barriers" in error


def test_without_trace_there_is_a_coarse_estimate_and_it_says_so(tmp_path, capsys):
    # GIVEN counts: rank 0 sent 1000 messages of 1000 bytes, ran 1 s, 0.1 ms of it in MPI
    ranks = [Rank(me, 2) for me in range(2)]
    ranks[0].send(1, 1000, times=1000)
    ranks[1].recv(0, 1000, times=1000)
    recording = write_recording(tmp_path / "x.rw", ranks)
    words = ["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1"]
    assert main([*words, "--json"]) == 0
    out = capsys.readouterr()
    assert (
        "warning: no trace was recorded: a coarse estimate" in out.err
        and "rankwise record --trace" in out.err
    )
    document = json.loads(out.out)
    assert document["input"]["kind"] == "counts"
    assert (document["input"]["messages"], document["input"]["bytes"]) == (1000, 10**6)
    (one,) = document["placements"]
    assert 0.999 < one["ranks"]["computation"]["max_s"] < 1.0
    assert one["makespan_s"] > one["ranks"]["computation"]["max_s"]
    assert main(words) == 0
    assert "blocked 2x1: 1" in capsys.readouterr().out
    # AND what needs the order of calls is refused
    for option in ("--goal", "--perfetto"):
        assert main([*words, option, str(tmp_path / "x.out")]) == 1
        assert f"has no trace, which `{option}` needs" in capsys.readouterr().err
    assert not (tmp_path / "x.out").exists()


def test_ranks_that_waited_for_cores_make_the_estimate_an_interval(tmp_path, capsys):
    # GIVEN recordings without trace of two ranks that are in MPI for 0.9 of 1 s, and wait for a core for 0.8 s or never
    times = {}
    for waited in (0, 800_000_000):
        ranks = [Rank(me, 2, runqueue_wait_ns=waited) for me in range(2)]
        for rank in ranks:
            rank.count("MPI_Wait", 900_000_000)
        recording = write_recording(tmp_path / f"{waited}.rw", ranks)
        words = ["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1", "--json"]
        assert main(words) == 0
        out, error = capsys.readouterr()
        assert "[no-trace]" in error
        assert ("[shared-cores]" in error) == bool(waited)
        times[waited] = json.loads(out)["placements"][0]
    # THEN they compute for 0.1 s in the one, for 0.02 to 0.1 s in the other
    assert times[0]["interval"] is None
    interval = times[800_000_000]["interval"]
    assert interval["high_s"] == pytest.approx(times[0]["makespan_s"], rel=0.01)
    assert interval["high_s"] / interval["low_s"] == pytest.approx(5, rel=0.1)


def test_calls_that_were_only_counted_are_no_estimate(tmp_path, capsys):
    ranks = [Rank(me, 2, flags=FINALIZED | UNTIMED) for me in range(2)]
    recording = write_recording(tmp_path / "x.rw", ranks)
    assert main(["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1"]) == 1
    assert "nothing says how long the program computes" in capsys.readouterr().err


def test_a_schedule_that_is_too_large_is_replayed_in_windows_with_the_same_numbers(tmp_path, capsys):
    # GIVEN a recording with some messages
    ranks = [Rank(me, 2, flags=FINALIZED | TRACED) for me in range(2)]
    for _ in range(100):
        message(ranks[0], "MPI_Send", 1, 1000)
        message(ranks[1], "MPI_Recv", 0, 1000)
    recording = write_recording(tmp_path / "x.rw", ranks)
    words = ["predict", str(recording), "--machine", MACHINE, "--nodes", "2x1", "--json"]
    assert main(words) == 0
    whole = json.loads(capsys.readouterr().out)
    # WHEN there is next to no memory
    assert main([*words, "--memory", "1kB"]) == 0
    # THEN nothing is missing but what needs a timeline, and that is said
    windows = json.loads(capsys.readouterr().out)
    assert windows["input"] == whole["input"] | {"in_windows": True}
    assert not whole["input"]["in_windows"]
    (one,), (other,) = whole["placements"], windows["placements"]
    assert {key for key in one if one[key] != other[key]} <= {"waiting_s", "critical_path", "tie_order"}
    assert other["losses"]
    assert main([*words[:-1], "--memory", "1kB"]) == 0
    assert "replayed in windows of the trace" in capsys.readouterr().err
    # AND what needs the whole is refused with what it would take
    assert main([*words, "--memory", "1kB", "--perfetto", str(tmp_path / "x.json")]) == 1
    error = capsys.readouterr().err
    assert "`--perfetto` needs the schedule" in error
    assert "--memory 1GiB" in error


def test_why_another_placement_than_the_recorded_one_is_predicted_is_said(tmp_path, capsys):
    # GIVEN a recording of ranks on this machine's topology, which is not that of the machine file
    recording = write_recording(tmp_path / "x.rw", [Rank(me, 2) for me in range(2)])
    words = ["predict", str(recording), "--machine", MACHINE]
    # WHEN no placement is asked for
    assert main(words) == 0
    # THEN it says that it is not the recorded one, and why
    assert "blocked 1x2 and not as recorded: " in capsys.readouterr().err
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["machines"][0]["not_as_recorded"]
    assert said.startswith("it")
    # AND where one was asked for, nothing
    assert main([*words, "--nodes", "2x1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machines"][0]["not_as_recorded"] is None
