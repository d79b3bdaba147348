/* SPDX-License-Identifier: BSD-3-Clause */
/* A libpsm2 that moves nothing, with the signatures of psm2.h and psm2_mq.h: no Omni-Path is needed. */
#include <stdint.h>

static int addresses[8], polls;

int psm2_ep_open(const void *job, const void *options, void **endpoint, uint64_t *identity) {
    (void)options;
    *endpoint = addresses;
    *identity = *(const uint64_t *)job;
    return 0;
}

int psm2_ep_connect(void *endpoint, int count, const uint64_t *identities, const int *chosen, int *errors,
                    void **to, int64_t timeout) {
    (void)endpoint, (void)identities, (void)timeout;
    for (int i = 0; i < count; i++)
        if (!chosen || chosen[i]) {
            errors[i] = 0;
            to[i] = &addresses[i];
        }
    return 0;
}

/* Every third one finds something. */
int psm2_poll(void *endpoint) {
    (void)endpoint;
    return ++polls % 3 ? 1 : 0;
}

int psm2_mq_send(void *mq, void *to, uint32_t flags, uint64_t tag, const void *from, uint32_t bytes) {
    (void)mq, (void)flags, (void)tag, (void)from, (void)bytes;
    psm2_poll(mq);
    return to ? 0 : 2;
}

int psm2_mq_isend2(void *mq, void *to, uint32_t flags, void *tag, const void *from, uint32_t bytes,
                   void *context, void *request) {
    (void)context, (void)request;
    return psm2_mq_send(mq, to, flags, (uintptr_t)tag, from, bytes);
}

int psm2_mq_irecv2(void *mq, void *from, void *tag, void *mask, uint32_t flags, void *to, uint32_t bytes,
                   void *context, void *request) {
    (void)mq, (void)from, (void)tag, (void)mask, (void)flags, (void)to, (void)bytes, (void)context,
        (void)request;
    return 0;
}

/* Nothing is complete: PSM2_MQ_NO_COMPLETIONS. */
int psm2_mq_ipeek2(void *mq, void *request, void *status) {
    (void)mq, (void)request, (void)status;
    return 60;
}

int psm2_mq_wait2(void *request, void *status) {
    (void)request, (void)status;
    return 0;
}
