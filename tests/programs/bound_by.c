/* SPDX-License-Identifier: BSD-3-Clause */
/* bound_by LIBRARY FIRST SECOND: on FIRST; put on SECOND by the library (binder.c), back by a system call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calling.h"
#include "move_to.h"

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    const double between = 0.04;
    move_to(atoi(argv[2]));
    MPI_Init(&argc, &argv);
    call_for(between);
    void *library = dlopen(argv[1], RTLD_NOW);
    int (*bind_caller)(int pu) = library ? (int (*)(int))(uintptr_t)dlsym(library, "bind_caller") : NULL;
    if (!bind_caller || bind_caller(atoi(argv[3])) != 0)
        return 3;
    call_for(between);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[2]), &set);
    if (syscall(SYS_sched_setaffinity, 0, sizeof set, &set) != 0)
        return 4;
    call_for(between);
    MPI_Finalize();
    return 0;
}
