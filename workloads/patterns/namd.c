/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NAMD: molecular dynamics, space cut into patches of about the cut-off's length that are many more than
 * ranks (Phillips, Zheng, Kumar & Kale, "NAMD: Biomolecular Simulation on Thousands of Processors", SC 2002).
 *
 * Patches are given to ranks by recursive bisection of the patch grid. The forces between two neighbouring
 * patches are computed where that patch is at home which has the smaller coordinate of both in each
 * dimension. So a patch has proxies on the ranks of the seven patches below it: in each step they get its
 * atoms' positions, a message each, and send forces back. Usual values are those of the benchmark ApoA1. Full
 * electrostatics, reductions and load balancing are not there.
 */
#include "patterns/room.h"
#include "workload.h"

enum { ATOMS, X, Y, Z, PATCH, BYTES, OPTIONS };
enum { DIMENSIONS = 3, TAG_POSITIONS = 1, TAG_FORCES = 2, BELOW = 7 };

/* Of one pair of atoms. */
static const double operations_of_pair = 40;

static const struct workload_option options[OPTIONS] = {
    [ATOMS] = {"atoms", "in all", NULL, 1, 1 << 30, 92224},
    [X] = {"x", "Angstroms of the box, which is periodic", NULL, 1, 100000, 108},
    [Y] = {"y", "likewise", NULL, 1, 100000, 108},
    [Z] = {"z", "likewise", NULL, 1, 100000, 78},
    [PATCH] = {"patch", "Angstroms of a patch at least, the cut-off", NULL, 1, 100000, 12},
    [BYTES] = {"bytes", "of an atom in a message, of positions or forces", NULL, 1, 1 << 10, 24},
};

struct patches {
    int extent[DIMENSIONS], count;
    int *home; /* rank of each */
};

static void find_extent(const struct problem *problem, int extent[DIMENSIONS]) {
    for (int d = 0; d < DIMENSIONS; d++) {
        int64_t fit = problem->option[X + d] / problem->option[PATCH];
        extent[d] = fit > 0 ? (int)fit : 1;
    }
}

static int place_of(const struct patches *patches, int patch, int d) {
    for (int other = DIMENSIONS - 1; other > d; other--)
        patch /= patches->extent[other];
    return patch % patches->extent[d];
}

/* Those of `members`, in order of their place in one dimension; equal ones stay as they are. */
static void sort_along(const struct patches *patches, int d, int *members, int count) {
    int *sorted = room((size_t)count, sizeof *sorted), used = 0;
    for (int place = 0; place < patches->extent[d]; place++)
        for (int i = 0; i < count; i++)
            if (place_of(patches, members[i], d) == place)
                sorted[used++] = members[i];
    for (int i = 0; i < count; i++)
        members[i] = sorted[i];
    free(sorted);
}

static int longest_dimension(const struct patches *patches, const int *members, int count) {
    int longest = 0, most = -1;
    for (int d = 0; d < DIMENSIONS; d++) {
        int first = patches->extent[d], last = 0;
        for (int i = 0; i < count; i++) {
            int place = place_of(patches, members[i], d);
            first = place < first ? place : first;
            last = place > last ? place : last;
        }
        if (last - first > most) {
            most = last - first;
            longest = d;
        }
    }
    return longest;
}

/* Cut across the longest dimension, so that both halves of the ranks have their share, and go on with each.
 */
static void bisect(struct patches *patches, int *members, int count, int first_rank, int ranks) {
    if (ranks == 1) {
        for (int i = 0; i < count; i++)
            patches->home[members[i]] = first_rank;
        return;
    }
    int left_ranks = ranks / 2, left = (int)((int64_t)count * left_ranks / ranks);
    sort_along(patches, longest_dimension(patches, members, count), members, count);
    bisect(patches, members, left, first_rank, left_ranks);
    bisect(patches, members + left, count - left, first_rank + left_ranks, ranks - left_ranks);
}

static struct patches set_up(const struct problem *problem, int ranks) {
    struct patches patches;
    find_extent(problem, patches.extent);
    patches.count = patches.extent[0] * patches.extent[1] * patches.extent[2];
    patches.home = room((size_t)patches.count, sizeof *patches.home);
    int *members = room((size_t)patches.count, sizeof *members);
    for (int i = 0; i < patches.count; i++)
        members[i] = i;
    bisect(&patches, members, patches.count, 0, ranks);
    free(members);
    return patches;
}

static int64_t atoms_of(const struct problem *problem, const struct patches *patches, int patch) {
    int64_t atoms = problem->option[ATOMS];
    return (patch + 1) * atoms / patches->count - patch * atoms / patches->count;
}

/* A message of a patch's atoms from its home to a rank that has a proxy. */
struct proxy {
    int patch, rank;
};

/* All proxies, by patch and then by rank. @return how many; `proxies` is the caller's to free */
static int find_proxies(const struct patches *patches, int ranks, struct proxy **proxies) {
    int count = 0;
    unsigned char *has = room((size_t)ranks, 1);
    *proxies = room((size_t)patches->count * BELOW, sizeof **proxies);
    for (int patch = 0; patch < patches->count; patch++) {
        for (int rank = 0; rank < ranks; rank++)
            has[rank] = 0;
        for (int below = 1; below <= BELOW; below++) {
            int other = 0;
            for (int d = 0; d < DIMENSIONS; d++) {
                int extent = patches->extent[d], place = place_of(patches, patch, d);
                other = other * extent + (place + extent - (below >> d & 1)) % extent;
            }
            has[patches->home[other]] = 1;
        }
        for (int rank = 0; rank < ranks; rank++)
            if (has[rank] && rank != patches->home[patch])
                (*proxies)[count++] = (struct proxy){patch, rank};
    }
    free(has);
    return count;
}

/* Positions go from homes to proxies, forces back: each rank posts its receives, begins its sends, waits for
 * all. */
static void exchange(struct comm *comm, const struct problem *problem, const struct patches *patches,
                     const struct proxy *proxies, int count, int tag, int *requests) {
    int posted = 0;
    for (int sending = 0; sending < 2; sending++) {
        for (int i = 0; i < count; i++) {
            int home = patches->home[proxies[i].patch];
            int from = tag == TAG_POSITIONS ? home : proxies[i].rank;
            int to = tag == TAG_POSITIONS ? proxies[i].rank : home;
            int64_t bytes = atoms_of(problem, patches, proxies[i].patch) * problem->option[BYTES];
            if (sending && from == comm->rank)
                requests[posted++] = comm_isend(comm, to, tag, COMM_BYTE, bytes);
            else if (!sending && to == comm->rank)
                requests[posted++] = comm_irecv(comm, from, tag, COMM_BYTE, bytes, bytes);
        }
    }
    comm_waitall(comm, requests, posted);
}

/* Pairs of a patch's atoms with each other, and of 13 pairs of patches: as many as there are for each patch.
 */
static double operations_of(const struct problem *problem, const struct patches *patches, int rank) {
    double pairs = 0;
    for (int patch = 0; patch < patches->count; patch++) {
        double atoms = (double)atoms_of(problem, patches, patch);
        if (patches->home[patch] == rank)
            pairs += atoms * atoms / 2 + 13 * atoms * atoms;
    }
    return pairs * operations_of_pair;
}

static void namd_run(struct comm *comm, const struct problem *problem) {
    struct patches patches = set_up(problem, comm->size);
    struct proxy *proxies;
    int count = find_proxies(&patches, comm->size, &proxies);
    int *requests = room((size_t)count, sizeof *requests);
    double operations = operations_of(problem, &patches, comm->rank);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int step = 0; step < problem->iterations; step++) {
        exchange(comm, problem, &patches, proxies, count, TAG_POSITIONS, requests);
        comm_compute(comm, operations);
        exchange(comm, problem, &patches, proxies, count, TAG_FORCES, requests);
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
    free(requests);
    free(proxies);
    free(patches.home);
}

static int namd_iterations(const struct problem *problem) {
    (void)problem;
    return 20;
}

static void namd_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = ranks;
    grid[1] = grid[2] = 1;
}

static int namd_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    int extent[DIMENSIONS];
    find_extent(problem, extent);
    int64_t patches = (int64_t)extent[0] * extent[1] * extent[2];
    if (patches > 1 << 24) {
        snprintf(why, why_bytes, "a box of `%lld` patches is too large", (long long)patches);
        return 0;
    }
    if (ranks > patches) {
        snprintf(why, why_bytes, "a box of %lld patches is for as many ranks at most, not for `%d`",
                 (long long)patches, ranks);
        return 0;
    }
    return 1;
}

const struct workload workload_namd = {
    .name = "namd",
    .title = "NAMD: molecular dynamics by patches and proxies, as of ApoA1",
    .pattern = "many to many: positions of patches to where they are used, forces back",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = namd_iterations,
    .grid = namd_grid,
    .accepts = namd_accepts,
    .run = namd_run,
};
