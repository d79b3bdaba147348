/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm_dry.h"

struct dry {
    struct comm comm; /* first: the workload holds a pointer to it */
    comm_sink sink;
    void *state;
    int requests;
    int groups;
};

static void emit(struct comm *c, struct comm_event event) {
    struct dry *dry = (struct dry *)c;
    dry->sink(dry->state, c->rank, &event);
}

static void dry_send(struct comm *c, int destination, int tag, enum comm_type type, int64_t count) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_SEND,
                                .peer = destination,
                                .tag = tag,
                                .type_bytes = comm_bytes(type),
                                .count = count});
}

static int dry_irecv(struct comm *c, int source, int tag, enum comm_type type, int64_t capacity,
                     int64_t count) {
    (void)capacity;
    int request = ((struct dry *)c)->requests++;
    emit(c, (struct comm_event){.kind = COMM_EVENT_IRECV,
                                .peer = source,
                                .tag = tag,
                                .request = request,
                                .type_bytes = comm_bytes(type),
                                .count = count});
    return request;
}

static void dry_wait(struct comm *c, int request) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_WAIT, .request = request});
}

static void dry_barrier(struct comm *c) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_BARRIER});
}

static void dry_bcast(struct comm *c, enum comm_type type, int64_t count, int root) {
    emit(c, (struct comm_event){
                .kind = COMM_EVENT_BCAST, .peer = root, .type_bytes = comm_bytes(type), .count = count});
}

static void dry_reduce(struct comm *c, enum comm_type type, int64_t count, enum comm_operation operation,
                       int root) {
    (void)operation;
    emit(c, (struct comm_event){
                .kind = COMM_EVENT_REDUCE, .peer = root, .type_bytes = comm_bytes(type), .count = count});
}

static void dry_reduce_time(struct comm *c, int root) {
    dry_reduce(c, COMM_DOUBLE, 1, COMM_MAX, root);
}

static void dry_allreduce(struct comm *c, enum comm_type type, int64_t count, enum comm_operation operation) {
    (void)operation;
    emit(c,
         (struct comm_event){.kind = COMM_EVENT_ALLREDUCE, .type_bytes = comm_bytes(type), .count = count});
}

static void dry_alltoall(struct comm *c, int group, enum comm_type type, int64_t count) {
    emit(c, (struct comm_event){
                .kind = COMM_EVENT_ALLTOALL, .group = group, .type_bytes = comm_bytes(type), .count = count});
}

static int dry_split(struct comm *c, int color, int key) {
    int group = ++((struct dry *)c)->groups;
    emit(c, (struct comm_event){.kind = COMM_EVENT_SPLIT, .peer = color, .tag = key, .group = group});
    return group;
}

static void dry_compute(struct comm *c, double operations) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_COMPUTE, .operations = operations});
}

static void dry_timer(struct comm *c, int running) {
    emit(c, (struct comm_event){.kind = COMM_EVENT_TIMER, .count = running});
}

static const struct comm_calls dry_calls = {
    .send = dry_send,
    .irecv = dry_irecv,
    .wait = dry_wait,
    .barrier = dry_barrier,
    .bcast = dry_bcast,
    .reduce = dry_reduce,
    .reduce_time = dry_reduce_time,
    .allreduce = dry_allreduce,
    .alltoall = dry_alltoall,
    .split = dry_split,
    .compute = dry_compute,
    .timer = dry_timer,
};

void comm_dry_run(const struct workload *workload, char problem_class, int iterations, int rank, int size,
                  comm_sink sink, void *state) {
    struct dry dry = {.comm = {&dry_calls, rank, size}, .sink = sink, .state = state};
    workload->run(&dry.comm, problem_class, iterations);
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
    else if (event->kind == COMM_EVENT_COMPUTE && operations->timed)
        operations->sum += event->operations;
}

double comm_dry_operations(const struct workload *workload, char problem_class, int iterations, int rank,
                           int size) {
    struct operations operations = {0, 0};
    comm_dry_run(workload, problem_class, iterations, rank, size, add_operations, &operations);
    return operations.sum;
}
