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

const struct measure_test *const measure_tests[] = {
    &measure_pingpong, &measure_send_overhead, &measure_receive_overhead, &measure_stream,
    &measure_eager,    &measure_share,         &measure_cache_line,       NULL,
};
