/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: unusual WHAT, on two ranks.
 * many    2000 requests at once, sends of every size from 0 to 1999 bytes, 3000 different collectives
 * fork    a child process that calls MPI_Initialized and ends
 * unwind  an error handler that leaves MPI by longjmp
 * vanish  as many, but the recording's directory is removed after MPI_Init
 * limit   as many, but from MPI_Init on no file may grow beyond 1.7 MB
 * early   calls before MPI_Init and after MPI_Finalize
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 2000 };
static int rank;
static char out[16384], in[MANY * 2000];

static void many(void) {
    static MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(in + 2000 * i, 2000, MPI_CHAR, !rank, i, MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(out, i, MPI_CHAR, !rank, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3000; i++)
        MPI_Bcast(in, i, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void with_fork(void) {
    int initialized = 0, status;
    pid_t child = fork();
    if (child == 0) {
        MPI_Initialized(&initialized);
        _exit(initialized ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (status != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
}

static jmp_buf back;

static void leave(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

static void unwind(void) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(back) == 0)
        MPI_Send(out, 1, MPI_CHAR, 12345, 0, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 9, MPI_CHAR, !rank, 0, in, 9, MPI_CHAR, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int flag;
    MPI_Initialized(&flag);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "limit") == 0)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1700000, RLIM_INFINITY});
    if (strcmp(argv[1], "vanish") == 0) {
        char command[4096];
        snprintf(command, sizeof command, "rm -rf '%s'", getenv("RANKWISE_DIR"));
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0 && system(command) != 0)
            MPI_Abort(MPI_COMM_WORLD, 6);
        MPI_Barrier(MPI_COMM_WORLD);
        many();
    }
    if (strcmp(argv[1], "many") == 0 || strcmp(argv[1], "limit") == 0)
        many();
    if (strcmp(argv[1], "fork") == 0)
        with_fork();
    if (strcmp(argv[1], "unwind") == 0)
        unwind();
    MPI_Finalize();
    MPI_Finalized(&flag);
    return !flag;
}
