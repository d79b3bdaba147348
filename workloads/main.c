/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI program around one workload, chosen when it is compiled: -DWORKLOAD=workload_cg. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_dry.h"
#include "command_line.h"
#include "mpi/comm_mpi.h"
#include "work.h"
#include "workload.h"

extern const struct workload WORKLOAD;
static const struct workload *const workload = &WORKLOAD;

/* Help needs no MPI_Init and no launcher; under one, the first rank is known from what launchers set. */
static void print_help_once(void) {
    static const char *const variables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *rank = getenv(variables[i]);
        if (rank && strcmp(rank, "0") != 0)
            return;
    }
    command_line_help(workload, stdout);
}

/* All ranks leave; rank 0 says why. */
static int leave(int rank, int status, const char *why, const char *hint) {
    if (rank == 0)
        fprintf(stderr, "error: %s\n\nhint: %s\n", why, hint);
    MPI_Finalize();
    return status;
}

/* A line that works, on the most ranks that the smallest problem takes of those there are. */
static void suggest(int size, char *hint, size_t hint_bytes) {
    char why[256];
    struct problem smallest = workload_problem(workload, workload->classes[0] ? workload->classes[0] : '-');
    for (int ranks = size < 1024 ? size : 1024; ranks > 0; ranks--)
        if (workload_accepts(workload, &smallest, ranks, why, sizeof why)) {
            snprintf(hint, hint_bytes,
                     workload->classes[0] ? "mpiexec -n %d %s --class %c" : "mpiexec -n %d %s", ranks,
                     workload->name, workload->classes[0]);
            return;
        }
}

/* Rank 0's operations stand for those of all ranks: a rank with less of the original to do also does less
 * here. */
static double share_of_operations(const struct command_line *line, double rate, int size) {
    if (line->amount.seconds < 0)
        return line->amount.factor;
    double operations = comm_dry_operations(workload, &line->problem, 0, size);
    return operations > 0 ? line->amount.seconds * rate / operations : 0;
}

static int report(const struct comm_mpi *mpi, const struct command_line *line) {
    if (mpi->errors)
        fprintf(stderr, "error: rank %d: %s (%llu such errors)\n", mpi->comm.rank, mpi->first_error,
                (unsigned long long)mpi->errors);
    if (mpi->comm.rank == 0) {
        int grid[3];
        workload->grid(&line->problem, mpi->comm.size, grid);
        fputs(workload->name, stdout);
        if (workload->classes[0])
            printf(" class=%c", line->problem.problem_class);
        printf(" ranks=%d grid=%dx%dx%d", mpi->comm.size, grid[0], grid[1], grid[2]);
        command_line_options(workload, &line->problem, stdout);
        printf(" iterations=%d compute=%s time_s=%.6f computation_s=%.6f verified=%s\n",
               line->problem.iterations, line->amount_text, mpi->slowest_s, mpi->compute_s,
               mpi->errors ? "no" : "yes");
    }
    return mpi->errors ? 1 : 0;
}

int main(int argc, char **argv) {
    struct command_line line;
    char why[256] = "";
    int understood = command_line_parse(workload, argc, argv, &line, why, sizeof why);
    if (understood && line.help) {
        print_help_once();
        return 0;
    }
    int has_memory = understood && work_set_up(line.working_set);
    double rate = has_memory && line.amount.seconds >= 0 ? work_rate() : 0;

    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char hint[128];
    snprintf(hint, sizeof hint, "%s --help", workload->name);
    if (!understood)
        return leave(rank, 2, why, hint);
    if (!has_memory) {
        snprintf(why, sizeof why, "there is no memory for a working set of `%zu` bytes", line.working_set);
        return leave(rank, 1, why, hint);
    }
    if (!workload_accepts(workload, &line.problem, size, why, sizeof why)) {
        suggest(size, hint, sizeof hint);
        return leave(rank, 1, why, hint);
    }
    if (line.problem.iterations == 0)
        line.problem.iterations = workload->iterations(&line.problem);

    struct comm_mpi mpi;
    comm_mpi_set_up(&mpi, line.check, share_of_operations(&line, rate, size));
    workload->run(&mpi.comm, &line.problem);
    int status = report(&mpi, &line);
    comm_mpi_tear_down(&mpi);
    MPI_Finalize();
    return status;
}
