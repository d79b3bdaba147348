/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_RECORD_BINDING_LINE_H
#define RANKWISE_RECORD_BINDING_LINE_H

#include <stddef.h>

/**
 * @brief The PUs that the calling thread may use, ascending, as `0-3,8`.
 * @return the length; 0 if it does not fit or nothing is known
 */
size_t rw_write_pus(char *text, size_t room);

/**
 * @brief Append one line to the file of this host in a directory, saying which PUs this process may use:
 *     RANK PID TIME_NS CERTAINTY PUS        for example `3 4711 1760000000000000000 1 0-3,8`
 *
 * A rank may be several processes (a shell that starts the program); the reader takes those of the most
 * certainty. Whatever fails here is silent: a rank that left no line counts as not verified.
 */
void rw_tell_binding(const char *directory, const char *rank, int certainty);

/**
 * @brief Bind this process to PUs given as above.
 *
 * Takes the threads along that may run wherever the caller may; those with a place of their own keep it.
 * Fails in silence, as where it runs is reported afterwards.
 */
void rw_bind_to(const char *pus);

#endif
