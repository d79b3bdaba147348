# SPDX-License-Identifier: BSD-3-Clause
"""Whatever became of the files that a recording keeps beside its raw ones: it opens, or one sentence says why not."""

import json
import random
import shutil

import pytest
from raw_writer import MANIFEST, Rank, write_recording

from rankwise.errors import RankwiseError
from rankwise.record import manifest
from rankwise.recording import Recording
from rankwise.recording.collection import TABLES


def seeds(few, many):
    """Of which `make test` takes a few."""
    return [pytest.param(seed, marks=() if seed < few else pytest.mark.slow) for seed in range(many)]


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """A recording with all that it keeps beside its raw files."""
    ranks = [Rank(me, 2) for me in range(2)]
    for rank in ranks:
        rank.send(1 - rank.world_rank, 100, times=7)
    path = write_recording(tmp_path_factory.mktemp("collected") / "app.rw", ranks)
    (path / "recording.json").write_text(json.dumps(MANIFEST))
    Recording.open(path)
    return path


@pytest.fixture
def recorded(collected, tmp_path):
    return shutil.copytree(collected, tmp_path / "app.rw")


def damage(content: bytes, dice: random.Random) -> bytes:
    """Some bytes changed, or cut, or put in, or all of it something else."""
    changed = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(changed) + 1)
        changed[at : at + dice.randint(0, 8)] = dice.choice([b"", dice.randbytes(4), b"\0" * 4, b'"', b"{"])
    return bytes(dice.choice([changed, changed[: dice.randrange(len(changed) + 1)], dice.randbytes(50)]))


@pytest.mark.parametrize("seed", seeds(30, 60))
def test_damaged_tables_and_context_are_made_again(recorded, seed):
    # GIVEN one of the files that are made of the raw ones, damaged
    dice = random.Random(seed)
    files = [recorded / "context.json", *(recorded / "tables" / f"{name}.parquet" for name in TABLES)]
    victim = dice.choice(files)
    victim.write_bytes(damage(victim.read_bytes(), dice))
    # THEN the numbers are the true ones
    recording = Recording.open(recorded)
    assert recording.world_size == 2
    assert sorted(recording.messages["messages"].to_list()) == [7, 7]
    assert recording.ranks["rank"].to_list() == [0, 1]
    for name in TABLES:
        assert recording.table(name).width > 0


@pytest.mark.one_of(4)
@pytest.mark.parametrize("seed", seeds(60, 200))
def test_a_damaged_manifest_is_none_or_one_sentence(recorded, seed):
    dice = random.Random(seed)
    path = recorded / "recording.json"
    path.write_bytes(damage(path.read_bytes(), dice))
    # WHEN it is read THEN it is what the schema says, or an error that names the file
    try:
        read = manifest.read(recorded)
    except RankwiseError as error:
        assert "recording.json" in error.message
    else:
        assert read is None or isinstance(read.command, list)
    # AND the recording itself opens all the same
    assert Recording.open(recorded).world_size == 2


def test_without_any_of_them_the_raw_files_are_enough(recorded):
    shutil.rmtree(recorded / "tables")
    (recorded / "context.json").unlink()
    (recorded / "recording.json").unlink()
    assert sorted(Recording.open(recorded).messages["messages"].to_list()) == [7, 7]
