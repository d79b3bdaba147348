# SPDX-License-Identifier: BSD-3-Clause
"""Which files of a recording are whole."""

import json
import tarfile

import pytest
from raw_writer import MANIFEST, PEERS, Rank, RawFile, copy_bytes, write_recording

from rankwise.errors import RankwiseError
from rankwise.recording import Recording, collection
from rankwise.recording.check import check


@pytest.fixture
def recorded(tmp_path):
    ranks = [Rank(me, 2) for me in range(2)]
    for rank in ranks:
        rank.send(1 - rank.world_rank, 100, times=7)
    path = write_recording(tmp_path / "app.rw", ranks)
    (path / "recording.json").write_text(json.dumps(MANIFEST))
    return path


def states(path):
    return {each.file: each.state for each in check(path)}


def details(path, name):
    return next(each.details for each in check(path) if each.file == name)


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_what_ended_well_is_whole_and_what_has_no_checksum_is_not_covered(recorded):
    assert states(recorded) == {"raw/n0.rwn": "whole", "recording.json": "not covered"}
    # AND so is what is made of it
    Recording.open(recorded)
    made = [f"tables/{name}.parquet" for name in collection.TABLES]
    assert states(recorded) == {"raw/n0.rwn": "whole", "recording.json": "not covered"} | dict.fromkeys(
        ["context.json", *made], "whole"
    )


def test_each_file_that_is_not_as_it_was_written_is_named_and_none_is_changed(recorded):
    # GIVEN a recording that was collected
    Recording.open(recorded)
    files = ["raw/n0.rwn", "context.json", "tables/messages.parquet"]
    for name in files:
        # WHEN one byte of a file is another one
        good = (recorded / name).read_bytes()
        flip(recorded / name, {"raw/n0.rwn": 4096 + 64}.get(name, 20))
        bad = (recorded / name).read_bytes()
        # THEN this one is damaged, and stays as it is
        found = states(recorded)
        assert found[name] == "damaged"
        assert [each for each in files if found.get(each) == "damaged"] == [name]
        assert (recorded / name).read_bytes() == bad
        (recorded / name).write_bytes(good)
    (recorded / "recording.json").write_text("{")
    assert states(recorded)["recording.json"] == "damaged"


def test_what_a_killed_rank_wrote_after_its_last_checksum_is_not_covered(tmp_path):
    rank = Rank(0, 1, flags=0)
    file = RawFile()
    payload = rank.record() + rank.totals_bytes()
    owner = file.add_run(1, payload, len(payload), checked=0)
    file.add_run(PEERS, *rank.peers_bytes(), owner=owner)
    file.write(tmp_path / "raw" / "n0.rwn")
    assert states(tmp_path)["raw/n0.rwn"] == "not covered"
    assert details(tmp_path, "raw/n0.rwn") == (
        "1 of 2 parts were written to after their last checksum, by rank 0",
    )
    # AND the report says so
    said = Recording.open(tmp_path).context["problems"]
    assert any("rank 0 wrote after its last checksum" in each for each in said)


def test_ranks_that_left_nothing_are_damage_where_every_file_is_whole(tmp_path):
    write_recording(tmp_path, [Rank(0, 3)])
    assert states(tmp_path) == {"raw/n0.rwn": "whole", "raw": "damaged", "recording.json": "not covered"}
    assert details(tmp_path, "raw") == ("ranks 1, 2 left nothing",)


def test_a_topology_in_which_no_node_is_has_the_name_of_its_file(tmp_path):
    # GIVEN an archive of which the files say nothing of a node
    path = write_recording(tmp_path / "app.rw", [Rank(0, 1, host="n0")])
    file = path / "raw" / "n0.topology.tar"
    with tarfile.open(file, "w") as archive:
        archive.addfile(tarfile.TarInfo("sys/devices/system/cpu/online"))
    # THEN the check and the report name it
    assert f"`{file}`" in details(path, "raw/n0.topology.tar")[0]
    (host,) = Recording.open(path).context["hosts"]
    assert f"`{file}` is damaged" in host["topology_problem"]


def test_a_file_that_is_no_recording_is_damaged_and_said_once(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "n0.rwn").write_bytes(b"#!/bin/sh\n" * 20)
    found = states(tmp_path)
    assert found["raw/n0.rwn"] == "damaged" and "raw" not in found
    with pytest.raises(RankwiseError, match="does not exist"):
        check(tmp_path / "nothing")


def archive(path, checksum=True):
    files = {"rankwise/taken": "5 end\n", "rankwise/interrupts": "LOC: 0=7 | Local timer interrupts\n"}
    path.write_bytes(copy_bytes(files, checksum))


def test_copies_of_a_nodes_files_are_checked(recorded):
    name = "raw/n0.end.tar"
    archive(recorded / name)
    assert states(recorded)[name] == "whole"
    # WHEN a byte of a count is another one THEN it is damaged
    flip(recorded / name, (recorded / name).read_bytes().index(b"0=7") + 2)
    assert states(recorded)[name] == "damaged" and details(recorded, name) == (
        "it does not match its checksum",
    )
    # AND so is one that was cut, and one there was no room for
    for content in (b"x" * 700, b""):
        (recorded / name).write_bytes(content)
        assert states(recorded)[name] == "damaged"
    # AND of one of an older recorder nothing is wrong, and nothing is known
    archive(recorded / name, checksum=False)
    assert states(recorded)[name] == "not covered"
