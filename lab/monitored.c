/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into ranks of Open MPI whose monitoring component counts messages (`rankwise lab validate`).
 *
 * The component writes what it counted when all is over, and there Open MPI 5.0 often crashes before (it
 * frees the communicators of nodes twice). It calls this function for each message, which is found here
 * before its own: counts are kept in a file that is mapped, RANKWISE_MONITORED/RANK, two numbers (messages,
 * bytes) for each rank that the program sends to, then for each that collectives send to.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct sent {
    uint64_t messages, bytes;
};

static struct sent *counts;
static int ranks;

__attribute__((constructor)) static void map_counts(void) {
    const char *directory = getenv("RANKWISE_MONITORED"), *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    char path[4096];
    if (!directory || !rank || !size || (ranks = atoi(size)) <= 0)
        return;
    if (snprintf(path, sizeof path, "%s/%s", directory, rank) >= (int)sizeof path)
        return;
    const size_t length = 2 * (size_t)ranks * sizeof(struct sent);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return;
    if (ftruncate(file, (off_t)length) == 0) {
        void *mapped = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counts = mapped == MAP_FAILED ? NULL : mapped;
    }
    close(file);
}

void mca_common_monitoring_record_pml(int rank, size_t bytes, int tag);
__attribute__((visibility("default"))) void mca_common_monitoring_record_pml(int rank, size_t bytes,
                                                                             int tag) {
    if (!counts || rank < 0 || rank >= ranks)
        return;
    /* The program's own tags are not negative. */
    struct sent *to = &counts[(tag < 0 ? ranks : 0) + rank];
    __atomic_fetch_add(&to->messages, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to->bytes, bytes, __ATOMIC_RELAXED);
}
