/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of known structure: tuned MODE N. Each rank gives its page a second name before MPI_Finalize, so that
 * it can be read afterwards, and prints `done RANK`.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4 };

static int rank, size, right, left;
static double out, in;

static void shift(void) {
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, right, 0, &in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void reduce(void) {
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exchange(int polls) {
    MPI_Request requests[2];
    int done = 0;
    MPI_Irecv(&in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    while (polls && !done)
        MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    if (!polls)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void flat(int n) {
    for (int i = 0; i < n; i++) {
        exchange(0);
        reduce();
    }
}

static void polling(int n) {
    for (int i = 0; i < n; i++) {
        exchange(1);
        reduce();
    }
}

static void nested(int n) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 10; k++)
            shift();
        reduce();
    }
}

static void until_converged(int n) {
    for (int i = 0; i < n; i++) {
        MPI_Bcast(&out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int k = 0; k < 3 + i * 7 % 11; k++) {
            shift();
            reduce();
        }
    }
}

static void phases(int n) {
    for (int i = 0; i < n; i++) {
        shift();
        reduce();
    }
    for (int i = 0; i < n; i++) {
        exchange(0);
        exchange(0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void pcontrol(int n) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 1 + i % 5; k++)
            flat(10);
        MPI_Pcontrol(0);
        MPI_Pcontrol(1);
    }
}

/* In a communicator of turned ranks, a persistent one each and a plain one each; and to nobody. */
static void peers(int n) {
    MPI_Comm turned;
    MPI_Request request[2];
    char bytes[100] = {0}, received[100];
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    MPI_Send_init(bytes, 100, MPI_CHAR, size - 1 - right, 0, turned, &request[0]);
    MPI_Recv_init(received, 100, MPI_CHAR, size - 1 - left, 0, turned, &request[1]);
    for (int i = 0; i < n; i++) {
        MPI_Startall(2, request);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(bytes, 7, MPI_CHAR, size - 1 - right, 1, received, 7, MPI_CHAR, size - 1 - left, 1,
                     turned, MPI_STATUS_IGNORE);
        MPI_Send(bytes, 9, MPI_CHAR, MPI_PROC_NULL, 0, turned);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Comm_free(&turned);
}

static void late(int n) {
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            usleep(20000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static int each;

static void *send_to_myself(void *number) {
    const int tag = *(int *)number;
    for (int i = 0; i < each; i++) {
        MPI_Request request;
        double mine = 0;
        MPI_Irecv(&mine, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &request);
        MPI_Send(&out, 1, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(int n) {
    pthread_t thread[THREADS];
    int number[THREADS];
    each = n;
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, send_to_myself, &number[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* Messages to the right, in communicators and of datatypes that live for one of them: their handles come
 * again and mean something else. */
static void remade(int n) {
    for (int i = 0; i < n; i++) {
        const int turned = i % 2;
        MPI_Comm comm;
        MPI_Datatype type;
        char sent[3] = {0}, got[3];
        MPI_Comm_split(MPI_COMM_WORLD, 0, turned ? -rank : rank, &comm);
        MPI_Type_contiguous(1 + i % 3, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        MPI_Sendrecv(sent, 1, type, turned ? size - 1 - right : right, 0, got, 1, type,
                     turned ? size - 1 - left : left, 0, comm, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
        MPI_Comm_free(&comm);
    }
}

/* Rank 1 does nothing but receive, at one place, what rank 0 sends it in bursts; it says how long that took.
 */
static void receive_bursts(int n, int messages, double pause_s) {
    const double began = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        for (const double until = MPI_Wtime() + pause_s; rank == 0 && MPI_Wtime() < until;)
            ;
        for (int k = 0; k < messages; k++)
            if (rank == 0)
                MPI_Send(&out, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1)
        printf("received for %f s\n", MPI_Wtime() - began);
}

static void bursts(int n) {
    receive_bursts(n, 64, 2e-3);
}

static void quick_bursts(int n) {
    receive_bursts(n, 32, 20e-6);
}

static const struct {
    const char *name;
    void (*run)(int n);
} modes[] = {
    {"flat", flat},       {"polling", polling},   {"nested", nested}, {"converge", until_converged},
    {"phases", phases},   {"pcontrol", pcontrol}, {"peers", peers},   {"late", late},
    {"threads", threads}, {"remade", remade},     {"bursts", bursts}, {"quick_bursts", quick_bursts}};

static void keep_page(void) {
    char path[512], kept[600];
    snprintf(path, sizeof path, "%s/%d.%d.page", getenv("RANKWISE_TUNE"), rank, (int)getpid());
    snprintf(kept, sizeof kept, "%s.kept", path);
    if (getenv("RANKWISE_TUNE") && link(path, kept) != 0)
        perror(path);
}

int main(int argc, char **argv) {
    int provided = 0;
    const char *const mode = argc > 2 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    for (size_t at = 0; at < sizeof modes / sizeof *modes; at++)
        if (strcmp(mode, modes[at].name) == 0)
            modes[at].run(atoi(argv[2]));
    keep_page();
    printf("done %d\n", rank);
    MPI_Finalize();
    return 0;
}
