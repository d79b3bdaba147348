/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiling tool for Fortran programs as users have them: it wraps the entry points that mpif.h and `use
 * mpi` call, counts sends and receives, and speaks at the end.
 */
#include <stdio.h>

static int calls;

void pmpi_isend_(void *buf, int *count, int *datatype, int *dest, int *tag, int *comm, int *request,
                 int *ierror);
void pmpi_irecv_(void *buf, int *count, int *datatype, int *source, int *tag, int *comm, int *request,
                 int *ierror);
void pmpi_waitall_(int *count, int *requests, int *statuses, int *ierror);
void pmpi_finalize_(int *ierror);

void mpi_isend_(void *buf, int *count, int *datatype, int *dest, int *tag, int *comm, int *request,
                int *ierror) {
    calls++;
    pmpi_isend_(buf, count, datatype, dest, tag, comm, request, ierror);
}

void mpi_irecv_(void *buf, int *count, int *datatype, int *source, int *tag, int *comm, int *request,
                int *ierror) {
    calls++;
    pmpi_irecv_(buf, count, datatype, source, tag, comm, request, ierror);
}

void mpi_waitall_(int *count, int *requests, int *statuses, int *ierror) {
    calls++;
    pmpi_waitall_(count, requests, statuses, ierror);
}

void mpi_finalize_(int *ierror) {
    printf("tool: %d calls\n", calls);
    fflush(stdout);
    pmpi_finalize_(ierror);
}
