# SPDX-License-Identifier: BSD-3-Clause
"""What is left out of a recording, in few words."""

from rankwise.schedule.omitted import gather


def test_calls_of_the_same_ranks_are_one_entry():
    # GIVEN fences of four ranks, as many communicators made, and puts and gets of two ranks
    omitted = {"other": 7} | {f"`MPI_Win_fence` of rank {rank}, taken as no time": 2 for rank in range(4)}
    omitted |= {
        f"`MPI_Comm_dup` of rank {rank}, whose synchronisation is not replayed": 1 for rank in range(4)
    }
    for call, ranks in (("MPI_Put", (0, 2)), ("MPI_Get", (2, 0)), ("MPI_Accumulate", (3,))):
        omitted |= {f"`{call}` of rank {rank}, taken as no time": 10 for rank in ranks}
    assert gather(omitted) == {
        "other": 7,
        "`MPI_Win_fence` of ranks 0-3, taken as no time": 8,
        "`MPI_Comm_dup` of ranks 0-3, whose synchronisation is not replayed": 4,
        "`MPI_Put` (20), `MPI_Get` (20) of ranks 0,2, taken as no time": 40,
        "`MPI_Accumulate` of rank 3, taken as no time": 10,
    }


def test_many_scattered_ranks_are_counted():
    omitted = {f"`MPI_Put` of rank {rank}, taken as no time": 1 for rank in range(0, 200, 2)}
    assert gather(omitted) == {"`MPI_Put` of 100 ranks, taken as no time": 100}
