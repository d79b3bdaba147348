/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm_mpi_support.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void comm_mpi_end_job(struct comm_mpi *mpi, const char *sentence, double value, const char *unit) {
    fprintf(stderr, "error: %s `%.0f` %s on rank %d\n", sentence, value, unit, mpi->comm.rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void *comm_mpi_room(struct comm_mpi *mpi, struct buffer *buffer, size_t bytes) {
    if (bytes > buffer->capacity) {
        free(buffer->bytes);
        buffer->bytes = malloc(bytes);
        buffer->capacity = bytes;
        if (buffer->bytes == NULL)
            comm_mpi_end_job(mpi, "there is no memory for a message buffer of", (double)bytes, "bytes");
    }
    return buffer->bytes;
}

int comm_mpi_count(struct comm_mpi *mpi, int64_t count) {
    if (count > INT_MAX)
        comm_mpi_end_job(mpi, "MPI cannot send a message of", (double)count, "elements in one call");
    return (int)count;
}

MPI_Datatype comm_mpi_type(enum comm_type type) {
    switch (type) {
    case COMM_BYTE:
        return MPI_BYTE;
    case COMM_INT:
        return MPI_INT;
    case COMM_DOUBLE:
        return MPI_DOUBLE;
    default:
        return MPI_C_DOUBLE_COMPLEX;
    }
}

void comm_mpi_wrong(struct comm_mpi *mpi, const char *format, ...) {
    if (mpi->errors++ > 0)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(mpi->first_error, sizeof mpi->first_error, format, values);
    va_end(values);
}
