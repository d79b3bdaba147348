# SPDX-License-Identifier: BSD-3-Clause
"""What is left out of a recording, in few words."""

import pytest

from rankwise import _core
from rankwise.errors import RankwiseError
from rankwise.schedule.omitted import gather

Omission = _core.schedule.Omission


def test_calls_of_the_same_ranks_are_one_entry():
    # GIVEN fences of four ranks, as many communicators made, and puts and gets of two ranks
    omissions = [(Omission("lost", 1), 4), (Omission("lost", 2), 3)]
    omissions += [(Omission("timeless", rank, "MPI_Win_fence"), 2) for rank in range(4)]
    omissions += [(Omission("unsynchronised", rank, "MPI_Comm_dup"), 1) for rank in range(4)]
    for call, ranks in (("MPI_Put", (0, 2)), ("MPI_Get", (2, 0)), ("MPI_Accumulate", (3,))):
        omissions += [(Omission("timeless", rank, call), 10) for rank in ranks]
    assert gather(omissions) == {
        "events that were not recorded": 7,
        "`MPI_Win_fence` of ranks 0-3, taken as no time": 8,
        "`MPI_Comm_dup` of ranks 0-3, whose synchronisation is not replayed": 4,
        "`MPI_Put` (20), `MPI_Get` (20) of ranks 0,2, taken as no time": 40,
        "`MPI_Accumulate` of rank 3, taken as no time": 10,
    }


def test_many_scattered_ranks_are_counted():
    omissions = [(Omission("timeless", rank, "MPI_Put"), 1) for rank in range(0, 200, 2)]
    assert gather(omissions) == {"`MPI_Put` of 100 ranks, taken as no time": 100}


@pytest.mark.parametrize(
    ("omission", "sentence"),
    [
        (Omission("cancelled"), "cancelled requests other than receives, replayed as if they were not"),
        (Omission("freed"), "requests freed before their end, nobody waits for them"),
        (Omission("lost"), "events that were not recorded"),
        (Omission("partly_traced"), "ranks of which only a part of the calls was traced"),
        (Omission("timeless", 3, "MPI_Put"), "`MPI_Put` of rank 3, taken as no time"),
        (Omission("truncated", problem="ends at 9"), "traces that are cut short: ends at 9"),
        (
            Omission("unknown_partners", 0, "MPI_Bcast"),
            "collective calls whose partners are not known (`MPI_Bcast`)",
        ),
        (Omission("unknown_peer"), "messages with a rank that could not be identified"),
        (
            Omission("unsynchronised", 3, "MPI_Comm_dup"),
            "`MPI_Comm_dup` of rank 3, whose synchronisation is not replayed",
        ),
    ],
    ids=lambda each: each.kind if isinstance(each, Omission) else "",
)
def test_each_kind_has_its_sentence(omission, sentence):
    assert gather([(omission, 5)]) == {sentence: 5}


def test_there_is_no_other_kind():
    with pytest.raises(RankwiseError, match="no omission `else`"):
        Omission("else")
