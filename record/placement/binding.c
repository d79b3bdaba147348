/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into the ranks by `rankwise run`: each process of a rank says in RANKWISE_BINDING which PUs it
 * may use, with more certainty if it uses MPI. Where the launcher cannot bind, RANKWISE_PIN is a placement
 * (placement/rank_order.h), and each process of a rank binds itself first.
 */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "placement/binding_line.h"
#include "placement/rank_order.h"

static const char *rank_of_this_process(void) {
    /* Open MPI 4, Hydra, Open MPI 5 and other users of PMIx, srun. */
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        const char *value = getenv(names[at]);
        if (value && *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 12)
            return value;
    }
    return NULL;
}

static int is_mpi(struct dl_phdr_info *library, size_t size, void *found) {
    (void)size;
    const char *name = strrchr(library->dlpi_name, '/');
    if (name && strncmp(name, "/libmpi", 7) == 0)
        *(int *)found = 1;
    return 0;
}

__attribute__((constructor)) static void tell_binding(void) {
    int error_before = errno;
    const char *directory = getenv("RANKWISE_BINDING");
    const char *rank = rank_of_this_process(), *placement_path = getenv("RANKWISE_PIN");
    if (directory && rank) {
        int mpi = 0;
        struct rw_placement placement;
        if (placement_path && !rw_read_placement(placement_path, &placement)) {
            if (strtol(rank, NULL, 10) < placement.ranks)
                rw_bind_to(placement.pus[strtol(rank, NULL, 10)]);
            rw_free_plan(&placement);
            unsetenv("RANKWISE_PIN"); /* what a rank starts inherits where it runs, and may go elsewhere */
        }
        dl_iterate_phdr(is_mpi, &mpi);
        rw_tell_binding(directory, rank, mpi);
    }
    errno = error_before;
}
