/* SPDX-License-Identifier: BSD-3-Clause */
// Preloaded into the ranks by `rankwise run`: each process of a rank appends one line to the file of its host
// in RANKWISE_BINDING, saying which PUs it may use:
//     RANK PID TIME_NS USES_MPI PUS        for example `3 4711 1760000000000000000 1 0-3,8`
// A rank may be several processes (a shell that starts the program); the reader chooses. Whatever fails here
// is silent: a rank that left no line counts as not verified.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PUS = 1 << 16, WORD_BITS = 8 * sizeof(unsigned long), LONGEST_LINE = 1 << 15 };

static const char *rank_of_this_process(void) {
    // Open MPI 4, Hydra, Open MPI 5 and other users of PMIx.
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        const char *value = getenv(names[at]);
        if (value && *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 12)
            return value;
    }
    return NULL;
}

static int is_mpi(struct dl_phdr_info *library, size_t size, void *found) {
    (void)size;
    const char *name = strrchr(library->dlpi_name, '/');
    if (name && strncmp(name, "/libmpi", 7) == 0)
        *(int *)found = 1;
    return 0;
}

/// Ascending PUs as `0-3,8`; returns the length, 0 if it does not fit or nothing is known.
static size_t write_pus(char *text, size_t room) {
    static unsigned long mask[MOST_PUS / WORD_BITS];
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (bytes <= 0)
        return 0;
    size_t length = 0;
    long pus = bytes * 8;
#define HAS(pu) (mask[(pu) / (long)WORD_BITS] >> ((pu) % (long)WORD_BITS) & 1)
    for (long first = 0; first < pus; first++) {
        if (!HAS(first))
            continue;
        long last = first;
        while (last + 1 < pus && HAS(last + 1))
            last++;
        const char *comma = length ? "," : "";
        int written = first == last ? snprintf(text + length, room - length, "%s%ld", comma, first)
                                    : snprintf(text + length, room - length, "%s%ld-%ld", comma, first, last);
        if (written < 0 || (size_t)written >= room - length)
            return 0;
        length += (size_t)written;
        first = last;
    }
#undef HAS
    return length;
}

__attribute__((constructor)) static void tell_binding(void) {
    int error_before = errno;
    const char *directory = getenv("RANKWISE_BINDING");
    const char *rank = rank_of_this_process();
    if (directory && rank) {
        static char line[LONGEST_LINE], path[4096 + 256];
        char host[256] = "";
        struct timespec now = {0, 0};
        int mpi = 0;
        gethostname(host, sizeof host - 1);
        clock_gettime(CLOCK_REALTIME, &now);
        dl_iterate_phdr(is_mpi, &mpi);
        int start = snprintf(line, sizeof line, "%s %ld %lld %d ", rank, (long)getpid(),
                             (long long)now.tv_sec * 1000000000 + now.tv_nsec, mpi);
        size_t pus = write_pus(line + start, sizeof line - (size_t)start - 1);
        int named = snprintf(path, sizeof path, "%s/%s", directory, host);
        if (pus && *host && named > 0 && (size_t)named < sizeof path) {
            size_t length = (size_t)start + pus;
            line[length++] = '\n';
            int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            if (file >= 0) {
                // One write, so that lines of several ranks do not mix.
                ssize_t written = write(file, line, length);
                (void)written;
                close(file);
            }
        }
    }
    errno = error_before;
}
