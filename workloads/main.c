/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI program around one workload, chosen when it is compiled: -DWORKLOAD=workload_cg. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_dry.h"
#include "comm_mpi.h"
#include "list.h"
#include "work.h"

static const struct workload *const workload = &WORKLOAD;

struct options {
    char problem_class;
    int iterations; /* 0: as the class has */
    struct work_amount amount;
    const char *amount_text;
    size_t working_set;
    enum pattern_extent check;
    int help;
};

static void print_help(FILE *to) {
    fprintf(
        to,
        "%s: %s\n\n"
        "The communication of the benchmark's MPI version: peers, sizes, tags, order and iterations.\n"
        "%s.\n"
        "The computation is not the benchmark's arithmetic: in each place where it computes, a share of the\n"
        "published number of floating-point operations is done on an array, and received data are "
        "checked.\n\n"
        "usage: mpiexec -n RANKS %s [OPTIONS]\n\n"
        "  --class %c               problem class, one of %s (default S)\n"
        "  --compute AMOUNT        0.01x: this share of the operations (default); 2s, 300ms: as many as "
        "take\n"
        "                          this long in the timed section on an idle core (calibrated on each rank)\n"
        "  --working-set BYTES     array the operations stream over (default 32768)\n"
        "  --check full|ends       what is written and checked of each message (default full)\n"
        "  --iterations N          instead of the class's number\n"
        "  --help                  this text\n\n"
        "RANKS is a power of two. Prints one line; exit status 0 if all data were right, 1 if not or if the\n"
        "ranks do not fit, 2 for a wrong option.\n",
        workload->name, workload->title, workload->pattern, workload->name, workload->classes[0],
        workload->classes);
}

/* Help needs no MPI_Init and no launcher; under one, the first rank is known from what launchers set. */
static void print_help_once(void) {
    static const char *const variables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *rank = getenv(variables[i]);
        if (rank && strcmp(rank, "0") != 0)
            return;
    }
    print_help(stdout);
}

static int parse_count(const char *text, long long most, long long *value) {
    char *behind;
    errno = 0;
    *value = strtoll(text, &behind, 10);
    return errno == 0 && behind != text && *behind == '\0' && *value > 0 && *value <= most;
}

/* @return NULL, or the option whose value is wrong */
static const char *parse_option(struct options *options, const char *name, const char *value) {
    long long number;
    if (strcmp(name, "--class") == 0 && strlen(value) == 1) {
        options->problem_class = value[0];
    } else if (strcmp(name, "--compute") == 0 && work_parse(value, &options->amount)) {
        options->amount_text = value;
    } else if (strcmp(name, "--working-set") == 0 && parse_count(value, 1LL << 40, &number) && number >= 8) {
        options->working_set = (size_t)number;
    } else if (strcmp(name, "--iterations") == 0 && parse_count(value, 1000000000, &number)) {
        options->iterations = (int)number;
    } else if (strcmp(name, "--check") == 0 && strcmp(value, "full") == 0) {
        options->check = PATTERN_FULL;
    } else if (strcmp(name, "--check") == 0 && strcmp(value, "ends") == 0) {
        options->check = PATTERN_ENDS;
    } else {
        return name;
    }
    return NULL;
}

/* @return 1, or 0 and a sentence in `why` */
static int parse(int argc, char **argv, struct options *options, char *why, size_t why_bytes) {
    static const char *const known[] = {"--class", "--compute", "--working-set", "--iterations", "--check"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            options->help = 1;
            return 1;
        }
        int found = 0;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            found |= strcmp(argv[i], known[k]) == 0;
        if (!found) {
            snprintf(why, why_bytes, "%s has no option `%s`", workload->name, argv[i]);
            return 0;
        }
        if (i + 1 == argc) {
            snprintf(why, why_bytes, "`%s` needs a value", argv[i]);
            return 0;
        }
        if (parse_option(options, argv[i], argv[i + 1])) {
            snprintf(why, why_bytes, "`%s` is not a value of `%s`", argv[i + 1], argv[i]);
            return 0;
        }
        i++;
    }
    return 1;
}

/* All ranks leave; rank 0 says why. */
static int leave(int rank, int status, const char *why, const char *hint) {
    if (rank == 0)
        fprintf(stderr, "error: %s\n\nhint: %s\n", why, hint);
    MPI_Finalize();
    return status;
}

/* Rank 0's operations stand for those of all ranks: a rank with less of the original to do also does less
 * here. */
static double share_of_operations(const struct options *options, double rate, int size) {
    if (options->amount.seconds < 0)
        return options->amount.factor;
    double operations = comm_dry_operations(workload, options->problem_class, options->iterations, 0, size);
    return options->amount.seconds * rate / operations;
}

static int report(const struct comm_mpi *mpi, const struct options *options) {
    if (mpi->errors)
        fprintf(stderr, "error: rank %d: %s (%llu such errors)\n", mpi->comm.rank, mpi->first_error,
                (unsigned long long)mpi->errors);
    if (mpi->comm.rank == 0) {
        int grid[3];
        workload->grid(options->problem_class, mpi->comm.size, grid);
        printf("%s class=%c ranks=%d grid=%dx%dx%d iterations=%d compute=%s ", workload->name,
               options->problem_class, mpi->comm.size, grid[0], grid[1], grid[2], options->iterations,
               options->amount_text);
        printf("time_s=%.6f computation_s=%.6f verified=%s\n", mpi->slowest_s, mpi->compute_s,
               mpi->errors ? "no" : "yes");
    }
    return mpi->errors ? 1 : 0;
}

int main(int argc, char **argv) {
    struct options options = {
        .problem_class = 'S', .amount = {0.01, -1}, .amount_text = "0.01x", .working_set = 32768};
    char why[256] = "";
    int understood = parse(argc, argv, &options, why, sizeof why);
    if (understood && options.help) {
        print_help_once();
        return 0;
    }
    int has_memory = understood && work_set_up(options.working_set);
    double rate = has_memory && options.amount.seconds >= 0 ? work_rate() : 0;

    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char hint[128];
    snprintf(hint, sizeof hint, "%s --help", workload->name);
    if (!understood)
        return leave(rank, 2, why, hint);
    if (!has_memory) {
        snprintf(why, sizeof why, "there is no memory for a working set of `%zu` bytes", options.working_set);
        return leave(rank, 1, why, hint);
    }
    if (!workload_accepts(workload, options.problem_class, size, why, sizeof why)) {
        snprintf(hint, sizeof hint, "mpiexec -n %d %s --class S", 1 << log2_floor(size < 1024 ? size : 1024),
                 workload->name);
        return leave(rank, 1, why, hint);
    }
    if (options.iterations == 0)
        options.iterations = workload->iterations(options.problem_class);

    struct comm_mpi mpi;
    comm_mpi_set_up(&mpi, options.check, share_of_operations(&options, rate, size));
    workload->run(&mpi.comm, options.problem_class, options.iterations);
    int status = report(&mpi, &options);
    comm_mpi_tear_down(&mpi);
    MPI_Finalize();
    return status;
}
