// SPDX-License-Identifier: BSD-3-Clause
// Frames, queues and ports of the lab's switch.
#pragma once

#include <linux/virtio_net.h>
#include <stddef.h>
#include <stdint.h>

enum { QUEUE_BYTES = 64 << 20 };

enum kind { DATA, ACKNOWLEDGEMENTS, KINDS };

// What the kernel hands over at once: a frame, or several of one flow that it would split for a real
// interface.
struct frame {
    struct frame *next;
    uint32_t wire_bytes; // of all its frames, with their headers
    uint32_t frames;
    uint32_t bytes;
    enum kind kind;
    int to; // port of the receiver; negative if it is none's
    struct virtio_net_hdr offload;
    unsigned char data[];
};

struct queue {
    struct frame *first, *last;
};

// One direction of an interface.
struct link {
    struct queue queue[KINDS];
    uint64_t bytes;
    double free_s; // when the next may begin
};

// What crossed a port, seen from its node, as `rankwise.lab.counters` reads it.
struct counters {
    uint64_t sent_bytes, sent, received_bytes, received, dropped;
};

// The file of counters.
struct account {
    uint64_t processor_ns; // that the switch used so far, for which measure/others.c reads it
    struct counters ports[];
};

struct port {
    int socket;
    struct link out, in;
    struct frame *passing; // on its way into the node
    struct counters *counters;
};

// A socket that gets what a node sends through this end of its cable; negative on failure, with errno.
int open_port(const char *interface);

// What came next, allocated; NULL if nothing did.
struct frame *receive_frame(int socket, int ports);

// Whether the kernel took it.
int send_frame(int socket, const struct frame *frame);

// Be run as soon as something is to be done, as far as the kernel lets this process.
void be_punctual(void);
