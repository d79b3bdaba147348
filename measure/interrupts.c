/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the kernel was called by devices, and served what the network received, on each core. */
#include "measure.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line names the cores: `CPU0 CPU1 ...`, not all of those there are. */
static int columns(char *line, int *core) {
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
        const int number = strncmp(word, "CPU", 3) ? -1 : atoi(word + 3);
        if (number >= 0 && number < MEASURE_MAX_CORES && count < MEASURE_MAX_CORES)
            core[count++] = number;
    }
    return count;
}

/* Adds up the lines whose label is wanted. */
static int add_up(const char *path, int (*wanted)(const char *label), long *counts) {
    static char line[MEASURE_MAX_CORES * 12 + 4096];
    static int core[MEASURE_MAX_CORES];
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const int cores = fgets(line, sizeof line, file) ? columns(line, core) : 0;
    while (fgets(line, sizeof line, file)) {
        char *rest = NULL, *label = strtok_r(line, ": \t", &rest);
        if (!label || !wanted(label))
            continue;
        if (*rest == ':')
            rest++;
        for (int i = 0; i < cores; i++) {
            char *end;
            const long number = strtol(rest, &end, 10);
            if (end == rest)
                break;
            counts[core[i]] += number;
            rest = end;
        }
    }
    fclose(file);
    return cores > 0;
}

/* Numbers are devices' lines; timers, calls between cores and the like have names. */
static int device(const char *label) {
    return isdigit((unsigned char)*label);
}
static int network_receive(const char *label) {
    return !strcmp(label, "NET_RX");
}

int measure_interrupts(long *hard, long *soft) {
    memset(hard, 0, MEASURE_MAX_CORES * sizeof *hard);
    memset(soft, 0, MEASURE_MAX_CORES * sizeof *soft);
    return add_up("/proc/interrupts", device, hard) && add_up("/proc/softirqs", network_receive, soft);
}
