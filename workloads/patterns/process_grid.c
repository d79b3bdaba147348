/* SPDX-License-Identifier: BSD-3-Clause */
#include "patterns/process_grid.h"

/* Whether `ranks` is a product of that many factors, none larger than `most`. */
static int is_product(int ranks, int factors, int most) {
    if (factors == 0)
        return ranks == 1;
    for (int factor = 1; factor <= most; factor++)
        if (ranks % factor == 0 && is_product(ranks / factor, factors - 1, most))
            return 1;
    return 0;
}

void grid_cut(int ranks, int dimensions, int extent[GRID_DIMENSIONS]) {
    for (int d = 0; d < GRID_DIMENSIONS; d++) {
        extent[d] = 1;
        if (d >= dimensions)
            continue;
        while (ranks % extent[d] != 0 || !is_product(ranks / extent[d], dimensions - d - 1, extent[d]))
            extent[d]++;
        ranks /= extent[d];
    }
}

struct process_grid grid_of(const int extent[GRID_DIMENSIONS], int rank, int periodic) {
    struct process_grid grid = {.periodic = periodic};
    for (int d = GRID_DIMENSIONS - 1; d >= 0; d--) {
        grid.extent[d] = extent[d];
        grid.place[d] = rank % extent[d];
        rank /= extent[d];
    }
    return grid;
}

int grid_neighbour(const struct process_grid *grid, const int offset[GRID_DIMENSIONS]) {
    int rank = 0;
    for (int d = 0; d < GRID_DIMENSIONS; d++) {
        int extent = grid->extent[d], at = grid->place[d] + offset[d];
        if (!grid->periodic && (at < 0 || at >= extent))
            return GRID_NOBODY;
        rank = rank * extent + (at % extent + extent) % extent;
    }
    return rank;
}

int grid_along(const struct process_grid *grid, int dimension, int distance) {
    int offset[GRID_DIMENSIONS] = {0};
    offset[dimension] = distance;
    return grid_neighbour(grid, offset);
}
