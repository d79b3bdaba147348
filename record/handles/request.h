/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_REQUEST_H
#define RANKWISE_RECORD_REQUEST_H

#include <stdint.h>

#include "handles/communicators.h"

enum rw_request_kind {
    RW_REQUEST_SEND,
    RW_REQUEST_RECEIVE,
    RW_REQUEST_COLLECTIVE,
    RW_LAST_NUMBERED_REQUEST = RW_REQUEST_COLLECTIVE, /* those that follow have no number in the trace */
    RW_REQUEST_DUPLICATE,
    RW_REQUEST_CANCELLED_SEND, /* not remembered before it was cancelled */
    RW_REQUEST_PARTITIONED_SEND,
    RW_REQUEST_PARTITIONED_RECEIVE,
    RW_REQUEST_MESSAGE /* not a request: what MPI_Mprobe matched */
};

struct rw_collective_call; /* wrap/collectives.c */

/* One cache line: it is cleared and copied on the hot path. */
struct rw_request {
    struct rw_request *next; /* in its bucket, or of the free ones */
    uintptr_t handle;
    uint64_t number; /* for the trace: rw_thread.numbered when it was made */
    uint16_t call;   /* that made it */
    uint8_t kind;
    uint8_t persistent;
    uint8_t active;     /* persistent: started and not completed */
    uint8_t counted;    /* sends, partitioned operations: not with MPI_PROC_NULL */
    uint8_t cancelling; /* MPI_Cancel was called: whether it was in time, the status says */
    uint8_t reported;   /* persistent receives: what came is known already, from MPI_Request_get_status */
    union {
        struct {
            struct rw_group *peers; /* receives: whose rank the status names; NULL: from nobody */
            uint64_t came_bytes;    /* if reported */
            int32_t came_peer;      /* as in the trace, as is its tag */
            int came_tag;
        };
        struct {
            uint64_t bytes;      /* sends; of one partition */
            uint32_t peer;       /* world rank */
            uint32_t partitions; /* partitioned receives */
        };
        struct rw_collective_call *collective; /* persistent collectives */
        struct {
            struct rw_communicator *duplicate;
            MPI_Comm *new_comm;
        };
        struct {
            struct rw_communicator *probed; /* matched messages: how they were probed for */
            int64_t posted_peer;
            int posted_tag;
        };
    };
};

#endif
