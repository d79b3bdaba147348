/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two preloaded libraries that are made of shim.c differ in: recording and renumbering. */
#ifndef RANKWISE_RECORD_SHIM_OF_H
#define RANKWISE_RECORD_SHIM_OF_H

struct rw_mask_setter;
struct rw_network;

struct rw_shim {
    const char *of;             /* librankwise_OF_mpich.so and so on are attached */
    const char *variable;       /* of the environment: where nothing is in it, all calls are passed through */
    const char *not_done;       /* what a program that cannot have it is said to be */
    struct rw_network *network; /* what sockets.c and transports count into; NULL without them */
    const struct rw_mask_setter *setter; /* what affinity.c sees; NULL without it */
};

extern const struct rw_shim rw_shim __attribute__((visibility("hidden")));

#endif
