/* SPDX-License-Identifier: BSD-3-Clause */
#include "handles/datatypes.h"

uint32_t rw_datatype_generation = 1;

static uint64_t size_of(MPI_Datatype datatype) {
    if (RW_HAS(Type_size_c)) {
        MPI_Count bytes = 0;
        RW_PMPI_CALL(Type_size_c, MPI_Datatype, MPI_Count *)(datatype, &bytes);
        return bytes > 0 ? (uint64_t)bytes : 0;
    }
    if (RW_HAS(Type_size_x)) {
        MPI_Count bytes = 0;
        RW_PMPI_CALL(Type_size_x, MPI_Datatype, MPI_Count *)(datatype, &bytes);
        return bytes > 0 ? (uint64_t)bytes : 0;
    }
    int bytes = 0;
    RW_PMPI_CALL(Type_size, MPI_Datatype, int *)(datatype, &bytes);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

void rw_ask_datatype(struct rw_datatype_slot *slot, MPI_Datatype datatype, uint32_t generation) {
    slot->handle = (uintptr_t)datatype;
    slot->generation = generation;
    slot->bytes = 0;
    slot->derived = 0;
    if (datatype == MPI_DATATYPE_NULL)
        return;
    slot->bytes = size_of(datatype);
    int integers, addresses, datatypes, combiner = MPI_COMBINER_NAMED;
    RW_PMPI_CALL(Type_get_envelope, MPI_Datatype, int *, int *, int *, int *)
    (datatype, &integers, &addresses, &datatypes, &combiner);
    slot->derived = combiner != MPI_COMBINER_NAMED;
}
