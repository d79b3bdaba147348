/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin that is linked with libucp; it reaches its own worker. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct endpoint_parameters {
    uint64_t fields;
    const void *address;
};
struct piece {
    const void *buffer;
    size_t bytes;
};
struct parameters {
    uint32_t fields, flags;
    void *request, *callback;
    uint64_t datatype;
};
extern signed char ucp_worker_get_address(void *worker, void **to, size_t *bytes);
extern signed char ucp_ep_create(void *worker, const struct endpoint_parameters *with, void **endpoint);
extern unsigned ucp_worker_progress(void *worker);
extern void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag,
                              const struct parameters *with);

/* Sends `times` 10 bytes, as often 3 elements of 8 bytes, 2 pieces of 5 and 6 bytes, and something generic;
 * fails once. */
const char *use(int times) {
    void *address = NULL, *endpoint = NULL;
    size_t bytes = 0;
    const char data[16] = {0};
    const struct piece pieces[2] = {{data, 5}, {data, 6}};
    const struct parameters plain = {0}, eights = {8, 0, NULL, NULL, 8 << 3}, parts = {8, 0, NULL, NULL, 2},
                            generic = {8, 0, NULL, NULL, (uint64_t)(uintptr_t)data << 3 | 7};
    if (ucp_worker_get_address((void *)1, &address, &bytes) != 0 || bytes != 16)
        abort();
    const struct endpoint_parameters to = {1, address};
    if (ucp_ep_create((void *)1, &to, &endpoint) != 0)
        abort();
    const char *answer = NULL;
    for (int i = 0; i < times; i++) {
        answer = ucp_tag_send_nbx(endpoint, data, 10, 1, &plain);
        ucp_tag_send_nbx(endpoint, data, 3, 1, &eights);
        ucp_tag_send_nbx(endpoint, pieces, 2, 1, &parts);
        ucp_tag_send_nbx(endpoint, data, 1, 1, &generic);
        if (ucp_worker_progress((void *)1) != 1 || ucp_worker_progress(NULL) != 0)
            abort();
    }
    ucp_tag_send_nbx(endpoint, data, 10, 0, &plain);
    return answer;
}
