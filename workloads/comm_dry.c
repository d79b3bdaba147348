/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm_dry.h"

struct dry {
    struct comm comm; /* first: the workload holds a pointer to it */
    comm_sink sink;
    void *state;
    int requests;
    int groups;
    int messages_on; /* group */
};

static void emit(struct comm *c, struct comm_event event) {
    struct dry *dry = (struct dry *)c;
    dry->sink(dry->state, c->rank, &event);
}

static struct comm_event message(const struct comm *c, enum comm_event_kind kind, int peer, int tag,
                                 enum comm_type type, int64_t count) {
    return (struct comm_event){.kind = kind,
                               .peer = peer,
                               .tag = tag,
                               .group = ((const struct dry *)c)->messages_on,
                               .type_bytes = comm_bytes(type),
                               .count = count};
}

static int begin(struct comm *c, struct comm_event event) {
    event.request = ((struct dry *)c)->requests++;
    emit(c, event);
    return event.request;
}

static void dry_send(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    emit(c, message(c, COMM_EVENT_SEND, destination, tag, type, count));
}

static int dry_isend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    return begin(c, message(c, COMM_EVENT_ISEND, destination, tag, type, count));
}

static void dry_ssend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    emit(c, message(c, COMM_EVENT_SSEND, destination, tag, type, count));
}

static int dry_issend(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    return begin(c, message(c, COMM_EVENT_ISSEND, destination, tag, type, count));
}

static void dry_relay(struct comm *c, int source, int destination, int tag, enum comm_type type,
                      int64_t count) {
    emit(c, message(c, COMM_EVENT_RELAY_RECV, source, tag, type, count));
    if (destination >= 0)
        emit(c, message(c, COMM_EVENT_RELAY_SEND, destination, tag, type, count));
}

static void dry_poll(struct comm *c) {
    (void)c;
}

static void dry_finish_relay(struct comm *c) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_RELAY_END});
}

static void dry_divide(struct comm *c, int parts) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_DIVIDE, .count = parts});
}

static void dry_recv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                     int64_t count) {
    (void)capacity;
    emit(c, message(c, COMM_EVENT_RECV, source, tag, type, count));
}

static int dry_irecv(struct comm *c, int source, int from_any, int tag, enum comm_type type, int64_t capacity,
                     int64_t count) {
    (void)capacity;
    return begin(c, message(c, from_any ? COMM_EVENT_IRECV_ANY : COMM_EVENT_IRECV, source, tag, type, count));
}

static void dry_wait(struct comm *c, int request) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_WAIT, .request = request});
}

static void dry_waitall(struct comm *c, const int *requests, int count) {
    for (int i = 0; i < count; i++)
        emit(c, (struct comm_event){.kind = COMM_EVENT_WAIT, .request = requests[i], .count = count - i});
}

static struct comm_event collective(enum comm_event_kind kind, int group, enum comm_type type,
                                    int64_t count) {
    return (struct comm_event){.kind = kind, .group = group, .type_bytes = comm_bytes(type), .count = count};
}

static void dry_barrier(struct comm *c, int group) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_BARRIER, .group = group});
}

static void dry_bcast(struct comm *c, int group, enum comm_type type, int64_t count, int root) {
    struct comm_event event = collective(COMM_EVENT_BCAST, group, type, count);
    event.peer = root;
    emit(c, event);
}

static void dry_reduce(struct comm *c, int group, enum comm_type type, int64_t count,
                       enum comm_operation operation, int root) {
    (void)operation;
    struct comm_event event = collective(COMM_EVENT_REDUCE, group, type, count);
    event.peer = root;
    emit(c, event);
}

static void dry_reduce_time(struct comm *c, int root) {
    if (root == COMM_EVERYWHERE)
        emit(c, collective(COMM_EVENT_ALLREDUCE, COMM_WORLD, COMM_DOUBLE, 1));
    else
        dry_reduce(c, COMM_WORLD, COMM_DOUBLE, 1, COMM_MAX, root);
}

static void dry_allreduce(struct comm *c, int group, enum comm_type type, int64_t count,
                          enum comm_operation operation) {
    (void)operation;
    emit(c, collective(COMM_EVENT_ALLREDUCE, group, type, count));
}

static void dry_allgather(struct comm *c, int group, enum comm_type type, int64_t count) {
    emit(c, collective(COMM_EVENT_ALLGATHER, group, type, count));
}

static void dry_alltoall(struct comm *c, int group, enum comm_type type, int64_t count) {
    emit(c, collective(COMM_EVENT_ALLTOALL, group, type, count));
}

static void dry_alltoallv(struct comm *c, int group, int members, enum comm_type type, const int64_t *to,
                          const int64_t *from) {
    struct comm_event event = collective(COMM_EVENT_ALLTOALLV, group, type, 0);
    for (int i = 0; i < members; i++)
        event.count += to[i];
    event.m = members;
    event.to = to;
    event.from = from;
    emit(c, event);
}

static int dry_split(struct comm *c, int color, int key) {
    int group = ++((struct dry *)c)->groups;
    emit(c, (struct comm_event){.kind = COMM_EVENT_SPLIT, .peer = color, .tag = key, .group = group});
    return group;
}

static int dry_dup(struct comm *c, int group) {
    int copy = ++((struct dry *)c)->groups;
    emit(c, (struct comm_event){.kind = COMM_EVENT_DUP, .tag = c->rank, .group = copy, .m = group});
    return copy;
}

static void dry_messages_on(struct comm *c, int group) {
    ((struct dry *)c)->messages_on = group;
}

static void dry_compute(struct comm *c, double operations) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_COMPUTE, .operations = operations});
}

static void dry_kernel(struct comm *c, enum comm_kernel kernel, int64_t m, int64_t n, int64_t k,
                       int64_t times) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_KERNEL,
                                .peer = (int)kernel,
                                .m = m,
                                .n = n,
                                .k = k,
                                .count = times,
                                .operations = (double)times * comm_kernel_operations(kernel, m, n, k)});
}

static void dry_timer(struct comm *c, int running) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_TIMER, .count = running});
}

static const struct comm_calls dry_calls = {
    .send = dry_send,
    .isend = dry_isend,
    .ssend = dry_ssend,
    .issend = dry_issend,
    .relay = dry_relay,
    .poll = dry_poll,
    .finish_relay = dry_finish_relay,
    .divide = dry_divide,
    .recv = dry_recv,
    .irecv = dry_irecv,
    .wait = dry_wait,
    .waitall = dry_waitall,
    .barrier = dry_barrier,
    .bcast = dry_bcast,
    .reduce = dry_reduce,
    .reduce_time = dry_reduce_time,
    .allreduce = dry_allreduce,
    .allgather = dry_allgather,
    .alltoall = dry_alltoall,
    .alltoallv = dry_alltoallv,
    .split = dry_split,
    .dup = dry_dup,
    .messages_on = dry_messages_on,
    .compute = dry_compute,
    .kernel = dry_kernel,
    .timer = dry_timer,
};

void comm_dry_run(const struct workload *workload, const struct problem *problem, int rank, int size,
                  comm_sink sink, void *state) {
    struct dry dry = {.comm = {&dry_calls, rank, size}, .sink = sink, .state = state};
    workload->run(&dry.comm, problem);
}

struct operations {
    int timed;
    double sum;
};

static void add_operations(void *state, int rank, const struct comm_event *event) {
    (void)rank;
    struct operations *operations = state;
    if (event->kind == COMM_EVENT_TIMER)
        operations->timed = (int)event->count;
    else if (operations->timed)
        operations->sum += event->operations;
}

double comm_dry_operations(const struct workload *workload, const struct problem *problem, int rank,
                           int size) {
    struct operations operations = {0, 0};
    comm_dry_run(workload, problem, rank, size, add_operations, &operations);
    return operations.sum;
}
