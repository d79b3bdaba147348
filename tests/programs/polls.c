/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says of polls how many found nothing and how often rank 0 gave up its core meanwhile, `WHAT POLLS TIMES`.
 *
 * polls waiting: by each call in turn, rank 0 waits for a message of rank 1, which first works for 20 ms.
 *
 * polls working: 300 polls for a message that does not come, and between two of them 100 us of work.
 *
 * polls fixed: of each call 1000 polls that find nothing; of each that knows requests 1000 that find one.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double used_s(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec + used.tv_nsec * 1e-9;
}

static long gave_up(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static void compute(double span) {
    const double until = used_s() + span;
    while (used_s() < until)
        ;
}

static int number;
static MPI_Request request;
static MPI_Message message;

static int iprobe(void) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int improbe(void) {
    int flag;
    MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    return flag;
}

static int test(void) {
    int flag;
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int testall(void) {
    int flag;
    MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    return flag;
}

static int testany(void) {
    int index, flag;
    MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static int testsome(void) {
    int ended, indices[1];
    MPI_Testsome(1, &request, &ended, indices, MPI_STATUSES_IGNORE);
    return ended != 0;
}

static int get_status(void) {
    int flag;
    MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    return flag;
}

static const struct {
    const char *name;
    int (*poll)(void);
    int posted;
} calls[] = {
    {"Iprobe", iprobe, 0},
    {"Improbe", improbe, 0},
    {"Test", test, 1},
    {"Testall", testall, 1},
    {"Testany", testany, 1},
    {"Testsome", testsome, 1},
    {"Request_get_status", get_status, 1},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void finish(int call) {
    if (calls[call].poll == improbe)
        MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    else if (!calls[call].posted)
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_by(int call, int rank) {
    if (rank == 1) {
        compute(0.02);
        MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else if (rank == 0) {
        long nothing = 0;
        if (calls[call].posted)
            MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &request);
        const long before = gave_up();
        while (!calls[call].poll())
            nothing++;
        printf("%s %ld %ld\n", calls[call].name, nothing, gave_up() - before);
        finish(call);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void poll_and_work(void) {
    int nothing = 0;
    const long before = gave_up();
    for (int i = 0; i < 300; i++) {
        nothing += !iprobe();
        compute(100e-6);
    }
    printf("Iprobe %d %ld\n", nothing, gave_up() - before);
}

static void poll_a_thousand_times(int call) {
    int nothing = 0, found = 0;
    if (calls[call].posted)
        MPI_Irecv(&number, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
    long before = gave_up();
    for (int i = 0; i < 1000; i++)
        nothing += !calls[call].poll();
    printf("%s %d %ld\n", calls[call].name, nothing, gave_up() - before);
    if (!calls[call].posted)
        return;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* a null request is a finished one */
    before = gave_up();
    for (int i = 0; i < 1000; i++)
        found += calls[call].poll();
    printf("found %d %ld\n", found, gave_up() - before);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "working") == 0 && rank == 0)
        poll_and_work();
    for (int call = 0; call < CALLS; call++)
        if (strcmp(how, "waiting") == 0)
            wait_by(call, rank);
        else if (strcmp(how, "fixed") == 0 && rank == 0)
            poll_a_thousand_times(call);
    MPI_Finalize();
    return 0;
}
