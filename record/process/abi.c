/* SPDX-License-Identifier: BSD-3-Clause */
#include "process/abi.h"

#include <dlfcn.h>
#include <stddef.h>

rw_function rw_next[RW_ENTRIES][RW_CALL_COUNT];
const uint32_t rw_compiled_flavour = RW_FLAVOUR;

#if defined(OPEN_MPI) && !defined(RW_LINKED_IN)
struct rw_predefined rw_predefined;

static const struct {
    const char *symbol;
    size_t offset;
} symbols[] = {
    {"ompi_mpi_comm_world", offsetof(struct rw_predefined, comm_world)},
    {"ompi_mpi_comm_self", offsetof(struct rw_predefined, comm_self)},
    {"ompi_mpi_comm_null", offsetof(struct rw_predefined, comm_null)},
    {"ompi_mpi_datatype_null", offsetof(struct rw_predefined, datatype_null)},
    {"ompi_request_null", offsetof(struct rw_predefined, request_null)},
    {"ompi_mpi_group_null", offsetof(struct rw_predefined, group_null)},
    {"ompi_message_null", offsetof(struct rw_predefined, message_null)},
    {"ompi_message_no_proc", offsetof(struct rw_predefined, message_no_proc)},
    {"ompi_mpi_byte", offsetof(struct rw_predefined, byte)},
    {"ompi_mpi_info_null", offsetof(struct rw_predefined, info_null)},
};

/* An executable may hold a copy of the library's data (copy relocations), which the library then uses as
 * well. */
static void *data_symbol(void *library_handle, const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name);
    return address ? address : dlsym(library_handle, name);
}

const char *rw_abi_open(void *library_handle) {
    static const char *const ops[] = {"max", "min",  "sum",  "prod",   "land",   "band",    "lor",
                                      "bor", "lxor", "bxor", "maxloc", "minloc", "replace", "no_op"};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = data_symbol(library_handle, symbols[i].symbol);
        if (!address)
            return "a predefined handle of Open MPI is missing";
        *(void **)((char *)&rw_predefined + symbols[i].offset) = address;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char name[64] = "ompi_mpi_op_";
        size_t end = 12;
        for (const char *letter = ops[i]; *letter; letter++)
            name[end++] = *letter;
        rw_predefined.ops[i] = data_symbol(library_handle, name);
    }
    return NULL;
}
#else
#if !defined(RW_MPICH_ABI) && !defined(OPEN_MPI)
int rw_status_is_mpich;

static uint64_t bytes_of(const MPI_Status *status) {
    MPI_Count bytes = 0;
    RW_PMPI_CALL(Get_elements_c, const MPI_Status *, MPI_Datatype, MPI_Count *)(status, MPI_BYTE, &bytes);
    return (uint64_t)bytes;
}

static int is_cancelled(const MPI_Status *status) {
    int cancelled = 0;
    RW_PMPI_CALL(Test_cancelled, const MPI_Status *, int *)(status, &cancelled);
    return cancelled;
}

void rw_try_status(void) {
    const uint64_t bytes = (uint64_t)5 << 32 | 123456;
    MPI_Status finished = {.MPI_internal = {123456, 5 << 1}}, cancelled = {.MPI_internal = {0, 1}};
    rw_status_is_mpich = RW_HAS(Get_elements_c) && RW_HAS(Test_cancelled) && bytes_of(&finished) == bytes &&
                         !is_cancelled(&finished) && is_cancelled(&cancelled);
}
#endif

const char *rw_abi_open(void *library_handle) {
    (void)library_handle;
    return NULL;
}
#endif
