/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CG: the smallest eigenvalue of a sparse matrix by inverse iteration, each step 25 conjugate-gradient
 * iterations.
 *
 * The matrix of order n is cut into a grid of rows x columns processes (columns = rows or 2 rows; ranks along
 * a row). A matrix-vector product leaves each process with a part of its row's segment of the result: the
 * processes of a row sum their parts by pairwise exchange (recursive halving of the distance, whole
 * segments), then each process swaps its piece with its transpose partner, so that the result lies by columns
 * as the next product needs it. Scalars are summed over a row by the same pairwise exchange, largest distance
 * first, without collective calls.
 *
 * Described in Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007, and "The NAS Parallel
 * Benchmarks 2.0", NAS-95-020; sizes, tags and order are those of the MPI version 3.3.
 */
#include "nas.h"

enum { CG_STEPS = 25, MAX_STAGES = 32 };

static const struct cg_class {
    char letter;
    int order;
    int nonzeros; /* of a generating vector: the matrix has about order * nonzeros * (nonzeros + 1) */
    int iterations;
} classes[] = {
    {'S', 1400, 7, 15},   {'W', 7000, 8, 15},    {'A', 14000, 11, 15},
    {'B', 75000, 13, 75}, {'C', 150000, 15, 75}, {'D', 1500000, 21, 100},
};

static const struct cg_class *find_class(char letter) {
    const struct cg_class *found = classes;
    while (found->letter != letter)
        found++;
    return found;
}

/* One stage of the exchange within a row of processes. */
struct stage {
    int partner;
    int64_t sent, received; /* doubles, when a segment is summed */
};

struct cg {
    struct comm *comm;
    int stages;
    struct stage stage[MAX_STAGES]; /* [0] is the largest distance */
    int transpose_partner;
    int64_t piece;   /* doubles of the row segment that go to the transpose partner */
    int64_t columns; /* doubles of a vector laid out by columns */
    double product_operations;
};

/* Length of part `index` of `total` elements cut into `parts`, the longer parts first. */
static int64_t part_length(int64_t total, int parts, int index) {
    return total / parts + (index < total % parts);
}

static void cg_grid(const struct problem *problem, int ranks, int grid[3]) {
    (void)problem;
    grid[0] = 1 << (log2_floor(ranks) / 2); /* rows */
    grid[1] = ranks / grid[0];              /* columns */
    grid[2] = 1;
}

static struct cg set_up(struct comm *comm, const struct problem *problem) {
    const struct cg_class *size = find_class(problem->problem_class);
    int grid[3];
    cg_grid(problem, comm->size, grid);
    int rows = grid[0], columns = grid[1], row = comm->rank / columns, column = comm->rank % columns;
    int square = rows == columns;
    /* Without a square grid each row segment is halved: the lower column of a pair has the longer half. */
    int64_t segment = part_length(size->order, rows, row);
    int64_t half = part_length(segment, 2, column % 2);
    int64_t column_segment = part_length(size->order, rows, square ? column : column / 2);

    struct cg cg = {.comm = comm, .stages = log2_floor(columns)};
    cg.piece = square ? segment : half;
    cg.columns = square ? column_segment : part_length(column_segment, 2, column % 2);
    cg.transpose_partner = square ? column * rows + row : 2 * ((column / 2) * rows + row) + column % 2;
    for (int i = 0; i < cg.stages; i++) {
        struct stage *stage = &cg.stage[i];
        stage->partner = row * columns + (column ^ (columns >> (i + 1)));
        stage->received = cg.piece;
        /* The first exchange of a sum, over distance 1, hands over the half that the partner keeps. */
        stage->sent = square || i < cg.stages - 1 ? cg.piece : segment - half;
    }
    cg.product_operations = 2.0 * size->order * size->nonzeros * (size->nonzeros + 1) / comm->size;
    return cg;
}

static void exchange(struct comm *comm, int partner, int tag, int64_t sent, int64_t received) {
    int request = comm_irecv(comm, partner, tag, COMM_DOUBLE, received, received);
    comm_send(comm, partner, tag, COMM_DOUBLE, sent);
    comm_wait(comm, request);
}

static void sum_scalars(struct cg *cg, int64_t scalars) {
    for (int i = 0; i < cg->stages; i++)
        exchange(cg->comm, cg->stage[i].partner, i + 1, scalars, scalars);
}

static void matrix_vector_product(struct cg *cg) {
    comm_compute(cg->comm, cg->product_operations);
    for (int i = cg->stages - 1; i >= 0; i--) {
        exchange(cg->comm, cg->stage[i].partner, i + 1, cg->stage[i].sent, cg->stage[i].received);
        comm_compute(cg->comm, (double)cg->stage[i].received);
    }
    if (cg->stages > 0)
        exchange(cg->comm, cg->transpose_partner, 1, cg->piece, cg->columns);
}

static void conjugate_gradient(struct cg *cg) {
    double columns = (double)cg->columns;
    comm_compute(cg->comm, 2 * columns);
    sum_scalars(cg, 1); /* r.r */
    for (int step = 0; step < CG_STEPS; step++) {
        matrix_vector_product(cg);
        comm_compute(cg->comm, 2 * columns);
        sum_scalars(cg, 1); /* p.q */
        comm_compute(cg->comm, 6 * columns);
        sum_scalars(cg, 1); /* r.r */
        comm_compute(cg->comm, 2 * columns);
    }
    matrix_vector_product(cg);
    comm_compute(cg->comm, 3 * columns);
    sum_scalars(cg, 1); /* the norm of the residual */
}

static void inverse_iteration(struct cg *cg) {
    conjugate_gradient(cg);
    comm_compute(cg->comm, 4.0 * (double)cg->columns);
    sum_scalars(cg, 2); /* x.z and z.z */
    comm_compute(cg->comm, (double)cg->columns);
}

static void cg_run(struct comm *comm, const struct problem *problem) {
    comm_bcast(comm, COMM_WORLD, COMM_INT, 1, 0); /* whether timers are on */
    struct cg cg = set_up(comm, problem);
    inverse_iteration(&cg);
    comm_barrier(comm, COMM_WORLD);
    comm_start_timer(comm);
    for (int i = 0; i < problem->iterations; i++)
        inverse_iteration(&cg);
    comm_stop_timer(comm);
    comm_reduce_time(comm, 0);
}

static int cg_iterations(const struct problem *problem) {
    return find_class(problem->problem_class)->iterations;
}

static int cg_most_ranks(const struct problem *problem) {
    /* Every process keeps at least one row. */
    int rows = 1 << log2_floor(find_class(problem->problem_class)->order);
    return rows > 1 << 14 ? 1 << 28 : rows * rows;
}

static int cg_accepts(const struct problem *problem, int ranks, char *why, size_t why_bytes) {
    return nas_power_of_two("cg", problem, ranks, cg_most_ranks(problem), why, why_bytes);
}

const struct workload workload_cg = {
    .name = "cg",
    .title = "NAS Parallel Benchmarks CG: conjugate gradient on a sparse matrix",
    .pattern = "pairwise exchange in rows of the process grid, swaps with transpose partners",
    .classes = "SWABCD",
    .iterations = cg_iterations,
    .grid = cg_grid,
    .accepts = cg_accepts,
    .run = cg_run,
};
