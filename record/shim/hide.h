/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_HIDE_H
#define RANKWISE_RECORD_HIDE_H

/**
 * @brief Take back the names that the process's MPI library does not have.
 *
 * Programs made for several MPIs refer to newer functions weakly and test whether they are there (mpi4py).
 * The loader would bind such a reference to the shim. Objects loaded after this call see only what the
 * library has.
 *
 * @param own any address in this shared object.
 * @param library_path the MPI library's file, which need not be loaded yet; NULL (or a file that is no
 * library): all names are taken back.
 */
void rw_hide_missing(const void *own, const char *library_path);

#endif
