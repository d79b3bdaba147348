/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy a core is, whoever keeps it so: what the kernel does for messages is in no rank's processor time.
 */
#include "measure.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

double measure_idle_s(int core) {
    FILE *file = fopen("/proc/stat", "r");
    char line[256];
    double idle = -1;
    while (file && idle < 0 && fgets(line, sizeof line, file)) {
        int number;
        long long ticks, waiting;
        if (isdigit((unsigned char)line[3]) &&
            sscanf(line, "cpu%d %*d %*d %*d %lld %lld", &number, &ticks, &waiting) == 3 && number == core)
            idle = (double)(ticks + waiting) / (double)sysconf(_SC_CLK_TCK);
    }
    if (file)
        fclose(file);
    return idle;
}

/* How many ranks of the group are on this one's core; groups are of one machine where that matters. */
int measure_on_this_core(const struct measure_group *group, int core) {
    static int cores[MEASURE_MAX_PAIRS];
    int count = 0;
    MPI_Allgather(&core, 1, MPI_INT, cores, 1, MPI_INT, group->comm);
    for (int other = 0; other < group->size; other++)
        count += cores[other] == core;
    return count;
}
