/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank says where it is, after it has looked at its own rank through everything that is made of the
 * world; with an argument, it does not look.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size, wrong;

static void check(int right, const char *what) {
    if (right)
        return;
    wrong = 1;
    printf("rank %d: %s\n", rank, what);
}

/* The neighbours of a ring must be those that the ranks say (open-mpi/ompi issue 11756 is about those that
 * are not). */
static void check_ring(MPI_Comm ring, const char *what) {
    int self, in[2] = {-1, -1};
    MPI_Comm_rank(ring, &self);
    MPI_Neighbor_allgather(&self, 1, MPI_INT, in, 1, MPI_INT, ring);
    check(in[0] == (self + size - 1) % size, what);
    MPI_Comm_free(&ring);
}

static void check_topologies(void) {
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size, one = 1, periodic = 1;
    int index[64], edges[128];
    MPI_Comm ring;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &one, 1, &next, &one, MPI_INFO_NULL, 1,
                                   &ring);
    check_ring(ring, "neighbours of an adjacent graph");
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 1, &ring);
    check_ring(ring, "neighbours of a distributed graph");
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 1, &ring);
    check_ring(ring, "neighbours of a grid");
    for (int at = 0; at < size; at++) {
        index[at] = 2 * (at + 1);
        edges[2 * at] = (at + size - 1) % size;
        edges[2 * at + 1] = (at + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &ring);
    check_ring(ring, "neighbours of a graph");
}

static void check_memory(void) {
    int memory = -1, next = (rank + 1) % size;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    check(memory == (rank + size - 1) % size, "what was put into a window");
}

static void check_communicators(void) {
    int at, other, all[64], flag = 0, length, same;
    char name[MPI_MAX_OBJECT_NAME];
    void *bound;
    MPI_Comm comm;
    MPI_Group group, world;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    MPI_Comm_rank(comm, &at);
    check(at == (size - 1 - rank) / 2, "a split by key");
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, 1, &at, world, &other);
    check(other == rank, "a rank translated between groups");
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
    check(same == MPI_CONGRUENT, "a duplicate compared with the world");
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &same);
    check(same == MPI_IDENT, "the world compared with itself");
    MPI_Comm_free(&comm);
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, size - 1 - rank, 7, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check(other == size - 1 - rank && status.MPI_SOURCE == other, "the source of a message");
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (at = 0; at < size; at++)
        check(all[at] == at, "the order of an allgather");
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    check(strcmp(name, "MPI_COMM_WORLD") == 0, "the world's name");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag);
    check(flag && *(int *)bound >= 32767, "the world's largest tag");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Send(&rank, 1, MPI_INT, size, 7, MPI_COMM_WORLD) != MPI_SUCCESS, "an error that is returned");
}

int main(int argc, char **argv) {
    char host[64] = "";
    cpu_set_t pus;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 1) {
        check_communicators();
        check_topologies();
        check_memory();
    }
    gethostname(host, sizeof host - 1);
    sched_getaffinity(0, sizeof pus, &pus);
    if (!wrong)
        printf("rank %d: %s [%s]\n", rank, host,
               CPU_COUNT(&pus) > 1  ? "any"
               : CPU_ISSET(0, &pus) ? "0"
                                    : "1");
    MPI_Finalize();
    return 0;
}
