/* SPDX-License-Identifier: BSD-3-Clause */
/* At the end: peak memory, and the NUMA nodes that the process's pages are on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "counters/kept.h"
#include "counters/sources.h"

/* The kernel walks through all pages for numa_maps: 10 to 20 ms at these sizes. */
#define MOST_KIB (4u << 20)
#define MOST_NS 20000000u
#define MOST_NODES 64u

static struct rw_reader reader;

/* Whether there is a node beside node 0. */
static int has_nodes(void) {
    struct rw_kept online;
    uint64_t first = 0;
    int more = 0;
    if (rw_keep(&online, "/sys/devices/system/node/online") != 0)
        return 0;
    if (rw_read_again(&reader, &online) == 0 && rw_number(&reader, &first))
        more = rw_peek(&reader) == '-' || rw_peek(&reader) == ',' || first > 0;
    rw_drop(&online);
    return more;
}

/* One mapping: ADDRESS POLICY ... N0=PAGES N1=PAGES kernelpagesize_kB=4; @return whether all nodes had a
 * number */
static int add_mapping(uint64_t kib[MOST_NODES]) {
    uint64_t pages[MOST_NODES] = {0}, page_kib = 0;
    char word[64];
    int sound = 1;
    for (int next; (next = rw_skip_blanks(&reader)) >= 0 && next != '\n';) {
        unsigned node;
        unsigned long long count;
        if (rw_word(&reader, word, sizeof word) == 0)
            reader.at++; /* a colon in a path */
        else if (sscanf(word, "N%u=%llu", &node, &count) == 2) {
            if (node < MOST_NODES)
                pages[node] += count;
            else
                sound = 0;
        } else if (sscanf(word, "kernelpagesize_kB=%llu", &count) == 1)
            page_kib = count;
    }
    for (unsigned node = 0; node < MOST_NODES; node++)
        kib[node] += pages[node] * page_kib;
    return sound;
}

static void note_node(struct rw_series *series, unsigned node, uint64_t kib) {
    char name[32];
    snprintf(name, sizeof name, "memory_kib:%u", node);
    rw_note_fact(series, name, kib);
}

static void note_nodes(struct rw_series *series) {
    struct rw_kept maps;
    uint64_t kib[MOST_NODES] = {0};
    const int error = rw_keep(&maps, "/proc/self/numa_maps");
    if (error) {
        rw_note_absent(series, "numa", error, NULL);
        return;
    }
    const uint64_t begin = rw_clock_ns(CLOCK_MONOTONIC);
    int whole = 1;
    for (int more = rw_read_again(&reader, &maps) == 0; more && whole; more = rw_skip_line(&reader))
        whole = add_mapping(kib) && rw_clock_ns(CLOCK_MONOTONIC) - begin < MOST_NS;
    rw_drop(&maps);
    if (!whole) {
        rw_note_absent(series, "numa", 0, "reading numa_maps took longer than 20 ms");
        return;
    }
    for (unsigned node = 0; node < MOST_NODES; node++)
        if (kib[node])
            note_node(series, node, kib[node]);
}

void rw_note_memory(struct rw_series *series) {
    uint64_t kib;
    if (rw_look_up(&reader, "/proc/self/status", "VmHWM", &kib))
        rw_note_fact(series, "peak_memory_kib", kib);
    else
        rw_note_absent(series, "peak memory", ENOENT, "no VmHWM in /proc/self/status");
    if (!rw_look_up(&reader, "/proc/self/status", "VmRSS", &kib))
        return;
    if (!has_nodes())
        note_node(series, 0, kib);
    else if (kib > MOST_KIB)
        rw_note_absent(series, "numa", 0,
                       "the process has more than 4 GiB, whose pages take too long to count");
    else
        note_nodes(series);
}
