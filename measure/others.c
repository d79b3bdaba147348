/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of each machine others used so far. What is not idle, less the processor time of all ranks there
 * and of the processes that they descend from (launchers, and who called them), is somebody else's; so is
 * what the hypervisor gave to others (steal). RANKWISE_HELPERS names a file that begins with the processor
 * time, 64 bits of nanoseconds, of what else works for the ranks: the switch of emulated nodes. Reported
 * after each point by one rank a machine: ranks of emulated nodes share one.
 */
#include "measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_ANCESTORS 256

static MPI_Comm machine = MPI_COMM_NULL;        /* the ranks that one kernel runs */
static int ancestors[MOST_ANCESTORS], descents; /* of the ranks of this machine, each once */
static struct used {
    double busy, stolen, launchers; /* in ticks */
    double ranks;
    double time;
    int cores; /* 0: the kernel does not say */
} start;

static int of_this_boot(void) {
    char boot[64] = "";
    uint32_t hash = 2166136261u;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file) {
        if (!fgets(boot, sizeof boot, file))
            boot[0] = 0;
        fclose(file);
    }
    if (!boot[0])
        gethostname(boot, sizeof boot - 1);
    for (const char *c = boot; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    return (int)(hash & 0x7fffffff);
}

/* Processor time of a process, in ticks, and its parent; 0 if it cannot be seen. */
static int of_process(int pid, double *ticks, int *parent) {
    char path[64], text[1024];
    unsigned long user, system;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    const char *rest = strrchr(text, ')');
    if (!rest ||
        sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", parent, &user, &system) != 3)
        return 0;
    *ticks = (double)(user + system);
    return 1;
}

/* Each rank of this machine tells of its line in turn; processes that are in several are kept once. */
static void find_ancestors(void) {
    int size, rank;
    MPI_Comm_size(machine, &size);
    MPI_Comm_rank(machine, &rank);
    for (int teller = 0; teller < size; teller++) {
        int line[MOST_ANCESTORS] = {0}, parent;
        double ticks;
        int pid = (int)getppid();
        for (int i = 0; rank == teller && i < MOST_ANCESTORS && pid > 1 && of_process(pid, &ticks, &parent);
             i++) {
            line[i] = pid;
            pid = parent;
        }
        MPI_Bcast(line, MOST_ANCESTORS, MPI_INT, teller, machine);
        for (int i = 0; i < MOST_ANCESTORS && line[i]; i++) {
            int known = 0;
            for (int k = 0; k < descents; k++)
                known |= ancestors[k] == line[i];
            if (!known && descents < MOST_ANCESTORS)
                ancestors[descents++] = line[i];
        }
    }
}

/* Processor time of what works for the ranks and is none of their ancestors, in ticks. */
static double of_helpers(void) {
    const char *path = getenv("RANKWISE_HELPERS");
    FILE *file = path ? fopen(path, "rb") : NULL;
    uint64_t ns = 0;
    if (file && fread(&ns, sizeof ns, 1, file) != 1)
        ns = 0;
    if (file)
        fclose(file);
    return 1e-9 * (double)ns * (double)sysconf(_SC_CLK_TCK);
}

/* Of all cores together. */
static void of_machine(struct used *used) {
    char line[512];
    FILE *file = fopen("/proc/stat", "r");
    int known = 0;
    while (file && fgets(line, sizeof line, file) && !strncmp(line, "cpu", 3)) {
        double user, nice, system, hard, soft;
        if (line[3] != ' ')
            used->cores++;
        else if (sscanf(line, "cpu %lf %lf %lf %*f %*f %lf %lf %lf", &user, &nice, &system, &hard, &soft,
                        &used->stolen) == 6) {
            used->busy = user + nice + system + hard + soft;
            known = 1;
        }
    }
    if (file)
        fclose(file);
    if (!known)
        used->cores = 0;
}

/* Collective over the machine; its first rank gets the answer. */
static struct used now(void) {
    struct used used = {.time = measure_now()};
    struct timespec mine;
    int rank;
    MPI_Comm_rank(machine, &rank);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mine);
    const double own = (double)mine.tv_sec + 1e-9 * (double)mine.tv_nsec;
    MPI_Reduce(&own, &used.ranks, 1, MPI_DOUBLE, MPI_SUM, 0, machine);
    for (int i = 0; i < descents && rank == 0; i++) {
        double ticks;
        int parent;
        if (of_process(ancestors[i], &ticks, &parent))
            used.launchers += ticks;
    }
    if (rank == 0) {
        used.launchers += of_helpers();
        of_machine(&used);
    }
    return used;
}

void measure_others_start(void) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, of_this_boot(), rank, &machine);
    find_ancestors();
    start = now();
}

void measure_others(const struct measure_step *step, long bytes) {
    const struct used used = now();
    const double per_s = (double)sysconf(_SC_CLK_TCK);
    int rank, world;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    if (rank || !used.cores || !start.cores)
        return;
    const double others =
        (used.busy - start.busy - used.launchers + start.launchers) / per_s - used.ranks + start.ranks;
    measure_line("others %d %ld %d %.4f %d %.4f %.4f", step->number, bytes, world, used.time - start.time,
                 used.cores, others, (used.stolen - start.stolen) / per_s);
}
