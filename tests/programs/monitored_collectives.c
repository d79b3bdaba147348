/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: monitored_collectives FILE DIRECTORY: calls the collective operations of FILE, a line `NAME BYTES
 * ROOT` each, and writes what Open MPI's monitoring component saw below each to DIRECTORY/RANK: lines `LINE
 * DESTINATION MESSAGES BYTES`. Link it with -rdynamic, run it with `--mca pml_monitoring_enable 1`.
 */
#include "collective_calls.h"

static size_t *messages, *lengths;

/* The component calls this for every message; defined here it is found before the one in the component's
 * library. */
void mca_common_monitoring_record_pml(int world_rank, size_t bytes, int tag);
void mca_common_monitoring_record_pml(int world_rank, size_t bytes, int tag) {
    (void)tag;
    if (messages) {
        messages[world_rank]++;
        lengths[world_rank] += bytes;
    }
}

int main(int argc, char **argv) {
    int rank, size, bytes, root;
    char name[64], path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const size_t row = sizeof(size_t) * (size_t)size;
    messages = malloc(row);
    lengths = malloc(row);
    FILE *calls = argc > 2 ? fopen(argv[1], "r") : NULL;
    snprintf(path, sizeof path, "%s/%d", argc > 2 ? argv[2] : ".", rank);
    FILE *found = fopen(path, "w");
    if (!calls || !found)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int line = 0; fscanf(calls, "%63s %d %d", name, &bytes, &root) == 3; line++) {
        memset(messages, 0, row);
        memset(lengths, 0, row);
        call_collective(name, bytes, root);
        for (int peer = 0; peer < size; peer++)
            if (messages[peer])
                fprintf(found, "%d %d %zu %zu\n", line, peer, messages[peer], lengths[peer]);
    }
    fclose(found);
    MPI_Finalize();
    return 0;
}
