/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GROMACS: molecular dynamics, domains and particle-mesh Ewald (Hess, Kutzner, van der Spoel & Lindahl,
 * "GROMACS 4", J. Chem. Theory Comput. 4, 2008, 435, sections III and IV).
 *
 * Domains: in each step positions of the atoms within the cut-off of a domain's lower faces go to the ranks
 * below, first in z, then in y, then in x, so that what came before travels along; where domains are shorter
 * than the cut-off, in several pulses. Forces come back in the opposite order. Atoms are spread evenly, and
 * all in a slab as thick as the cut-off are sent.
 *
 * PME: on ranks of its own, each of which gets its domains' positions and sends forces back, or on all ranks.
 * The charge grid's overlap is added up with the next rank in each dimension, the grid is transformed and
 * transformed back with all-to-alls in rows and columns of the process grid of PME, and the overlap is handed
 * back. On all ranks, atoms are taken to be where their part of the charge grid is. Energies are summed over
 * the domains every so many steps. Changes of domains, constraints across domains and dynamic load balancing
 * are not there.
 */
#include "patterns/process_grid.h"
#include "patterns/room.h"
#include "workload.h"

enum { ATOMS, BOX, CUTOFF, FOURIER, PME, SLABS, ENERGIES, OPTIONS };
enum { X, Y, Z, DIMENSIONS };
enum { TAG_POSITIONS = 1, TAG_FORCES = 2, TAG_TO_PME = 3, TAG_FROM_PME = 4, TAG_GRID = 5 };
/* Single precision: three numbers an atom, one or a complex one a point; fourth-order spreading reaches 3
 * points. */
enum { ATOM_BYTES = 12, REAL_BYTES = 4, COMPLEX_BYTES = 8, OVERLAP = 3, SUMMED = 40 };

/* Of a pair of atoms; of spreading and gathering one atom's charge on 4 x 4 x 4 points. */
static const double operations_of_pair = 40, operations_of_spreading = 64 * 6;

static const char *const no_yes[] = {"no", "yes", NULL};

static const struct workload_option options[OPTIONS] = {
    [ATOMS] = {"atoms", "in all", NULL, 1, 1 << 30, 23558},
    [BOX] = {"box", "Angstroms of the cubic box", NULL, 1, 100000, 62},
    [CUTOFF] = {"cutoff", "Angstroms", NULL, 1, 1000, 10},
    [FOURIER] = {"fourier", "points of the charge grid in each dimension", NULL, 4, 100000, 60},
    [PME] = {"pme", "ranks that only do PME; 0: all do both", NULL, 0, 1 << 24, 0},
    [SLABS] = {"slabs", "whether the charge grid is cut in one dimension only", no_yes, 0, 1, 0},
    [ENERGIES] = {"energies", "steps between sums of energies", NULL, 1, 1000000, 10},
};

struct gromacs {
    struct comm *comm;
    const struct problem *problem;
    int domains, pme_ranks;
    int domain, pme; /* number of this rank's domain and of it among those that do PME, or -1 */
    int *rank_of_domain, *rank_of_pme;
    struct process_grid grid, pme_grid;
    int group_of_domains, group_of_row, group_of_column;
};

static int ceiling(int64_t a, int64_t b) {
    return (int)((a + b - 1) / b);
}

static int domains_of(const struct problem *problem, int ranks) {
    return ranks - (int)problem->option[PME];
}

static void gromacs_grid(const struct problem *problem, int ranks, int grid[3]) {
    grid_cut(domains_of(problem, ranks), DIMENSIONS, grid);
}

/* Number among those of PME of the rank that does it for a domain: as even as can be. */
static int pme_of_domain(const struct gromacs *g, int domain) {
    return (int)(((int64_t)domain * g->pme_ranks + g->pme_ranks / 2) / g->domains);
}

/* A rank of PME's own follows the domains it works for. */
static void number_ranks(struct gromacs *g) {
    int size = g->comm->size, is_apart = g->problem->option[PME] > 0, rank = 0;
    g->domain = g->pme = -1;
    g->domains = domains_of(g->problem, size);
    g->pme_ranks = is_apart ? size - g->domains : size;
    g->rank_of_domain = room((size_t)g->domains, sizeof *g->rank_of_domain);
    g->rank_of_pme = room((size_t)g->pme_ranks, sizeof *g->rank_of_pme);
    for (int domain = 0, pme = 0; domain < g->domains; domain++) {
        if (rank == g->comm->rank)
            g->domain = domain;
        g->rank_of_domain[domain] = rank++;
        int is_last = domain + 1 == g->domains || pme_of_domain(g, domain + 1) > pme;
        if (!is_apart || is_last) {
            int its = is_apart ? rank++ : rank - 1;
            if (its == g->comm->rank)
                g->pme = pme;
            g->rank_of_pme[pme++] = its;
        }
    }
}

static void set_up(struct gromacs *g, struct comm *comm, const struct problem *problem) {
    int extent[3], nobody = comm->size;
    *g = (struct gromacs){.comm = comm, .problem = problem};
    number_ranks(g);
    gromacs_grid(problem, comm->size, extent);
    g->grid = grid_of(extent, g->domain < 0 ? 0 : g->domain, 1);
    grid_cut(g->pme_ranks, problem->option[SLABS] ? 1 : 2, extent);
    g->pme_grid = grid_of(extent, g->pme < 0 ? 0 : g->pme, 1);
    g->group_of_domains = comm_split(comm, g->domain >= 0 ? 0 : 1, comm->rank);
    int in_pme = g->pme >= 0;
    g->group_of_row = comm_split(comm, in_pme ? g->pme_grid.place[X] : nobody, comm->rank);
    g->group_of_column = comm_split(comm, in_pme ? g->pme_grid.place[Y] : nobody, comm->rank);
}

static void exchange(struct comm *comm, int to, int from, int tag, int64_t bytes) {
    int request = comm_irecv(comm, from, tag, COMM_BYTE, bytes, bytes);
    comm_send(comm, to, tag, COMM_BYTE, bytes);
    comm_wait(comm, request);
}

static int64_t atoms_of_domain(const struct gromacs *g) {
    return ceiling(g->problem->option[ATOMS], g->domains);
}

/* Positions of this many atoms go to the next lower domain in this dimension. */
struct pulse {
    int dimension;
    int64_t atoms;
};

/* In the order of their sending. @return how many; `pulses` is the caller's to free */
static int find_pulses(const struct gromacs *g, struct pulse **pulses) {
    int64_t box = g->problem->option[BOX], cutoff = g->problem->option[CUTOFF];
    double known = (double)g->problem->option[ATOMS] / g->domains;
    int count = 0;
    *pulses = room((size_t)g->grid.extent[X] + (size_t)g->grid.extent[Y] + (size_t)g->grid.extent[Z],
                   sizeof **pulses);
    for (int d = Z; d >= X; d--) {
        int extent = g->grid.extent[d];
        double sent = 0;
        /* Lengths in units of which a domain has `box`. */
        for (int64_t left = cutoff * extent; extent > 1 && left > 0; left -= box) {
            double atoms = known * (double)(left < box ? left : box) / (double)box;
            (*pulses)[count++] = (struct pulse){d, (int64_t)(atoms + 0.5)};
            sent += atoms;
        }
        known += sent;
    }
    return count;
}

static void send_positions(const struct gromacs *g, const struct pulse *pulses, int count) {
    for (int i = 0; i < count; i++)
        exchange(g->comm, g->rank_of_domain[grid_along(&g->grid, pulses[i].dimension, -1)],
                 g->rank_of_domain[grid_along(&g->grid, pulses[i].dimension, 1)], TAG_POSITIONS,
                 pulses[i].atoms * ATOM_BYTES);
}

static void send_forces(const struct gromacs *g, const struct pulse *pulses, int count) {
    for (int i = count - 1; i >= 0; i--)
        exchange(g->comm, g->rank_of_domain[grid_along(&g->grid, pulses[i].dimension, 1)],
                 g->rank_of_domain[grid_along(&g->grid, pulses[i].dimension, -1)], TAG_FORCES,
                 pulses[i].atoms * ATOM_BYTES);
}

/* Points that spreading reaches beyond this rank's part go to the next rank, or potentials there come back.
 */
static void exchange_overlap(const struct gromacs *g, int direction) {
    int64_t points = g->problem->option[FOURIER];
    const int *extent = g->pme_grid.extent;
    int64_t across[] = {ceiling(points, extent[Y]) * points, ceiling(points, extent[X]) * points};
    for (int i = 0; i < 2; i++) {
        int d = direction > 0 ? Y - i : i;
        if (extent[d] > 1)
            exchange(g->comm, g->rank_of_pme[grid_along(&g->pme_grid, d, direction)],
                     g->rank_of_pme[grid_along(&g->pme_grid, d, -direction)], TAG_GRID,
                     OVERLAP * across[d] * REAL_BYTES);
    }
}

/* Blocks are as large as the largest, as of uneven parts. */
static void transpose(const struct gromacs *g, int dimension) {
    int64_t points = g->problem->option[FOURIER], half = points / 2 + 1;
    const int *extent = g->pme_grid.extent;
    if (extent[dimension] == 1)
        return;
    int64_t block =
        dimension == Y
            ? (int64_t)ceiling(points, extent[X]) * ceiling(points, extent[Y]) * ceiling(half, extent[Y])
            : (int64_t)ceiling(points, extent[X]) * ceiling(points, extent[X]) * ceiling(half, extent[Y]);
    comm_alltoall(g->comm, dimension == Y ? g->group_of_row : g->group_of_column, COMM_BYTE,
                  block * COMPLEX_BYTES);
}

static double log2_of(int64_t points) {
    double bits = 0;
    for (int64_t left = points; left > 1; left /= 2)
        bits++;
    return bits;
}

static void do_pme(const struct gromacs *g) {
    int64_t points = g->problem->option[FOURIER];
    double all = (double)points * (double)points * (double)points / g->pme_ranks;
    comm_compute(g->comm, (double)g->problem->option[ATOMS] / g->pme_ranks * operations_of_spreading);
    exchange_overlap(g, 1);
    /* Each of the six passes of one-dimensional transforms of real data, forth and back. */
    double pass = 2.5 * all * log2_of(points);
    comm_compute(g->comm, pass);
    transpose(g, Y);
    comm_compute(g->comm, pass);
    transpose(g, X);
    comm_compute(g->comm, 2 * pass);
    transpose(g, X);
    comm_compute(g->comm, pass);
    transpose(g, Y);
    comm_compute(g->comm, pass);
    exchange_overlap(g, -1);
    comm_compute(g->comm, (double)g->problem->option[ATOMS] / g->pme_ranks * operations_of_spreading);
}

/* Positions of all the domains a rank of PME's own works for, and their forces back. */
static void serve_domains(const struct gromacs *g) {
    int64_t bytes = atoms_of_domain(g) * ATOM_BYTES;
    for (int domain = 0; domain < g->domains; domain++)
        if (pme_of_domain(g, domain) == g->pme)
            comm_recv(g->comm, g->rank_of_domain[domain], TAG_TO_PME, COMM_BYTE, bytes, bytes);
    do_pme(g);
    for (int domain = 0; domain < g->domains; domain++)
        if (pme_of_domain(g, domain) == g->pme)
            comm_send(g->comm, g->rank_of_domain[domain], TAG_FROM_PME, COMM_BYTE, bytes);
}

static void do_domain(const struct gromacs *g, const struct pulse *pulses, int count, int step) {
    int is_apart = g->problem->option[PME] > 0;
    int64_t bytes = atoms_of_domain(g) * ATOM_BYTES;
    double cutoff = (double)g->problem->option[CUTOFF], box = (double)g->problem->option[BOX];
    double atoms = (double)g->problem->option[ATOMS];
    double neighbours = 4.0 / 3 * 3.14159265358979 * cutoff * cutoff * cutoff * atoms / (box * box * box);
    int its = is_apart ? g->rank_of_pme[pme_of_domain(g, g->domain)] : 0;
    if (is_apart)
        comm_send(g->comm, its, TAG_TO_PME, COMM_BYTE, bytes);
    send_positions(g, pulses, count);
    comm_compute(g->comm, atoms / g->domains * neighbours / 2 * operations_of_pair);
    if (!is_apart)
        do_pme(g);
    send_forces(g, pulses, count);
    if (is_apart)
        comm_recv(g->comm, its, TAG_FROM_PME, COMM_BYTE, bytes, bytes);
    if (step % g->problem->option[ENERGIES] == 0)
        comm_allreduce(g->comm, g->group_of_domains, COMM_DOUBLE, SUMMED, COMM_SUM);
}

static void gromacs_run(struct comm *comm, const struct problem *problem) {
    struct gromacs g;
    struct pulse *pulses;
    set_up(&g, comm, problem);
    int count = find_pulses(&g, &pulses);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int step = 1; step <= problem->iterations; step++) {
        if (g.domain >= 0)
            do_domain(&g, pulses, count, step);
        else
            serve_domains(&g);
    }
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
    free(pulses);
    free(g.rank_of_pme);
    free(g.rank_of_domain);
}

static int gromacs_iterations(const struct problem *problem) {
    (void)problem;
    return 100;
}

static int gromacs_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    if (problem->option[PME] >= ranks || 2 * problem->option[PME] > ranks) {
        snprintf(why, why_bytes, "of %d ranks at most half do only PME, not `%d`", ranks,
                 (int)problem->option[PME]);
        return 0;
    }
    int grid[3], pme = problem->option[PME] ? (int)problem->option[PME] : ranks;
    gromacs_grid(problem, ranks, grid);
    for (int d = 0; d < DIMENSIONS; d++) {
        if (grid[d] > 1 && problem->option[CUTOFF] * grid[d] > problem->option[BOX] * (grid[d] - 1)) {
            snprintf(why, why_bytes, "the cut-off of `%d` Angstroms reaches around a box of %d",
                     (int)problem->option[CUTOFF], (int)problem->option[BOX]);
            return 0;
        }
    }
    grid_cut(pme, problem->option[SLABS] ? 1 : 2, grid);
    if (grid[X] * OVERLAP > problem->option[FOURIER]) {
        snprintf(why, why_bytes, "a charge grid of `%d` points is not cut into %d parts of %d at least",
                 (int)problem->option[FOURIER], grid[X], OVERLAP);
        return 0;
    }
    return 1;
}

const struct workload workload_gromacs = {
    .name = "gromacs",
    .title = "GROMACS: molecular dynamics by domains, with particle-mesh Ewald",
    .pattern = "pulses to the next domains; all-to-all in rows and columns of PME ranks",
    .classes = "",
    .options = options,
    .option_count = OPTIONS,
    .iterations = gromacs_iterations,
    .grid = gromacs_grid,
    .accepts = gromacs_accepts,
    .run = gromacs_run,
};
