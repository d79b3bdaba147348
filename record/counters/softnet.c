/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that each CPU took in, whichever interface they came by: /proc/net/softnet_stat. */
#include <stdlib.h>

#include "counters/kept.h"
#include "counters/sources.h"

/* Columns of the file (softnet_seq_show, net/core/net-procfs.c); the CPU is there since Linux 5.10. */
enum { PROCESSED = 0, DROPPED = 1, SQUEEZED = 2, STEERED = 9, CPU = 12, FIELDS = 13 };

static const struct {
    const char *name;
    int field;
} counts[] = {{"processed", PROCESSED}, {"dropped", DROPPED}, {"squeezed", SQUEEZED}, {"steered", STEERED}};
#define COUNTS (sizeof counts / sizeof *counts)

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;
static unsigned cpus;

/* A line of numbers in hexadecimal. @return how many there were */
static int read_line(uint64_t fields[FIELDS]) {
    char word[32];
    int found = 0;
    while (found < FIELDS && rw_word(&reader, word, sizeof word) > 0)
        fields[found++] = strtoull(word, NULL, 16);
    return found;
}

/* CPUs that are off have no line: lines without a number tell whose they are only if all are there. */
static int tells_cpus(void) {
    uint64_t fields[FIELDS];
    unsigned lines = 0;
    int least = FIELDS;
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader), lines++) {
        const int found = read_line(fields);
        least = found < least ? found : least;
    }
    return lines > 0 && (least == FIELDS || (least > STEERED && lines == cpus));
}

static void open_softnet(struct rw_series *series) {
    const int error = rw_keep(&file, "/proc/net/softnet_stat");
    cpus = rw_node_cpus();
    if (error || !cpus || !tells_cpus()) {
        rw_note_absent(series, "packets by core", error,
                       error ? "/proc/net/softnet_stat"
                             : "/proc/net/softnet_stat does not tell whose its lines are");
        rw_drop(&file);
        return;
    }
    for (unsigned i = 0; i < COUNTS; i++)
        rw_add_columns(series, "softnet", counts[i].name, cpus);
}

static void read_softnet(uint64_t *values) {
    uint64_t fields[FIELDS];
    unsigned line = 0;
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader), line++) {
        const int found = read_line(fields);
        const uint64_t cpu = found == FIELDS ? fields[CPU] : line;
        for (unsigned i = 0; i < COUNTS && cpu < cpus && found > STEERED; i++)
            values[i * cpus + cpu] = fields[counts[i].field];
    }
}

const struct rw_source rw_softnet = {open_softnet, read_softnet};
