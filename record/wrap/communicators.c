/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that make and free communicators, and free datatypes: what the recorder knows by handle. */
#include "handles/communicators.h"
#include "handles/datatypes.h"
#include "handles/requests.h"
#include "trace/trace.h"
#include "wrap/wrap.h"

static void trace_plain(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end) {
    if (thread->traced)
        rw_trace_plain(thread, call, begin, end);
}

/* The parameter that takes the new communicator. */
#define RW_NEW_Cart_create comm_cart
#define RW_NEW_Cart_sub newcomm
#define RW_NEW_Comm_accept newcomm
#define RW_NEW_Comm_connect newcomm
#define RW_NEW_Comm_create newcomm
#define RW_NEW_Comm_create_from_group newcomm
#define RW_NEW_Comm_create_group newcomm
#define RW_NEW_Comm_dup newcomm
#define RW_NEW_Comm_dup_with_info newcomm
#define RW_NEW_Comm_get_parent parent
#define RW_NEW_Comm_join intercomm
#define RW_NEW_Comm_split newcomm
#define RW_NEW_Comm_split_type newcomm
#define RW_NEW_Dist_graph_create comm_dist_graph
#define RW_NEW_Dist_graph_create_adjacent comm_dist_graph
#define RW_NEW_Graph_create comm_graph
#define RW_NEW_Intercomm_create newintercomm
#define RW_NEW_Intercomm_create_from_groups newintercomm
#define RW_NEW_Intercomm_merge newintracomm

/* What it is made of, and whether its ranks may be others. */
#define RW_FROM_Cart_create comm_old, reorder
#define RW_FROM_Cart_sub comm, 0
#define RW_FROM_Comm_accept MPI_COMM_NULL, 0
#define RW_FROM_Comm_connect MPI_COMM_NULL, 0
#define RW_FROM_Comm_create comm, 0
#define RW_FROM_Comm_create_from_group MPI_COMM_NULL, 0
#define RW_FROM_Comm_create_group comm, 0
#define RW_FROM_Comm_dup comm, 0
#define RW_FROM_Comm_dup_with_info comm, 0
#define RW_FROM_Comm_get_parent MPI_COMM_NULL, 0
#define RW_FROM_Comm_idup comm, 0
#define RW_FROM_Comm_idup_with_info comm, 0
#define RW_FROM_Comm_join MPI_COMM_NULL, 0
#define RW_FROM_Comm_split comm, 0
#define RW_FROM_Comm_split_type comm, 0
#define RW_FROM_Dist_graph_create comm_old, reorder
#define RW_FROM_Dist_graph_create_adjacent comm_old, reorder
#define RW_FROM_Graph_create comm_old, reorder
#define RW_FROM_Intercomm_create local_comm, 0
#define RW_FROM_Intercomm_create_from_groups MPI_COMM_NULL, 0
#define RW_FROM_Intercomm_merge intercomm, 0

/* A call that failed may not have met the others: it has no parent. */
static void trace_made(struct rw_thread *thread, unsigned call, uint64_t begin, uint64_t end, int result,
                       MPI_Comm from, int reorder) {
    if (!thread->traced)
        return;
    uint32_t parent = 0;
    if (result == MPI_SUCCESS && from != MPI_COMM_NULL && rw_process.ready)
        parent = rw_communicator(thread, from)->index + 1; /* the unknown one's is the largest: 0 */
    rw_trace_made(thread, call, begin, end, parent, reorder);
}

#define CREATE(name) rw_register(thread, *RW_NEW_##name)

/* MPI_Comm_idup: the handle counts once the request is complete, the order of the calls counts now. */
static void duplicate_later(struct rw_thread *thread, unsigned call, MPI_Comm of, MPI_Comm *newcomm,
                            MPI_Request made) {
    struct rw_communicator *duplicate = rw_register_duplicate(thread, of);
    struct rw_request *request = duplicate ? rw_request_new(RW_REQUEST_DUPLICATE, call) : NULL;
    if (!request)
        return;
    request->duplicate = duplicate;
    request->new_comm = newcomm;
    rw_request_add(request, (uintptr_t)made);
}
#define RW_LATER(name) duplicate_later(thread, RW_CALL_##name, comm, newcomm, *request)

/* How each function's result is registered. */
#define REGISTER_Comm_idup RW_LATER(Comm_idup)
#define REGISTER_Comm_idup_with_info RW_LATER(Comm_idup_with_info)
#define REGISTER_Cart_create CREATE(Cart_create)
#define REGISTER_Cart_sub CREATE(Cart_sub)
#define REGISTER_Comm_accept CREATE(Comm_accept)
#define REGISTER_Comm_connect CREATE(Comm_connect)
#define REGISTER_Comm_create CREATE(Comm_create)
#define REGISTER_Comm_create_from_group CREATE(Comm_create_from_group)
#define REGISTER_Comm_create_group CREATE(Comm_create_group)
#define REGISTER_Comm_dup CREATE(Comm_dup)
#define REGISTER_Comm_dup_with_info CREATE(Comm_dup_with_info)
#define REGISTER_Comm_get_parent CREATE(Comm_get_parent)
#define REGISTER_Comm_join CREATE(Comm_join)
#define REGISTER_Comm_split CREATE(Comm_split)
#define REGISTER_Comm_split_type CREATE(Comm_split_type)
#define REGISTER_Dist_graph_create CREATE(Dist_graph_create)
#define REGISTER_Dist_graph_create_adjacent CREATE(Dist_graph_create_adjacent)
#define REGISTER_Graph_create CREATE(Graph_create)
#define REGISTER_Intercomm_create CREATE(Intercomm_create)
#define REGISTER_Intercomm_create_from_groups CREATE(Intercomm_create_from_groups)
#define REGISTER_Intercomm_merge CREATE(Intercomm_merge)

#define MAKE(entry, name)                                                                                    \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        if (result == MPI_SUCCESS)                                                                           \
            REGISTER_##name;                                                                                 \
        trace_made(thread, RW_CALL_##name, begin, end, result, RW_FROM_##name);                              \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define MAKES(name, call, base, large, parameters) MAKE(mpi, name) MAKE(pmpi, name)
RW_CALLS_comm(MAKES)

/* Forgotten before the call: afterwards another thread may already have the handle again. Freed inside other
 * calls too. */
#define FREE_COMM(entry, name)                                                                               \
    RW_SIGNATURE(entry, name) {                                                                              \
        rw_unregister(*comm);                                                                                \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        trace_plain(thread, RW_CALL_##name, begin, end);                                                     \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
#define FREE_COMMS(name, call, base, large, parameters) FREE_COMM(mpi, name) FREE_COMM(pmpi, name)
RW_CALLS_comm_free(FREE_COMMS)

/* Datatypes freed inside other calls count as well. */
#define FREE_TYPE(entry, name)                                                                               \
    RW_SIGNATURE(entry, name) {                                                                              \
        rw_datatype_freed();                                                                                 \
        RW_BEGIN(entry, name);                                                                               \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        trace_plain(thread, RW_CALL_##name, begin, end);                                                     \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
    FREE_TYPE(mpi, Type_free) FREE_TYPE(pmpi, Type_free)
