/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the preloaded shim and the recorder of an MPI ABI say to each other.
 *
 * The shim (librankwise_record.so) exports MPI_X and PMPI_X for every X of formats/mpi_calls.txt and jumps
 * through a slot for each. It knows no MPI. Once it has found the library that the process really uses, it
 * loads the recorder built for that library's ABI and has it fill the slots.
 */
#ifndef RANKWISE_RECORD_ATTACH_H
#define RANKWISE_RECORD_ATTACH_H

#include <stdint.h>

#include "calls_generated.h"

#define RW_ATTACH_VERSION 3
#define RW_ATTACH_SYMBOL "rankwise_record_attach"

struct rw_mask_setter;
struct rw_network;

/* Any function: called only after a cast to its own type. */
typedef void (*rw_function)(void);

/* The two names of every MPI function. */
enum rw_entry { RW_MPI = 0, RW_PMPI = 1, RW_ENTRIES = 2 };

struct rw_library {
    void *handle;                        /* dlopen handle of the MPI library, for data symbols */
    const char *path;                    /* where it was loaded from */
    const char *version;                 /* MPI_Get_library_version */
    uint32_t flavour;                    /* enum rw_mpi_flavour */
    const char *directory;               /* RANKWISE_DIR */
    struct rw_network *network;          /* what the shim counts; NULL where there is none before libc */
    const struct rw_mask_setter *setter; /* who bound the first thread */
    /* The function behind the shim; NULL where the library has none. */
    rw_function next[RW_ENTRIES][RW_CALL_COUNT];
};

/**
 * @brief Fill the slots of all functions that `library` has.
 * @return NULL, or why it cannot be recorded (then no slot was touched).
 */
typedef const char *rw_attach_function(uint32_t version, const struct rw_library *library,
                                       rw_function slots[RW_ENTRIES][RW_CALL_COUNT]);

#endif
