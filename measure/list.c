/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests there are. */
#include "measure.h"

extern const struct measure_test measure_pingpong;
extern const struct measure_test measure_send_overhead;
extern const struct measure_test measure_receive_overhead;
extern const struct measure_test measure_stream;
extern const struct measure_test measure_eager;
extern const struct measure_test measure_share;
extern const struct measure_test measure_cache_line;
extern const struct measure_test measure_sendrecv;
extern const struct measure_test measure_window;
extern const struct measure_test measure_bcast;
extern const struct measure_test measure_allreduce;
extern const struct measure_test measure_alltoall;
extern const struct measure_test measure_allgather;
extern const struct measure_test measure_barrier;
extern const struct measure_test measure_exchange;
extern const struct measure_test measure_tiled_ring;
extern const struct measure_test measure_memory;
extern const struct measure_test measure_polling;
extern const struct measure_test measure_post_work_wait;
extern const struct measure_test measure_host_send;
extern const struct measure_test measure_host_receive;
extern const struct measure_test measure_registration;
extern const struct measure_test measure_core_scan;
extern const struct measure_test measure_peers;
extern const struct measure_test measure_stream_cpu;
extern const struct measure_test measure_waiting;
extern const struct measure_test measure_exchange_cpu;

const struct measure_test *const measure_tests[] = {
    &measure_pingpong,     &measure_send_overhead, &measure_receive_overhead, &measure_stream,
    &measure_eager,        &measure_share,         &measure_cache_line,       &measure_sendrecv,
    &measure_window,       &measure_bcast,         &measure_allreduce,        &measure_alltoall,
    &measure_allgather,    &measure_barrier,       &measure_exchange,         &measure_tiled_ring,
    &measure_memory,       &measure_polling,       &measure_post_work_wait,   &measure_host_send,
    &measure_host_receive, &measure_registration,  &measure_core_scan,        &measure_peers,
    &measure_stream_cpu,   &measure_waiting,       &measure_exchange_cpu,     NULL,
};
