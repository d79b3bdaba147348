/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory does a library commit for each rank that one talks to, and how much longer does the first
 * message take? The FROM of the first pair sends to and receives from the other ends, one after the other,
 * small messages and one of BYTES. After each, V1 is its resident memory in bytes; V2 that before the first
 * contact, V3 that before MPI_Init; SETTING is how many it has talked to in this step. V4 is how much longer
 * the first round trip took than the shortest of those after it, V5 how much more processor time of FROM's.
 * Memory that the kernel keeps (buffers of sockets) and memory of the interface are not resident in a
 * process.
 */
#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRIPS 4

double measure_resident_at_start;

double measure_resident(void) {
    /* The kernel counts exactly here, and by and by in statm. */
    double kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "Rss: %lf kB", &kib) != 1)
            kib = 0;
    if (file)
        fclose(file);
    long pages = 0, resident = 0;
    if (kib > 0 || !(file = fopen("/proc/self/statm", "r")))
        return 1024 * kib;
    if (fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* A message to the peer and one back. The peer must not begin: it would connect while it waits. */
static void round_trip(int begins, int peer) {
    if (begins)
        MPI_Send(NULL, 0, MPI_BYTE, peer, MEASURE_TAG, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, peer, MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!begins)
        MPI_Send(NULL, 0, MPI_BYTE, peer, MEASURE_TAG, MPI_COMM_WORLD);
}

/* How much more time, and processor time, the first round trip took than the shortest of the others. */
static void meet(int begins, int peer, double more[2]) {
    double first[2] = {0}, least[2] = {0};
    for (int i = 0; i < TRIPS; i++) {
        const double before = measure_now(), used = measure_cpu_now();
        round_trip(begins, peer);
        const double took[] = {measure_now() - before, measure_cpu_now() - used};
        for (int k = 0; k < 2; k++) {
            if (i == 0)
                first[k] = took[k];
            if (i == 1 || (i > 1 && took[k] < least[k]))
                least[k] = took[k];
        }
    }
    for (int k = 0; k < 2; k++)
        more[k] = first[k] > least[k] ? first[k] - least[k] : 0;
}

static void talk(char *send, char *receive, long bytes, int peer) {
    const long sizes[] = {1, bytes};
    for (int i = 0; i < 2; i++) {
        if (bytes && i == 1)
            measure_fill(send, bytes, (uint32_t)peer);
        MPI_Sendrecv(send, (int)sizes[i], MPI_BYTE, peer, MEASURE_TAG, receive, (int)sizes[i], MPI_BYTE, peer,
                     MEASURE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void all(const struct measure_step *step, long bytes) {
    int rank;
    char *send, *receive;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    measure_room((size_t)bytes + 1, &send, &receive);
    const double before = measure_resident();
    for (int i = 0; i < step->pairs; i++) {
        double more[2];
        if (rank == step->to[i]) {
            meet(0, step->from[i], more);
            talk(send, receive, bytes, step->from[i]);
        }
        if (rank != step->from[i])
            continue;
        meet(1, step->to[i], more);
        talk(send, receive, bytes, step->to[i]);
        /* The peer filled its buffer with the number of who it talks to. */
        if (!measure_matches(receive, bytes, (uint32_t)rank))
            measure_wrong(step, step->from[i], step->to[i], bytes);
        struct measure_sample sample = {
            .sentinel_ns = -1, .waited = -1, .messages = TRIPS + 2, .setting = i + 1, .cpu = {-1, -1}};
        sample.value[0] = measure_resident();
        sample.value[1] = before;
        sample.value[2] = measure_resident_at_start;
        sample.value[3] = more[0];
        sample.value[4] = more[1];
        measure_report_sample(step, rank, step->to[i], bytes, &sample);
    }
    if (rank == step->from[0])
        measure_report_point(step, rank, step->to[0], bytes, "count");
}

const struct measure_test measure_peers = {.name = "peers", .all = all, .before_contact = 1};
