/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_FIND_MPI_H
#define RANKWISE_RECORD_FIND_MPI_H

#include "process/attach.h"

/**
 * @brief Find the MPI library this process uses, without linking or loading one.
 * @param caller an address in the object that called MPI; its own libraries are searched where MPI was loaded
 *        with RTLD_LOCAL (Python extension modules).
 * @param library filled in but for `version`, `flavour` and `directory`.
 * @return 0, or -1 if no MPI library is loaded.
 */
int rw_find_mpi(const void *caller, struct rw_library *library);

/** @brief Path of the MPI library that this process has loaded, NULL if it has none (yet). */
const char *rw_loaded_mpi(void);

/**
 * @brief Tell which ABI a library has, from its name, its symbols and what it says of itself.
 * @return enum rw_mpi_flavour
 */
uint32_t rw_flavour_of(const struct rw_library *library);

#endif
