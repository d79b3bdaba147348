/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank of two connects to itself and to the other one by PSM2 and makes known calls. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

extern int psm2_ep_open(const void *job, const void *options, void **endpoint, uint64_t *identity);
extern int psm2_ep_connect(void *endpoint, int count, const uint64_t *identities, const int *chosen,
                           int *errors, void **to, int64_t timeout);
extern int psm2_poll(void *endpoint);
extern int psm2_mq_send(void *mq, void *to, uint32_t flags, uint64_t tag, const void *from, uint32_t bytes);
extern int psm2_mq_isend2(void *mq, void *to, uint32_t flags, void *tag, const void *from, uint32_t bytes,
                          void *context, void *request);
extern int psm2_mq_irecv2(void *mq, void *from, void *tag, void *mask, uint32_t flags, void *to,
                          uint32_t bytes, void *context, void *request);
extern int psm2_mq_ipeek2(void *mq, void *request, void *status);
extern int psm2_mq_wait2(void *request, void *status);

int main(int argc, char **argv) {
    int rank, errors[2] = {9, 9};
    void *endpoint, *to[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const uint64_t identities[2] = {0x1000, 0x1001};
    uint64_t mine = identities[rank];
    if (psm2_ep_open(&mine, NULL, &endpoint, &mine) ||
        psm2_ep_connect(endpoint, 2, identities, NULL, errors, to, 0))
        return 2;
    for (int i = 0; i < 30; i++) {
        psm2_mq_send(endpoint, to[1 - rank], 0, 1, &mine, 100);
        psm2_mq_isend2(endpoint, to[1 - rank], 0, NULL, &mine, 20, NULL, NULL);
        psm2_mq_irecv2(endpoint, NULL, NULL, NULL, 0, &mine, 8, NULL, NULL);
        psm2_mq_irecv2(endpoint, to[rank], NULL, NULL, 0, &mine, 8, NULL, NULL);
        psm2_mq_ipeek2(endpoint, NULL, NULL);
        psm2_mq_wait2(NULL, NULL);
    }
    int found = 0;
    for (int i = 0; i < 30; i++)
        found += psm2_poll(endpoint) == 0;
    printf("%d\n", found);
    MPI_Finalize();
    return 0;
}
