/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chapter 12 of MPI: each kind of window, each kind of synchronisation, each operation. Put and accumulate
 * send to the target, get receives from it, the fetching ones do both.
 */
#include <mpi.h>
#include <string.h>

#include "../expect.h"

static int rank, size, next, previous;
static int mine[64], from_there[64];

/* Fences: 10 ints by put, 20 by get, 5 by accumulate; nothing to nobody. */
static void fences(MPI_Win win) {
    MPI_Win_fence(0, win);
    MPI_Put(mine, 10, MPI_INT, next, 0, 10, MPI_INT, win);
    MPI_Put(mine, 10, MPI_INT, MPI_PROC_NULL, 0, 10, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(from_there, 20, MPI_INT, previous, 10, 20, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(mine, 5, MPI_INT, next, 40, 5, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    sent("MPI_Put", next, 1, 40);
    received("MPI_Get", previous, 1, 80);
    sent("MPI_Accumulate", next, 1, 20);
    called("MPI_Win_fence", 4);
}

/* Locks: requests, and operations that bring back what was there. */
static void locks(MPI_Win win) {
    MPI_Request request;
    int one = 1, zero = 0, result;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Rput(mine, 3, MPI_INT, next, 0, 3, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(next, win);
    MPI_Rget(from_there, 4, MPI_INT, next, 0, 4, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Raccumulate(mine, 6, MPI_INT, next, 0, 6, MPI_INT, MPI_MAX, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(next, win);
    sent("MPI_Rput", next, 1, 12);
    received("MPI_Rget", next, 1, 16);
    sent("MPI_Raccumulate", next, 1, 24);
    MPI_Win_lock_all(0, win);
    MPI_Get_accumulate(mine, 7, MPI_INT, from_there, 7, MPI_INT, next, 0, 7, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(next, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, from_there, 9, MPI_INT, next, 0, 9, MPI_INT, MPI_NO_OP, win);
    MPI_Win_flush(next, win);
    sent("MPI_Get_accumulate", next, 1, 28);
    received("MPI_Get_accumulate", next, 2, 28 + 36);
    MPI_Rget_accumulate(mine, 2, MPI_INT, from_there, 2, MPI_INT, next, 0, 2, MPI_INT, MPI_SUM, win,
                        &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent("MPI_Rget_accumulate", next, 1, 8);
    received("MPI_Rget_accumulate", next, 1, 8);
    MPI_Fetch_and_op(&one, &result, MPI_INT, next, 50, MPI_SUM, win);
    MPI_Win_flush(next, win);
    MPI_Fetch_and_op(NULL, &result, MPI_INT, next, 50, MPI_NO_OP, win);
    MPI_Win_flush(next, win);
    sent("MPI_Fetch_and_op", next, 1, 4);
    received("MPI_Fetch_and_op", next, 2, 8);
    MPI_Compare_and_swap(&one, &zero, &result, MPI_INT, next, 51, win);
    MPI_Win_unlock_all(win);
    sent("MPI_Compare_and_swap", next, 1, 8); /* the new value and the one to compare with */
    received("MPI_Compare_and_swap", next, 1, 4);
}

/* Post, start, complete, wait; with a strided type, and in reversed ranks. */
static void groups(void) {
    MPI_Comm reversed;
    MPI_Win win;
    MPI_Group all, origins, targets;
    MPI_Datatype strided;
    int *memory, self;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &self);
    int to = (self + 1) % size, from = (self + size - 1) % size;
    MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, reversed, &memory, &win);
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &from, &origins);
    MPI_Group_incl(all, 1, &to, &targets);
    MPI_Type_vector(8, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Win_post(origins, 0, win);
    MPI_Win_start(targets, 0, win);
    MPI_Put(mine, 1, strided, to, 0, 8, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    sent("MPI_Put", previous, 1, 32);
    MPI_Type_free(&strided);
    MPI_Group_free(&all);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Win_free(&win);
    MPI_Comm_free(&reversed);
}

/* Windows come and go, and their handles with them: the group is that of the window, not of the handle. */
static void many_windows(void) {
    for (int i = 0; i < 20; i++) {
        MPI_Comm comm;
        MPI_Win win;
        int self, value = 0;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &comm);
        MPI_Comm_rank(comm, &self);
        MPI_Win_create(mine, sizeof mine, 1, MPI_INFO_NULL, comm, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, (self + 1) % size, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        sent("MPI_Put", i % 2 ? previous : next, 1, 4);
        MPI_Win_free(&win);
        MPI_Comm_free(&comm);
    }
    called("MPI_Win_fence", 40);
}

static void dynamic(void) {
    MPI_Win win;
    MPI_Aint here, there;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, mine, sizeof mine);
    MPI_Get_address(mine, &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, previous, 1, &there, 1, MPI_AINT, next, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    sent("MPI_Sendrecv", previous, 1, 8);
    received("MPI_Sendrecv", next, 1, 8);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    MPI_Put(from_there, 2, MPI_INT, next, there, 2, MPI_INT, win);
    MPI_Win_unlock(next, win);
    sent("MPI_Put", next, 1, 8);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, mine);
    MPI_Win_free(&win);
    collective("MPI_Barrier", 0, 1);
}

#ifdef HAVE_MPI_Send_c
static void large_counts(MPI_Win win) {
    MPI_Win_fence(0, win);
    MPI_Put_c(mine, 10, MPI_CHAR, next, 0, 10, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    MPI_Get_c(from_there, 20, MPI_CHAR, next, 0, 20, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate_c(mine, 3, MPI_INT, next, 0, 3, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    sent("MPI_Put_c", next, 1, 10);
    received("MPI_Get_c", next, 1, 20);
    sent("MPI_Accumulate_c", next, 1, 12);
    called("MPI_Win_fence", 4);
}
#endif

int main(int argc, char **argv) {
    MPI_Win win;
    static int window[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect_open(rank);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    MPI_Win_create(window, sizeof window, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fences(win);
    locks(win);
#ifdef HAVE_MPI_Send_c
    large_counts(win);
#endif
    MPI_Win_free(&win);
    groups();
    many_windows();
    dynamic();
    expect_close();
    MPI_Finalize();
    return 0;
}
