/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the three ABIs the recorder is compiled for: predefined handles, statuses, handles
 * that encode what they mean. Nothing here may refer to a symbol of the MPI library, which need not be
 * visible to us.
 */
#ifndef RANKWISE_RECORD_ABI_H
#define RANKWISE_RECORD_ABI_H

#include <mpi.h>
#include <stdint.h>

#include "../formats/recording.h"
#include "process/next.h"

#if defined(OPEN_MPI) && defined(RW_LINKED_IN)
#define RW_FLAVOUR RW_MPI_OPENMPI
#elif defined(OPEN_MPI)
#define RW_FLAVOUR RW_MPI_OPENMPI
/* Open MPI's predefined handles are addresses of data in the library. */
struct rw_predefined {
    void *comm_world, *comm_self, *comm_null, *datatype_null, *request_null, *group_null, *message_null,
        *message_no_proc;
    void *byte, *info_null;
    void *ops[14];
};
extern struct rw_predefined rw_predefined RW_HIDDEN;
#undef MPI_COMM_WORLD
#undef MPI_COMM_SELF
#undef MPI_COMM_NULL
#undef MPI_DATATYPE_NULL
#undef MPI_REQUEST_NULL
#undef MPI_GROUP_NULL
#undef MPI_MESSAGE_NULL
#undef MPI_MESSAGE_NO_PROC
#undef MPI_BYTE
#undef MPI_NO_OP
#undef MPI_INFO_NULL
#define MPI_COMM_WORLD ((MPI_Comm)rw_predefined.comm_world)
#define MPI_COMM_SELF ((MPI_Comm)rw_predefined.comm_self)
#define MPI_COMM_NULL ((MPI_Comm)rw_predefined.comm_null)
#define MPI_DATATYPE_NULL ((MPI_Datatype)rw_predefined.datatype_null)
#define MPI_REQUEST_NULL ((MPI_Request)rw_predefined.request_null)
#define MPI_GROUP_NULL ((MPI_Group)rw_predefined.group_null)
#define MPI_MESSAGE_NULL ((MPI_Message)rw_predefined.message_null)
#define MPI_MESSAGE_NO_PROC ((MPI_Message)rw_predefined.message_no_proc)
#define MPI_BYTE ((MPI_Datatype)rw_predefined.byte)
#define MPI_NO_OP ((MPI_Op)rw_predefined.ops[13])
#define MPI_INFO_NULL ((MPI_Info)rw_predefined.info_null)
#elif defined(MPICH_NUMVERSION)
#define RW_MPICH_ABI
#define RW_FLAVOUR RW_MPI_MPICH
#else
#define RW_FLAVOUR RW_MPI_STANDARD_ABI
/*
 * What a status says is the library's secret in the standard ABI. Whether it is MPICH's is tried out once,
 * for a call of the library for each status costs more than all the rest.
 */
extern int rw_status_is_mpich RW_HIDDEN;
RW_HIDDEN void rw_try_status(void);
#endif

/* RW_FLAVOUR, for linked.c, which knows no MPI. */
extern const uint32_t rw_compiled_flavour RW_HIDDEN;

/**
 * @brief Look up what the ABI keeps in data symbols.
 * @return NULL, or what is missing.
 */
RW_HIDDEN const char *rw_abi_open(void *library_handle);

/** @brief Whether the reduction is predefined (all of which commute). */
static inline int rw_op_is_predefined(MPI_Op op) {
#if defined(RW_MPICH_ABI)
    return ((uint32_t)op & 0xff000000u) == 0x58000000u;
#elif defined(OPEN_MPI) && defined(RW_LINKED_IN)
    return op == MPI_MAX || op == MPI_MIN || op == MPI_SUM || op == MPI_PROD || op == MPI_LAND ||
           op == MPI_BAND || op == MPI_LOR || op == MPI_BOR || op == MPI_LXOR || op == MPI_BXOR ||
           op == MPI_MAXLOC || op == MPI_MINLOC || op == MPI_REPLACE || op == MPI_NO_OP;
#elif defined(OPEN_MPI)
    for (unsigned i = 0; i < sizeof rw_predefined.ops / sizeof *rw_predefined.ops; i++)
        if ((void *)op == rw_predefined.ops[i])
            return 1;
    return 0;
#else
    /* The standard ABI's predefined handles are integers of ten bits (MPI 5.0, section 20.3). */
    return (uintptr_t)op < 1024;
#endif
}

/** @brief Bytes received, from a status the library has filled in. */
static inline uint64_t rw_status_bytes(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return status->_ucount;
#elif defined(RW_MPICH_ABI)
    /* The layout that the MPICH ABI fixes: bit 0 of the second word says cancelled, the rest are high bits.
     */
    return (uint32_t)status->count_lo | (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32;
#else
    MPI_Count bytes = 0;
    if (RW_LIKELY(rw_status_is_mpich))
        return (uint32_t)status->MPI_internal[0] | (uint64_t)((uint32_t)status->MPI_internal[1] >> 1) << 32;
    if (RW_HAS(Get_elements_c))
        RW_PMPI_CALL(Get_elements_c, const MPI_Status *, MPI_Datatype, MPI_Count *)(status, MPI_BYTE, &bytes);
    return bytes > 0 ? (uint64_t)bytes : 0;
#endif
}

/** @brief Whether the operation that the status belongs to was cancelled. */
static inline int rw_status_cancelled(const MPI_Status *status) {
#if defined(OPEN_MPI)
    return status->_cancelled;
#elif defined(RW_MPICH_ABI)
    return status->count_hi_and_cancelled & 1;
#else
    int cancelled = 0;
    if (RW_LIKELY(rw_status_is_mpich))
        return status->MPI_internal[1] & 1;
    RW_PMPI_CALL(Test_cancelled, const MPI_Status *, int *)(status, &cancelled);
    return cancelled;
#endif
}

#endif
