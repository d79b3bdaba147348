// SPDX-License-Identifier: BSD-3-Clause
// The lab's network: `switch RATE COUNTERS PORT...`, the switch side's ends of the nodes' cables, in their
// order.
//
// A frame passes its sender's interface, then its receiver's, at RATE bytes a second each, and is handed over
// when its last byte would be there. Both queues are first in, first out, but for acknowledgements, which go
// before data: hosts' interfaces keep microseconds of queue (byte queue limits, TCP small queues), and here
// all that TCP may send waits in one. Nothing is dropped before a queue has QUEUE_BYTES.
#define _GNU_SOURCE
#include "switch_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_AT_ONCE = 64 }; // frames of one port, so that others are served too

static double seconds_a_byte;
static struct port *ports;
static int port_count;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int is_empty(const struct link *link) {
    return !link->queue[DATA].first && !link->queue[ACKNOWLEDGEMENTS].first;
}

static void push(struct link *link, struct frame *frame, double at) {
    if (is_empty(link) && link->free_s < at)
        link->free_s = at;
    struct queue *queue = &link->queue[frame->kind];
    frame->next = NULL;
    if (queue->first)
        queue->last->next = frame;
    else
        queue->first = frame;
    queue->last = frame;
    link->bytes += frame->wire_bytes;
}

// Takes the next frame, whose bytes pass from `free_s` on.
static struct frame *pop(struct link *link) {
    struct queue *queue = &link->queue[link->queue[ACKNOWLEDGEMENTS].first ? ACKNOWLEDGEMENTS : DATA];
    struct frame *first = queue->first;
    queue->first = first->next;
    link->bytes -= first->wire_bytes;
    link->free_s += first->wire_bytes * seconds_a_byte;
    return first;
}

static void take(struct port *from, double now) {
    for (int budget = MOST_AT_ONCE; budget; budget--) {
        struct frame *frame = receive_frame(from->socket, port_count);
        if (!frame)
            return;
        if (frame->to < 0 || frame->to == from - ports) {
            free(frame);
            continue;
        }
        if (from->out.bytes + frame->wire_bytes > QUEUE_BYTES) {
            from->counters->dropped += frame->frames;
            free(frame);
            continue;
        }
        from->counters->sent_bytes += frame->wire_bytes;
        from->counters->sent += frame->frames;
        push(&from->out, frame, now);
    }
}

static void hand_over(struct port *to) {
    if (send_frame(to->socket, to->passing)) {
        to->counters->received_bytes += to->passing->wire_bytes;
        to->counters->received += to->passing->frames;
    } else {
        to->counters->dropped += to->passing->frames;
    }
    free(to->passing);
    to->passing = NULL;
}

// When something happens next at a port, and what.
enum event { NOTHING, HAND_OVER, RECEIVE, SEND };

static enum event next_of(const struct port *port, double *at) {
    enum event next = NOTHING;
    if (port->passing) {
        *at = port->in.free_s;
        next = HAND_OVER;
    } else if (!is_empty(&port->in)) {
        *at = port->in.free_s;
        next = RECEIVE;
    }
    if (!is_empty(&port->out) && (next == NOTHING || port->out.free_s < *at)) {
        *at = port->out.free_s;
        next = SEND;
    }
    return next;
}

static void serve(struct port *port, enum event what) {
    if (what == HAND_OVER) {
        hand_over(port);
    } else if (what == RECEIVE) {
        port->passing = pop(&port->in);
    } else {
        double begins = port->out.free_s;
        struct frame *frame = pop(&port->out);
        struct port *to = &ports[frame->to];
        if (to->in.bytes + frame->wire_bytes > QUEUE_BYTES) {
            to->counters->dropped += frame->frames;
            free(frame);
            return;
        }
        push(&to->in, frame, begins);
    }
}

// Does what is due, in the order of its time; returns when the next is, or a negative number.
static double serve_until(double now) {
    for (;;) {
        struct port *first = NULL;
        double earliest = 0;
        enum event what = NOTHING;
        for (int at = 0; at < port_count; at++) {
            double when;
            enum event next = next_of(&ports[at], &when);
            if (next != NOTHING && (!first || when < earliest)) {
                first = &ports[at];
                earliest = when;
                what = next;
            }
        }
        if (!first)
            return -1;
        if (earliest > now)
            return earliest;
        serve(first, what);
    }
}

static struct account *map_account(const char *path, int count) {
    size_t bytes = sizeof(struct account) + (size_t)count * sizeof(struct counters);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        fail(path);
    struct account *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        fail(path);
    close(file);
    return mapped;
}

int main(int words, char **word) {
    if (words < 4)
        return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1);
    seconds_a_byte = 1 / strtod(word[1], NULL);
    port_count = words - 3;
    ports = calloc((size_t)port_count, sizeof *ports);
    struct pollfd *polled = calloc((size_t)port_count, sizeof *polled);
    if (!ports || !polled)
        fail("memory");
    struct account *account = map_account(word[2], port_count);
    for (int at = 0; at < port_count; at++) {
        ports[at].counters = &account->ports[at];
        ports[at].socket = open_port(word[3 + at]);
        if (ports[at].socket < 0)
            fail(word[3 + at]);
        polled[at] = (struct pollfd){.fd = ports[at].socket, .events = POLLIN};
    }
    be_punctual();
    puts("ready");
    fflush(stdout);
    for (;;) {
        double next = serve_until(now_s());
        struct timespec used;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        account->processor_ns = 1000000000u * (uint64_t)used.tv_sec + (uint64_t)used.tv_nsec;
        struct timespec wait, *limit = NULL;
        if (next >= 0) {
            double left = next - now_s();
            left = left > 0 ? left : 0;
            wait.tv_sec = (time_t)left;
            wait.tv_nsec = (long)(1e9 * (left - (double)wait.tv_sec));
            limit = &wait;
        }
        if (ppoll(polled, (nfds_t)port_count, limit, NULL) < 0 && errno != EINTR)
            fail("ppoll");
        double now = now_s();
        serve_until(now);
        for (int at = 0; at < port_count; at++)
            if (polled[at].revents)
                take(&ports[at], now);
    }
}
