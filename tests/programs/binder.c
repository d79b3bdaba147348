/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that binds its caller, as those of OpenMP do. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

int bind_caller(int pu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
