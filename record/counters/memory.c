/* SPDX-License-Identifier: BSD-3-Clause */
/* At the end: peak memory, and the NUMA nodes that the process's pages are on. */
#include <stdio.h>
#include <string.h>

#include "counters/kept.h"
#include "counters/sources.h"
#include "process/ticks.h"

/* The kernel walks through all pages for numa_maps: 10 to 20 ms at these sizes. */
#define MOST_KIB (4u << 20)
#define MOST_NS 20000000u
#define MOST_NODES 64u

static struct rw_reader reader;

/* @return whether there is a node beside node 0; -1 and errno in `error` if that cannot be told */
static int has_nodes(int *error) {
    struct rw_kept online;
    uint64_t first = 0;
    int more = -1;
    *error = rw_keep(&online, "/sys/devices/system/node/online");
    if (*error)
        return -1;
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
        rw_note_absent(series, "numa", error, "/proc/self/numa_maps");
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
    int error;
    if (rw_look_up(&reader, "/proc/self/status", "VmHWM", &kib))
        rw_note_fact(series, "peak_memory_kib", kib);
    const int nodes = has_nodes(&error);
    if (nodes < 0)
        rw_note_absent(series, "numa", error, "/sys/devices/system/node/online");
    else if (!rw_look_up(&reader, "/proc/self/status", "VmRSS", &kib))
        rw_note_absent(series, "numa", 0, "no VmRSS in /proc/self/status");
    else if (!nodes)
        note_node(series, 0, kib);
    else if (kib > MOST_KIB)
        rw_note_absent(series, "numa", 0,
                       "the process has more than 4 GiB, whose pages take too long to count");
    else
        note_nodes(series);
}
