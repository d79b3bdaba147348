/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory does a library commit for each rank that one talks to? The FROM of the first pair sends to
 * and receives from the other ends, one after the other, small messages and one of BYTES. After each, V1 is
 * its resident memory in bytes; V2 that before the first contact, V3 that before MPI_Init; SETTING is how
 * many it has talked to in this step. Memory that the kernel keeps (buffers of sockets) and memory of the
 * interface are not resident in a process.
 */
#include "measure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static void talk(char *send, char *receive, long bytes, int peer) {
    const long sizes[] = {0, 1, bytes};
    for (int i = 0; i < 3; i++) {
        if (bytes && i == 2)
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
        if (rank == step->to[i])
            talk(send, receive, bytes, step->from[i]);
        if (rank != step->from[i])
            continue;
        talk(send, receive, bytes, step->to[i]);
        /* The peer filled its buffer with the number of who it talks to. */
        if (!measure_matches(receive, bytes, (uint32_t)rank))
            measure_wrong(step, step->from[i], step->to[i], bytes);
        struct measure_sample sample = {.sentinel_ns = -1, .messages = 3, .setting = i + 1, .cpu = {-1, -1}};
        sample.value[0] = measure_resident();
        sample.value[1] = before;
        sample.value[2] = measure_resident_at_start;
        measure_report_sample(step, rank, step->to[i], bytes, &sample);
    }
    if (rank == step->from[0])
        measure_report_point(step, rank, step->to[0], bytes, "count");
}

const struct measure_test measure_peers = {.name = "peers", .all = all, .before_contact = 1};
