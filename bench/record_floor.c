/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What no recorder can do without, preloaded: count calls and bytes by peer and size, and with -DTIMED read
 * the tick counter twice a call. It knows C programs of one MPI and one thread, no communicators and no
 * requests.
 */
#include <mpi.h>
#include <stdint.h>

enum { PEERS = 64, BINS = 66, CALLS = 8 };

static uint64_t messages[PEERS][BINS], bytes[PEERS][BINS], calls[CALLS], ticks[CALLS];

static inline uint64_t now(void) {
#if !defined(TIMED)
    return 0;
#elif defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

static inline void count(int peer, int64_t number, MPI_Datatype type) {
    int size;
    PMPI_Type_size(type, &size);
    const uint64_t length = (uint64_t)number * (uint64_t)size;
    const unsigned bin = length < 2 ? (unsigned)length : 65u - (unsigned)__builtin_clzll(length - 1);
    if (peer >= 0) {
        messages[peer % PEERS][bin]++;
        bytes[peer % PEERS][bin] += length;
    }
}

#define AROUND(number, call, counting)                                                                       \
    const uint64_t begin = now();                                                                            \
    const int result = call;                                                                                 \
    ticks[number] += now() - begin;                                                                          \
    calls[number]++;                                                                                         \
    counting;                                                                                                \
    return result

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    AROUND(0, PMPI_Send(data, n, type, to, tag, comm), count(to, n, type));
}
int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    AROUND(1, PMPI_Isend(data, n, type, to, tag, comm, request), count(to, n, type));
}
int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    AROUND(2, PMPI_Recv(data, n, type, from, tag, comm, status), count(from, n, type));
}
int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
    AROUND(3, PMPI_Irecv(data, n, type, from, tag, comm, request), );
}
int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    AROUND(4, PMPI_Wait(request, status), );
}
int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    AROUND(5, PMPI_Waitall(n, requests, statuses), );
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    AROUND(6, PMPI_Iprobe(from, tag, comm, flag, status), );
}
int MPI_Allreduce(const void *data, void *result_data, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    AROUND(7, PMPI_Allreduce(data, result_data, n, type, op, comm), );
}
